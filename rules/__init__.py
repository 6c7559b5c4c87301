"""What breaks, as data: the rules, their catalogue and the evidence. Imports nothing of ours."""

__version__ = "0.1.0"
