"""Names for findings that stay the same while the lines around them move."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from .discover import lexically_absolute
from .findings import Finding
from .lines import lines_of

LENGTH = 16


def fingerprints(findings: Iterable[Finding], base: Path) -> dict[Finding, str]:
    """A name for each finding: from its rule, file, function and the text of its line, not from the line's number.

    Of several that agree in all this the first in the file is told from the second. Paths count from `base`, so that
    a name does not depend on the working directory.
    """
    read = cache(lines_of)
    met: Counter[tuple[str, ...]] = Counter()
    names: dict[Finding, str] = {}
    for finding in sorted(findings, key=lambda finding: finding.sort_key):
        span = finding.span
        lines = read(span.path, span.cell)
        text = " ".join(lines[span.line - 1].split()) if span.line <= len(lines) else ""
        key = (finding.code, relative(span.path, base), finding.function, text)
        met[key] += 1
        whole = "\0".join((*key, str(met[key]))).encode(errors="surrogatepass")
        names[finding] = hashlib.sha256(whole).hexdigest()[:LENGTH]
    return names


def relative(path: str, base: Path) -> str:
    """`path`, which counts from the working directory, as it counts from `base`."""
    whole = lexically_absolute(Path(path))
    return whole.relative_to(base).as_posix() if whole.is_relative_to(base) else whole.as_posix()
