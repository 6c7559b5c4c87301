"""What `mkdocs.yml` cannot say: the rules' place in the navigation, by family, and the page made of CONTRIBUTING.md."""

from __future__ import annotations

from typing import Any

from checkout import ROOT
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from fullgraph.rules import load
from fullgraph.rules.page import FAMILIES


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    codes = sorted(load())
    rules: list[Any] = ["rules/index.md"]
    for prefix, title in FAMILIES.items():
        rules.append({title: [f"rules/{code}.md" for code in codes if code.startswith(prefix)]})
    assert config.nav is not None
    config.nav.append({"Rules": rules})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").replace("](docs/", "](")
    files.append(File.generated(config, "contributing.md", content=text))
    return files
