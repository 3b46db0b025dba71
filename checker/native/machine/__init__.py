"""What machine code needs of the machine: compiled code, memory, what workers share with it."""
