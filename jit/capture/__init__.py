"""Watches Dynamo inside this process: while `observe` is open, every break, recompile, compiled frame and traced line
becomes an event.

The only package that knows Dynamo's insides. The public log is not used because the program may reconfigure it.
"""

from .paths import Paths
from .recorder import observe

__all__ = ["Paths", "observe"]
