"""Models of transformers, small and with random weights: what they compute, and steps of training, are eager's.

A few are tried; `FULLGRAPH_TRANSFORMERS=all pytest tests/jit/lower/test_transformers.py` tries all.
"""

from __future__ import annotations

import copy
import os
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")
transformers = pytest.importorskip("transformers")

from torch.utils._pytree import tree_leaves  # noqa: E402

from fullgraph.jit.events import Lowered, Phase  # noqa: E402
from fullgraph.jit.mlir import Backend  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow]
WORDS, LENGTH = 96, 8
Inputs = dict[str, torch.Tensor]


def text() -> Inputs:
    """Two sentences, the second with two places to spare."""
    mask = torch.ones(2, LENGTH, dtype=torch.long)
    mask[1, -2:] = 0
    return {"input_ids": torch.randint(5, WORDS, (2, LENGTH)), "attention_mask": mask}


def pair() -> Inputs:
    return {**text(), "decoder_input_ids": torch.randint(5, WORDS, (2, LENGTH))}


def picture() -> Inputs:
    return {"pixel_values": torch.randn(2, 3, 16, 16)}


def sound() -> Inputs:
    return {"input_values": torch.randn(2, 800)}


class Kind(NamedTuple):
    settings: dict[str, Any]
    inputs: Callable[[], Inputs] = text


HIDDEN = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
GROUPED = {**HIDDEN, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
SHORT = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64}
LAYERS = {
    "d_model": 32,
    **{f"{part}_{name}": size for part in ("encoder", "decoder") for name, size in (("layers", 2), ("ffn_dim", 64))},
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
}
T5 = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_heads": 2, "num_layers": 2, "num_decoder_layers": 2}
IMAGE = {**HIDDEN, "image_size": 16, "patch_size": 4}
CONVOLUTIONS = {"conv_dim": (32, 32), "conv_stride": (5, 4), "conv_kernel": (10, 8), "num_feat_extract_layers": 2}

KINDS = {
    "AlbertForMaskedLM": Kind({**HIDDEN, "embedding_size": 16}),
    "BertForMaskedLM": Kind(HIDDEN),
    "BloomForCausalLM": Kind({"hidden_size": 32, "n_layer": 2, "n_head": 2}),
    "CodeGenForCausalLM": Kind({**SHORT, "n_embd": 64, "n_head": 4, "rotary_dim": 8}),
    "CohereForCausalLM": Kind(GROUPED),
    "DeiTForImageClassification": Kind(IMAGE, picture),
    "DistilBertForMaskedLM": Kind({"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64}),
    "ElectraForMaskedLM": Kind({**HIDDEN, "embedding_size": 16}),
    "FalconForCausalLM": Kind(HIDDEN),
    "FNetForMaskedLM": Kind(HIDDEN, lambda: {"input_ids": text()["input_ids"]}),
    "Gemma2ForCausalLM": Kind(GROUPED),
    "GPTNeoXJapaneseForCausalLM": Kind({**HIDDEN, "intermediate_multiple_size": 2}),
    "GraniteForCausalLM": Kind(GROUPED),
    "LlamaForCausalLM": Kind(GROUPED),
    "MarianMTModel": Kind({**LAYERS, "pad_token_id": 0, "decoder_start_token_id": 1, "eos_token_id": 2}, pair),
    "MistralForCausalLM": Kind({**GROUPED, "sliding_window": 4}),
    "MptForCausalLM": Kind({"d_model": 32, "n_heads": 2, "n_layers": 2}),
    "Olmo2ForCausalLM": Kind(GROUPED),
    "OpenAIGPTLMHeadModel": Kind(SHORT),
    "Phi3ForCausalLM": Kind({**GROUPED, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}),
    "RoFormerForMaskedLM": Kind(HIDDEN),
    "T5ForConditionalGeneration": Kind(T5, pair),
    "ViTForImageClassification": Kind(IMAGE, picture),
    "Wav2Vec2ForCTC": Kind({**HIDDEN, **CONVOLUTIONS, "num_conv_pos_embedding_groups": 2}, sound),
}
TRAINED = (
    *("BertForMaskedLM", "BloomForCausalLM", "CohereForCausalLM", "Gemma2ForCausalLM", "LlamaForCausalLM"),
    *("MarianMTModel", "T5ForConditionalGeneration", "ViTForImageClassification"),
)


def tried(names: Sequence[str], few: int) -> Sequence[str]:
    return names if os.environ.get("FULLGRAPH_TRANSFORMERS") == "all" else random.Random(0).sample(names, few)


class Lowerings:
    """The model compiled, and what the backend reported of its graphs."""

    def __init__(self, model: torch.nn.Module) -> None:
        torch._dynamo.reset()
        self.seen: dict[tuple[int, Phase], Lowered] = {}
        self.model = torch.compile(model, backend=Backend(self._learn))

    def _learn(self, event: object) -> None:
        if isinstance(event, Lowered):
            self.seen[event.graph, event.phase] = event

    def are_native(self, *phases: Phase) -> bool:
        return (
            {phase for _, phase in self.seen} == set(phases)
            and all(event.mlir_ops for event in self.seen.values())
            and [failure for event in self.seen.values() for failure in event.failures] == []
        )


def made(name: str) -> tuple[torch.nn.Module, Inputs]:
    torch.manual_seed(0)
    model, kind = getattr(transformers, name), KINDS[name]
    config = model.config_class(vocab_size=WORDS, use_cache=False, **kind.settings)
    return model(config), kind.inputs()


def close(got: Any, wanted: Any) -> None:
    for ours, theirs in zip(tree_leaves(got), tree_leaves(wanted), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", tried(list(KINDS), 4))
def test_computes_what_eager_does(name: str) -> None:
    model, inputs = made(name)
    model.eval()
    lowerings = Lowerings(model)
    with torch.no_grad():
        wanted = model(**inputs).to_tuple()
        for _ in range(2):  # the first results are eager's, with which the native ones are compared
            close(lowerings.model(**inputs).to_tuple(), wanted)
    assert lowerings.are_native(Phase.INFERENCE)


@pytest.mark.parametrize("name", tried(TRAINED, 2))
def test_trains_as_eager_does(name: str) -> None:
    theirs, inputs = made(name)
    ours = copy.deepcopy(theirs)
    lowerings = Lowerings(ours)
    steps = [torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-3) for model in (theirs, ours)]
    for seed in range(2):
        for call, step in zip((theirs, lowerings.model), steps, strict=True):
            torch.manual_seed(seed)
            step.zero_grad()
            call(**inputs).logits.square().mean().backward()
            step.step()
        close([value.grad for value in ours.parameters()], [value.grad for value in theirs.parameters()])
    close(list(ours.parameters()), list(theirs.parameters()))
    assert lowerings.are_native(Phase.FORWARD, Phase.BACKWARD)
