"""The report as JUnit XML: one suite a file, one failed case a finding, one passed case where there is none."""

from __future__ import annotations

import re
from itertools import groupby
from xml.etree import ElementTree

from ..findings import CheckReport, Finding
from .concise import shown

ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML has no way to write."""


def render(report: CheckReport, notes: bool) -> str:
    findings = shown(report, notes)
    count = max(len(findings), 1)
    root = ElementTree.Element(
        "testsuites", name="fullgraph", tests=str(count), failures=str(len(findings)), errors="0"
    )
    for path, group in groupby(findings, key=lambda finding: finding.span.path):
        _suite(root, path, list(group))
    if not findings:
        suite = ElementTree.SubElement(root, "testsuite", name="fullgraph", tests="1", failures="0", errors="0")
        ElementTree.SubElement(suite, "testcase", name=f"{report.files} files", classname="fullgraph")
    ElementTree.indent(root)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{ElementTree.tostring(root, encoding='unicode')}\n"


def _suite(root: ElementTree.Element, path: str, findings: list[Finding]) -> None:
    count = str(len(findings))
    suite = ElementTree.SubElement(root, "testsuite", name=_text(path), tests=count, failures=count, errors="0")
    for finding in findings:
        name = _text(f"{finding.code}: {finding.function} ({finding.span.start})")
        case = ElementTree.SubElement(suite, "testcase", name=name, classname=_text(path))
        failure = ElementTree.SubElement(case, "failure", message=_text(finding.message), type=finding.code)
        failure.text = _text(f"{finding.span.start}: {finding.message}\n{finding.advice}")


def _text(text: str) -> str:
    return ILLEGAL.sub("?", text)
