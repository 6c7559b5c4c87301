"""Times the page that `--report` writes of 5,000 findings: rendering it, and in Chromium its first paint, the step to
the next finding and a filter. Needs the extra `browser` and a Chromium.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from fullgraph.jit.html.page import render

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests/support"))
from page_reports import large

FINDINGS = 5000
LOADS = 5
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"
DRAWN = "await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));"
STEP = f"""async () => {{
    const begun = performance.now();
    document.body.dispatchEvent(new KeyboardEvent('keydown', {{ key: 'j', bubbles: true }}));
    {DRAWN}
    return performance.now() - begun;
}}"""
FILTER = f"""async () => {{
    const filter = document.getElementById('filter');
    filter.value = 'module_050 confirmed';
    const begun = performance.now();
    filter.dispatchEvent(new Event('input'));
    {DRAWN}
    return performance.now() - begun;
}}"""


def main() -> None:
    report, read = large(FINDINGS)
    begun = time.process_time()
    text = render([report], read)
    print(f"{FINDINGS} findings: {len(text.encode()) / 1e6:.1f} MB, {time.process_time() - begun:.1f} CPU s to render")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        file = Path(folder, "page.html")
        file.write_text(text, encoding="utf-8")
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"] if os.geteuid() == 0 else []
        )
        loads = [timed(browser.new_page(), file) for _ in range(LOADS)]
        for name, values in zip(
            ("first paint", "loaded", "next finding", "filter"), zip(*loads, strict=True), strict=True
        ):
            print(f"{name:<12}  {statistics.median(values):6.0f} ms, at most {max(values):.0f}")


def timed(page: Page, file: Path) -> tuple[float, float, float, float]:
    page.goto(file.as_uri())
    paint, loaded = page.evaluate(PAINT), page.evaluate(LOADED)
    page.evaluate(STEP)  # the first one looks all findings up
    times = (paint, loaded, page.evaluate(STEP), page.evaluate(FILTER))
    page.close()
    return times


if __name__ == "__main__":
    main()
