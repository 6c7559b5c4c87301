"""Abstract interpretation of the IR: what each expression of the traced code can be, and which facts follow.

`analysis` holds what one run shares, `frame` one function's state; `statements`, `expressions`, `conditions`, `calls`, `objects`,
`names`, `library` and `external` interpret one kind of thing each.
"""
