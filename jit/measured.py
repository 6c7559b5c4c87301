"""The versions of torch that observing has been tested with, and what to say of others."""

from __future__ import annotations

MEASURED = ("2.9", "2.11", "2.13", "2.14")


def remark(version: str) -> str | None:
    """None for a version that has been measured."""
    if ".".join(version.split(".")[:2]) in MEASURED:
        return None
    return (
        f"torch {version} has not been measured ({', '.join(MEASURED)} have): "
        "breaks may be missing, or have wrong places or GB ids"
    )
