"""`fullgraph verify` on architectures of transformers, small and with random weights: what torch is known to do there.

The lines are known by their text, since their numbers differ between versions.
"""

from __future__ import annotations

import json
import linecache
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

pytestmark = [pytest.mark.torch, pytest.mark.slow]

MODELS = """\
import torch
import transformers

def model(name, **config):
    made = getattr(transformers, name)
    return made(made.config_class(vocab_size=50, pad_token_id=0, max_position_embeddings=32, **config))

def reads_lengths():
    return model("XLMWithLMHeadModel", emb_dim=16, n_layers=1, n_heads=2)

def moves_a_plain_tensor():
    return model("CTRLLMHeadModel", n_embd=16, dff=16, n_layer=1, n_head=2, n_positions=32)

def inputs():
    tokens = torch.randint(5, 50, (2, 8))
    return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
"""


def test_sites_in_a_library_are_found_and_none_is_invented(tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(MODELS)
    options = ("--backend", "eager", "--first-party", "transformers", "--input", "models.py::inputs")
    command = [sys.executable, "-m", "fullgraph.cli", "verify", *options, "--output-format", "json"]
    named = ("models.py::reads_lengths", "models.py::moves_a_plain_tensor")
    done = subprocess.run([*command, *named], cwd=tmp_path, capture_output=True, text=True, timeout=500)
    assert (done.stderr, done.returncode) == ("", 1)
    reads_lengths, moves_a_plain_tensor = json.loads(done.stdout)["targets"]

    assert [(item["gb"], text(item)) for item in reads_lengths["breaks"]] == [
        ("GB0124", "assert lengths.max().item() <= slen")
    ]
    assert [text(item) for item in reads_lengths["findings"] if item["verdict"] == "confirmed"] == [
        "assert lengths.max().item() <= slen"
    ]
    assert reads_lengths["unpredicted"] == []

    first, *after_it = moves_a_plain_tensor["breaks"]
    assert (first["gb"], text(first)) == (
        "GB4841",
        "self.pos_encoding = self.pos_encoding.to(device=device, dtype=inputs_embeds.dtype)",
    )
    assert {item["gb"] for item in after_it} <= {"GB4347"}, "a comprehension, which Python 3.11 compiles alone"
    assert [text(item) for item in moves_a_plain_tensor["unpredicted"]] == list(
        map(text, moves_a_plain_tensor["breaks"])
    )
    for target in (reads_lengths, moves_a_plain_tensor):
        assert "refuted" not in {item["verdict"] for item in target["findings"]}


def text(item: dict[str, Any]) -> str:
    return linecache.getline(item["path"], item["line"]).strip()
