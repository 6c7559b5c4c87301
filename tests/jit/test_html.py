"""The page that `--report` writes: whole, one file, without a way out, and with an anchor for every link."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from html.parser import HTMLParser

import pytest
from page_reports import HOSTILE, Read, hostile, large, whole

from fullgraph.jit.html.highlight import ir, python
from fullgraph.jit.html.page import render
from fullgraph.jit.verify import TargetReport
from fullgraph.lint.findings import Verdict

VOID = {"meta", "input", "br", "img", "link"}
LOADING = {
    "img",
    "image",
    "use",
    "link",
    "base",
    "iframe",
    "frame",
    "object",
    "embed",
    "audio",
    "video",
    "source",
    "track",
}


class Page(HTMLParser):
    """Tags, attributes and text as a browser would see them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags = Counter[str]()
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.own = {"style": "", "script": ""}
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes.extend((name, value or "") for name, value in attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes.extend((name, value or "") for name, value in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in self.own:
            self.own[self._open[-1]] += data
        else:
            self.text += data

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.attributes if key == name]


def page(*made: tuple[TargetReport, Read]) -> Page:
    return Page(render([report for report, _ in made], (made or (whole(),))[0][1]))


@pytest.fixture(params=["one target", "two targets", "hostile", "nothing"])
def shown(request: pytest.FixtureRequest) -> Page:
    match request.param:
        case "one target":
            return page(whole())
        case "two targets":
            return page(whole(), whole(target="other.py"))
        case "hostile":
            return page(hostile())
        case _:
            return page()


def test_nothing_is_loaded_from_elsewhere(shown: Page) -> None:
    assert LOADING & set(shown.tags) == set()
    assert shown.values("http-equiv") == ["Content-Security-Policy"]
    names = {name for name, _ in shown.attributes}
    assert names & {"src", "srcset", "style", "action", "formaction", "data", "xlink:href"} == set()
    assert [name for name in names if name.startswith("on")] == []
    assert [link for link in shown.values("href") if not link.startswith("#")] == []
    assert re.findall(r"url\(|@import|image-set|fetch\(|XMLHttpRequest|import\(", "".join(shown.own.values())) == []


def test_the_policy_admits_only_what_the_page_brings(shown: Page) -> None:
    assert (shown.tags["style"], shown.tags["script"]) == (1, 1)
    (policy,) = [value for value in shown.values("content") if "default-src" in value]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives == {
        "default-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        **{
            f"{kind}-src": f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
            for kind, text in shown.own.items()
        },
    }


def test_every_link_has_its_target_and_every_target_is_one(shown: Page) -> None:
    ids = Counter(shown.values("id"))
    assert [name for name, times in ids.items() if times > 1] == []
    wanted = {link.removeprefix("#") for link in shown.values("href")}
    labels = {*shown.values("aria-labelledby"), *shown.values("aria-describedby")}
    assert (wanted | labels) - set(ids) == set()


def test_everything_is_there() -> None:
    report, read = whole()
    shown = page((report, read))
    seen, ids = report.observation, set(shown.values("id"))
    assert {f"finding-{number}" for number in range(1, len(report.judged) + 1)} <= ids
    assert {"break-1", "break-2", "stale-1", "failure-1", "backenderror-1"} <= ids
    assert {f"frame-{item.id.replace('/', '-')}" for item in seen.frames} <= ids
    assert {f"recompile-{item.frame.replace('/', '-')}" for item in seen.recompiles} <= ids
    assert {f"graph-{item.number}" for item in seen.graphs} <= ids
    words = " ".join(shown.text.split())
    for text in (
        *(item.finding.message.replace("`", "") for item in report.judged),
        *(item.evidence for item in report.judged),
        *(guard.expression for item in seen.frames if item.guard_tree for guard in item.guard_tree.walk()),
        "one fix removes 3 breaks",
        "4 breaks have 2 causes",
        "n == 2 expected 2, got 3",
        "limit: eager from here",
        "torch.ops.aten.sin.default(arg0_1)",
        "%cst = arith.constant",
        "inference: 2 of 4 ATen operators native, at most 1.0e-07 from eager",
        "this file could not be read when the report was made",
        "traced because Net.forward → f",
        "value_12 = f(x, '')",
    ):
        assert text in words
    assert "value_30 = " not in words, "too far from everything"


def test_several_targets_are_apart_and_summed_up() -> None:
    both = page(whole(), whole(target="other.py"))
    assert {"t1-finding-1", "t2-finding-1", "t1-frame-0-0", "t2-frame-0-0"} <= set(both.values("id"))
    assert "8 breaks have 2 causes" in " ".join(both.text.split())


def test_hostile_text_is_shown() -> None:
    shown = page(hostile())
    assert shown.tags["img"] == 0
    words = " ".join(shown.text.split())
    assert words.count(HOSTILE) > 20
    assert f"net/{HOSTILE}.py" in shown.values("data-path")


def test_a_file_may_end_in_blank_lines() -> None:
    report, _ = whole()
    assert page((report, lambda path: "\n" * 99)).tags["main"] == 1


def test_a_path_that_is_no_text_can_be_written() -> None:
    render([whole(f"net/{chr(0xDC80)}.py")[0]], whole()[1]).encode()


def test_the_same_reports_give_the_same_bytes() -> None:
    report, read = whole()
    assert render([report], read) == render([report], read)


def test_what_is_not_there_takes_no_room() -> None:
    report, read = large(50)
    shown = page((report, read))
    assert {"target-source", "target-frames"} <= set(shown.values("id"))
    assert {"target-recompiles", "target-graphs"} & set(shown.values("id")) == set()


def test_verdicts_are_counted() -> None:
    report, read = large(100)
    confirmed = sum(item.verdict is Verdict.CONFIRMED for item in report.judged)
    assert f"Show only what is confirmed: {confirmed}" in page((report, read)).values("aria-label")


@pytest.mark.parametrize(
    "text", ["", "\n\n", "x = 1", "x = 1\n", '"""a\nb\n"""\n', "a = (\n  'ü\t',\n)\n", "def f(:\n", "\f\nx"]
)
def test_highlighted_lines_are_those_of_the_file(text: str) -> None:
    lines = [Page(f"<p>{line}</p>").text for line in python(text, {1: [(0, 1)]})]
    assert "\n".join(lines).rstrip("\n") == text.rstrip("\n")
    assert [line for line in lines if "\n" in line] == []


@pytest.mark.parametrize(
    "text", ["module {\n}\n", "%0 = x.y\r\n", '"a" <b> & \\', "class GraphModule(torch.nn.Module):\n  a"]
)
def test_highlighted_ir_is_the_ir(text: str) -> None:
    assert Page(f"<pre>{ir(text)}</pre>").text == text.replace("\r\n", "\n").rstrip("\n")


def test_a_mark_stays_inside_its_token() -> None:
    assert str(python("x = item(1)", {1: [(4, 8)]})[0]) == 'x = <span class="m">item</span>(<span class="n">1</span>)'
