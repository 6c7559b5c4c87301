"""What `mkdocs.yml` cannot say: the rules' place in the navigation, by family, and pages whose text lies elsewhere."""

from __future__ import annotations

import re
from typing import Any

from checkout import ROOT
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from fullgraph.rules import load
from fullgraph.rules.page import FAMILIES

ELSEWHERE = {"contributing.md": ROOT / "CONTRIBUTING.md", "editors.md": ROOT / "editors/README.md"}
LINK = re.compile(r"\]\((?!https?:|#)([^)]+)\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    codes = sorted(load())
    rules: list[Any] = ["rules/index.md"]
    for prefix, title in FAMILIES.items():
        rules.append({title: [f"rules/{code}.md" for code in codes if code.startswith(prefix)]})
    assert config.nav is not None
    config.nav.append({"Rules": rules})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what the pages from elsewhere link to."""
    for source in ELSEWHERE.values():
        for link in LINK.findall(source.read_text(encoding="utf-8")):
            target = (source.parent / link.partition("#")[0]).relative_to(ROOT)
            if target.parts[0] != "docs":
                files.append(File.generated(config, target.as_posix(), abs_src_path=str(ROOT / target)))
    return files


def on_page_read_source(page: Page, config: MkDocsConfig) -> str | None:
    source = ELSEWHERE.get(page.file.src_uri)
    if source is None:
        return None
    folder = source.parent.relative_to(ROOT)
    text = source.read_text(encoding="utf-8")
    return LINK.sub(lambda link: f"]({(folder / link[1]).as_posix().removeprefix('docs/')})", text)
