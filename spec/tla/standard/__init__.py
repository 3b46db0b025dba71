"""The standard modules of TLA+ and TLC, and the community modules.

`STANDARD` in `table.py` has the operators that are written in Python, by module. A call gets the
`Universe` and the values of the arguments; an argument that is an operator is a Python function of
values. `FOLDER` has modules written in TLA+, which extend those of the table; the names of modules
that only they extend begin with an underscore.
"""
