"""Runs the commands of README and of the site's pages, and writes into them what they print.

A page has a working folder of its own: a copy of `docs/examples/<page>/` if there is one, after its `prepare.sh`. From
the page's fences, in order: one with a title is a file of that name, `console` is commands (`$ …`) and all they print,
`sh` is commands that have to succeed or find something. A line `…` stands for paragraphs left out of the output, which
then are known by their first word. `<!-- not run: reason -->` before a fence leaves it alone.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from difflib import unified_diff
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from checkout import ROOT

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
OPENS = re.compile(r"(?P<indent> *)```(?P<language>[\w-]*)(?: title=\"(?P<title>[^\"]*)\")?$")
NOT_RUN = re.compile(r"<!-- not run: (.+) -->")
LEFT_OUT = "…"
DEMO = "$ make demo"
VARYING = re.compile(
    r"(?P<seconds>\d+\.\d+(?= s\b))|(?P<error>(?<=at most )\d\.\de[+-]\d\d)|(?P<process>(?<=pid )\d+)"
    r"|(?P<elapsed>(?<=in )\d+\.\d+(?=s\b))"
)
"""What differs from run to run or from machine to machine."""


@dataclass(frozen=True, slots=True)
class Fence:
    """One fenced block: its lines are `page[start:end]`, without the fences."""

    language: str
    title: str | None
    not_run: str | None
    indent: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Step:
    """A command and the lines below it."""

    command: str
    shown: tuple[str, ...]


class CommandFailed(Exception):
    """A command of a page that has to work did not."""


def fences(lines: list[str]) -> Iterator[Fence]:
    not_run: str | None = None
    number = 0
    while number < len(lines):
        line = lines[number]
        if opening := OPENS.match(line):
            start, closing = number + 1, opening["indent"] + "```"
            number = lines.index(closing, start)
            yield Fence(opening["language"], opening["title"], not_run, opening["indent"], start, number)
        if line.strip():
            reason = NOT_RUN.match(line.strip())
            not_run = reason[1] if reason else None
        number += 1


def content(fence: Fence, lines: list[str]) -> list[str]:
    return [line.removeprefix(fence.indent) for line in lines[fence.start : fence.end]]


def steps(lines: list[str]) -> Iterator[Step]:
    """The commands of a `console` block; a line that ends with a backslash goes on in the next one."""
    number = 0
    while number < len(lines):
        command = [lines[number].removeprefix("$ ")]
        while command[-1].endswith("\\"):
            number += 1
            command.append(lines[number])
        number += 1
        start = number
        while number < len(lines) and not lines[number].startswith("$ "):
            number += 1
        yield Step("\n".join(command), tuple(lines[start:number]))


def shell(command: str, folder: Path) -> tuple[int, str]:
    """The exit code and everything that is printed, as in a terminal but without its width and colours."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("COV_", "PYTEST_", "FULLGRAPH_"))}
    for name in ("CI", "COLUMNS", "FORCE_COLOR", "NO_COLOR", "PYTHONDONTWRITEBYTECODE"):
        kept.pop(name, None)
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**kept, "PATH": path, "XDG_CACHE_HOME": str(folder.parent / "cache")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    if "Traceback (most recent call last)" in done.stdout:
        raise CommandFailed(f"`{command}` ended with a traceback:\n{done.stdout}")
    return done.returncode, done.stdout.replace(str(folder), "/home/you/project")


def shown(before: tuple[str, ...], output: str) -> list[str]:
    """The lines to show for the output; those of before, if nothing but what varies differs."""
    after = excerpt(before, output) if LEFT_OUT in before else output.strip("\n").splitlines()
    after = [line.rstrip() for line in after]
    gap = [""] * (len(before) - len("\n".join(before).rstrip("\n").splitlines()))
    return list(before) if settled(before) == settled([*after, *gap]) else [*after, *gap]


def excerpt(before: tuple[str, ...], output: str) -> list[str]:
    """The paragraphs of the output that begin with the words that those of before begin with."""
    found: dict[str, str] = {LEFT_OUT: LEFT_OUT}
    for paragraph in paragraphs(output):
        found.setdefault(paragraph.split()[0], paragraph)
    wanted = [paragraph.split()[0] for paragraph in paragraphs("\n".join(before))]
    return "\n\n".join(found[word] for word in wanted if word in found).splitlines()


def paragraphs(text: str) -> list[str]:
    return [paragraph.strip("\n") for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()]


def settled(lines: tuple[str, ...] | list[str]) -> list[str]:
    return [VARYING.sub(lambda found: f"<{found.lastgroup}>", line) for line in lines]


def prepared(page: Path, folder: Path) -> None:
    """The page's working folder, as its first command finds it."""
    examples = ROOT / "docs/examples" / page.stem.lower()
    if examples.is_dir():
        shutil.copytree(examples, folder, dirs_exist_ok=True)
    if (script := folder / "prepare.sh").is_file():
        subprocess.run(["bash", "-e", script], cwd=folder, check=True, capture_output=True)
        script.unlink()


def renewed(page: Path, run: Callable[[str, Path], tuple[int, str]] = shell) -> str:
    """The page with what its commands print now."""
    lines = page.read_text(encoding="utf-8").splitlines()
    result = list(lines)
    moved = 0
    with TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve() / "project"
        folder.mkdir()
        prepared(page, folder)
        for fence in fences(lines):
            text = content(fence, lines)
            if fence.not_run:
                continue
            if fence.title:
                (folder / fence.title).parent.mkdir(parents=True, exist_ok=True)
                (folder / fence.title).write_text("\n".join([*text, ""]), encoding="utf-8")
            elif fence.language == "sh":
                for command in filter(None, text):
                    code, output = run(command, folder)
                    if code not in (0, 1):
                        raise CommandFailed(f"`{command}` ended with {code}:\n{output}")
            elif fence.language == "console":
                new: list[str] = []
                for step in steps(text):
                    new += [*(f"$ {step.command}").splitlines(), *shown(step.shown, run(step.command, folder)[1])]
                new = [f"{fence.indent}{line}" if line else line for line in new]
                result[fence.start + moved : fence.end + moved] = new
                moved += len(new) - len(text)
    return "\n".join([*result, ""])


def difference(page: Path) -> str:
    """What would change in the page, as a diff; empty if it is up to date."""
    old, new = page.read_text(encoding="utf-8"), renewed(page)
    name = page.relative_to(ROOT).as_posix()
    return "\n".join(unified_diff(old.splitlines(), new.splitlines(), name, f"{name} now", lineterm=""))


def update(page: Path, check: bool) -> int:
    """Write the page anew, or only say how it differs, which makes the exit code 1."""
    try:
        if check:
            print(text := difference(page), end="\n" if text else "")
            return int(bool(text))
        new = renewed(page)
    except CommandFailed as error:
        print(f"{page.relative_to(ROOT)}: {error}", file=sys.stderr)
        return 2
    if new != page.read_text(encoding="utf-8"):
        page.write_text(new, encoding="utf-8")
        print(f"wrote: {page.relative_to(ROOT)}")
    return 0


def with_demo(text: str, output: str) -> str:
    """README with an excerpt of what `make demo` prints."""
    lines = text.splitlines()
    for fence in fences(lines):
        block = content(fence, lines)
        if fence.language == "console" and block[0] == DEMO:
            lines[fence.start + 1 : fence.end] = shown(tuple(block[1:]), output)
            return "\n".join([*lines, ""])
    raise ValueError(f"no block begins with {DEMO}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, show what differs and exit with 1")
    parser.add_argument("pages", nargs="*", type=Path, help="default: README.md and docs/*.md")
    parser.add_argument(
        "--demo", action="store_true", help="write README's excerpt of the demo too, which takes minutes"
    )
    options = parser.parse_args()
    if options.demo:
        readme = PAGES[0]
        _, output = shell("python examples/demo.py", ROOT)
        readme.write_text(with_demo(readme.read_text(encoding="utf-8"), output), encoding="utf-8")
    pages = [page.resolve() for page in options.pages] or PAGES
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return max(pool.map(partial(update, check=options.check), pages))


if __name__ == "__main__":
    sys.exit(main())
