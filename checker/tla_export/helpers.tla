\* A value that is stored where only those of the range are held.
Within(value, range) ==
    IF value \in range
    THEN value
    ELSE Assert(FALSE, <<"evaluation error: a value leaves its range", value, range>>)

\* TRUE, once the value is known: TLC evaluates a LET only where it is used.
Defined(value) == value = value

\* The other value, once the first is known.
After(value, other) == IF value = value THEN other ELSE other

\* The value, all of which is evaluated: TLC evaluates parts of it only on demand.
Evaluated(value) == IF value = value THEN value ELSE value

FloorDiv(dividend, divisor) ==
    IF divisor > 0 THEN dividend \div divisor ELSE (-dividend) \div (-divisor)

FloorMod(dividend, divisor) == dividend - divisor * FloorDiv(dividend, divisor)

\* A number in two's complement.
Wrap(number, half) == ((number + half) % (2 * half)) - half

\* A product modulo `bits`, of which no part leaves 32 bits.
RECURSIVE Product(_, _, _)
Product(left, right, bits) ==
    IF right = 0
    THEN 0
    ELSE LET half == Product(left, right \div 2, bits)
         IN  (((2 * half) % bits) + (IF right % 2 = 1 THEN left % bits ELSE 0)) % bits

Position(value, elements) == CHOOSE index \in DOMAIN elements : elements[index] = value

Least(elements, Before(_, _)) ==
    CHOOSE least \in elements : \A other \in elements : ~Before(other, least)

\* The elements of a set as a sequence.
Ordered(elements, Before(_, _)) ==
    [index \in 1..Cardinality(elements) |->
        CHOOSE member \in elements :
            Cardinality({other \in elements : Before(other, member)}) = index - 1]

RECURSIVE Total(_, _)
Total(amounts, domain) ==
    IF domain = {}
    THEN 0
    ELSE LET first == CHOOSE other \in domain : TRUE
         IN  amounts[first] + Total(amounts, domain \ {first})

\* The last value of an accumulator; each value is known before the next one.
Folded(Next(_, _), start, elements) ==
    LET after[count \in 0..Len(elements)] ==
            IF count = 0
            THEN start
            ELSE LET value == after[count - 1]
                 IN  IF value = value THEN Next(value, elements[count]) ELSE value
    IN  after[Len(elements)]

\* The elements of a bag as a sequence.
Repeated(bag, Before(_, _)) ==
    [index \in 1..BagCardinality(bag) |->
        CHOOSE member \in DOMAIN bag :
            LET below == Total(bag, {other \in DOMAIN bag : Before(other, member)})
            IN  below < index /\ index <= below + bag[member]]

\* The first sequences of a sequence of them, one behind the other.
RECURSIVE Joined(_, _)
Joined(parts, count) ==
    IF count = 0
    THEN <<>>
    ELSE Joined(parts, count - 1) \o parts[count]

\* The elements of a sequence as a bag.
BagOf(elements) ==
    [member \in {elements[index] : index \in DOMAIN elements} |->
        Cardinality({other \in DOMAIN elements : elements[other] = member})]

Range(elements) == {elements[index] : index \in DOMAIN elements}

TimesIn(value, elements) == Cardinality({index \in DOMAIN elements : elements[index] = value})

\* Positions begin at 0.
InsertAt(elements, index, value) ==
    SubSeq(elements, 1, index) \o <<value>> \o SubSeq(elements, index + 1, Len(elements))

RemoveAt(elements, index) ==
    SubSeq(elements, 1, index) \o SubSeq(elements, index + 2, Len(elements))

SumOfSequence(elements) == Total(elements, DOMAIN elements)

SumOfSet(elements) == Total([member \in elements |-> member], elements)

SumOfBag(bag) == Total([member \in DOMAIN bag |-> member * bag[member]], DOMAIN bag)

\* The bag of the images of the elements of a bag.
BagOfImages(bag, Image(_)) ==
    [other \in {Image(member) : member \in DOMAIN bag} |->
        Total(bag, {member \in DOMAIN bag : Image(member) = other})]

HasOne(elements, Test(_)) == \E index \in DOMAIN elements : Test(elements[index])

\* The first element that passes the test; the test of a later element may have no value.
First(elements, Test(_)) ==
    elements[CHOOSE index \in DOMAIN elements :
        /\ Test(elements[index])
        /\ \A other \in 1..(index - 1) : ~Test(elements[other])]
