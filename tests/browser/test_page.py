"""The page that `--report` writes, in a real Chromium: from disk, with no network, by keyboard, on a narrow screen."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from page_reports import Read, hostile, large, whole

from fullgraph.jit.html.page import render
from fullgraph.jit.verify import TargetReport

playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra: pip install 'fullgraph[browser]'")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium, such as Debian's package chromium"),
]
NARROW = {"width": 400, "height": 800}
WIDE = {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        launched = started.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield launched
        launched.close()


class Shown:
    """One page, with all that it said on the console and asked the network for."""

    def __init__(self, browser: Any, file: Path, **context: Any) -> None:
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())

    @property
    def hash(self) -> str:
        found: str = self.page.evaluate("location.hash")
        return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path, whole())


def written(folder: Path, *made: tuple[TargetReport, Read]) -> Path:
    file = folder / "page.html"
    file.write_text(render([report for report, _ in made], made[0][1]), encoding="utf-8")
    return file


def test_hostile_text_is_shown_and_nothing_is_run_or_asked_for(browser: Any, tmp_path: Path) -> None:
    report, read = hostile()
    shown = Shown(browser, written(tmp_path, (report, read)))
    shown.page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert shown.page.title() == f"{report.observation.target} · fullgraph"
    assert shown.page.locator("img").count() == 0
    assert shown.page.locator("script").count() == 1
    assert report.observation.remarks[0] in shown.page.inner_text("main")
    assert shown.said == []
    assert [url for url in shown.asked if not url.startswith("file:")] == []
    assert len(shown.asked) == 1


def test_what_is_put_into_the_page_later_is_not_run(browser: Any, file: Path) -> None:
    shown = Shown(browser, file)
    shown.page.evaluate("""() => {
        const script = document.createElement('script');
        script.textContent = "document.title = 'ran'";
        document.body.append(script);
        document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="document.title = 1"><i style="color: red">');
    }""")
    assert shown.page.title() == "train.py · fullgraph"
    assert all("Content Security Policy" in text for text in shown.said)
    assert shown.said


@pytest.mark.parametrize(("scheme", "viewport"), [("light", NARROW), ("dark", WIDE)], ids=["light", "dark"])
def test_everybody_can_read_it(browser: Any, tmp_path: Path, scheme: str, viewport: dict[str, int]) -> None:
    made = (whole(), whole(target="other.py"))
    shown = Shown(browser, written(tmp_path, *made), color_scheme=scheme, viewport=viewport, bypass_csp=True)
    shown.page.add_style_tag(content="* { content-visibility: visible !important; }")
    shown.page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    found = axe.Axe().run(shown.page).response
    assert [(item["impact"], item["id"], item["nodes"][0]["html"]) for item in found["violations"]] == []
    assert shown.page.evaluate("document.documentElement.scrollWidth") == viewport["width"]


def test_the_keyboard_leads_from_finding_to_finding(browser: Any, file: Path) -> None:
    shown = Shown(browser, file)
    places = []
    for key in "jjkj":
        shown.page.keyboard.press(key)
        places.append(shown.hash)
        assert shown.page.evaluate("document.activeElement.id") == shown.hash[1:]
    assert places == ["#finding-1", "#finding-2", "#finding-1", "#finding-2"]
    assert shown.page.locator("#finding-2").is_visible()
    shown.page.keyboard.press("?")
    assert shown.page.locator("#help").is_visible()
    shown.page.keyboard.press("j")
    assert shown.hash == "#finding-2", "keys belong to the dialog"
    shown.page.keyboard.press("Escape")
    assert not shown.page.locator("#help").is_visible()


def test_findings_are_filtered_by_words(browser: Any, file: Path) -> None:
    shown = Shown(browser, file)
    shown.page.keyboard.press("/")
    shown.page.keyboard.type("fg201 Model.py refuted")
    matches = shown.page.locator("#matches")
    playwright.expect(matches).to_have_text("1 of 8")
    assert shown.page.locator(".finding:visible").count() == 1
    shown.page.keyboard.press("Enter")
    assert shown.page.evaluate("document.activeElement.className") == "note finding refuted"
    shown.page.keyboard.press("/")
    shown.page.keyboard.press("Escape")
    assert (matches.inner_text(), shown.page.locator(".finding:visible").count()) == ("", 8)
    shown.page.get_by_role("button", name="Show only what is unpredicted").click()
    assert matches.inner_text() == "2 of 8"


def test_a_link_opens_what_it_leads_to(browser: Any, file: Path) -> None:
    shown = Shown(browser, file)
    shown.page.goto(f"{file.as_uri()}#frame-0-1")
    shown.page.reload()
    assert shown.page.locator("#frame-0-1").get_attribute("open") is not None
    assert shown.page.locator("#frame-0-0").get_attribute("open") is None
    shown.page.get_by_role("button", name="Show only what is refuted").click()
    shown.page.evaluate("location.hash = '#finding-1'")
    playwright.expect(shown.page.locator("#finding-1")).to_be_visible()


def test_light_or_dark_is_remembered(browser: Any, file: Path) -> None:
    shown = Shown(browser, file, color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = shown.page.evaluate(ground)
    shown.page.keyboard.press("t")
    dark = shown.page.evaluate(ground)
    assert light != dark
    shown.page.reload()
    assert shown.page.evaluate(ground) == dark
    assert Shown(browser, file, color_scheme="dark").page.evaluate(ground) == dark


def test_it_can_be_read_without_scripts(browser: Any, tmp_path: Path) -> None:
    shown = Shown(browser, written(tmp_path, large(100)), java_script_enabled=False)
    assert shown.page.locator(".finding:visible").count() == 100
