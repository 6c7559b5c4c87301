"""Abstract interpretation of the IR: what each expression of the traced code can be, and which facts follow.

`analysis` holds what one run shares, `frame` one function's state; the other modules interpret one kind of thing each:
statements, expressions, conditions, calls, objects, names, Python's library, what lies outside the project.
"""
