"""From an ATen graph to native code: `plan` finds the regions, in the user's process; `compile` lowers one elsewhere.

Nothing is imported here: the worker does without torch, and most users of the package without MLIR.
"""
