"""Small models of transformers with random weights and the inputs they take: the targets of `fix_table.py`.

    python tools/fix_models.py MODEL INPUTS [train]    # compile the model, and call it twice

Those with layers that are left out at times, or with experts, have no dropout: a layer that always runs draws more
numbers than one that is left out, so that all later draws are others.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
import transformers
from torch import Tensor, nn

WORDS = 96
IMAGE = 91
"""The word that stands for a piece of a picture."""
Inputs = dict[str, Tensor | bool]


def _model(name: str, **settings: Any) -> nn.Module:
    model = getattr(transformers, name)
    return model(model.config_class(vocab_size=WORDS, **settings))


def _seeing(name: str, vision: dict[str, Any], **tokens: int) -> nn.Module:
    """With text that turns by place, height and width."""
    turns = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}
    text = {**_HIDDEN, "num_key_value_heads": 2, "vocab_size": WORDS, "rope_parameters": turns}
    tokens |= {"image_token_id": IMAGE, "video_token_id": 92}
    model = getattr(transformers, name)
    return model(model.config_class(vision_config=vision, text_config=text, **tokens))


def text() -> Inputs:
    return {"input_ids": torch.randint(5, WORDS, (2, 8)), "attention_mask": torch.ones(2, 8, dtype=torch.long)}


def words() -> Inputs:
    return {**text(), "use_cache": False}


def pair() -> Inputs:
    return {**text(), "decoder_input_ids": torch.randint(5, WORDS, (2, 8)), "use_cache": False}


def sound() -> Inputs:
    return {"input_values": torch.randn(2, 800)}


def patches() -> Inputs:
    """Two pictures of 4 by 4 patches, of which the text has every four as one token."""
    marks = torch.tensor([[True] * 4 + [False] * 8] * 2)
    words = torch.randint(5, 90, (2, 12)).masked_fill(marks, IMAGE)
    grid = {"pixel_values": torch.randn(32, 384), "image_grid_thw": torch.tensor([[1, 4, 4]] * 2)}
    return {**grid, "input_ids": words, "attention_mask": torch.ones_like(words), "mm_token_type_ids": marks.long()}


def picture() -> Inputs:
    """One of 4 by 4 patches, likewise."""
    words = torch.cat([torch.full((1, 4), IMAGE), torch.randint(5, 90, (1, 8))], dim=1)
    return {"pixel_values": torch.randn(1, 3, 32, 32), "input_ids": words, "attention_mask": torch.ones_like(words)}


def bart() -> nn.Module:
    return _model("BartForConditionalGeneration", **_DEEP, **_STILL, encoder_layerdrop=0.5, decoder_layerdrop=0.5)


def ctrl() -> nn.Module:
    return _model("CTRLLMHeadModel", n_embd=32, n_head=2, n_layer=2, dff=64, n_positions=64)


def glm4v() -> nn.Module:
    vision = {"image_size": 32, "num_heads": 2, "intermediate_size": 64, "out_hidden_size": 32}
    return _seeing("Glm4vForConditionalGeneration", {**_VISION, **vision}, image_start_token_id=IMAGE)


def internvl() -> nn.Module:
    vision = {**_HIDDEN, "image_size": [32, 32], "patch_size": [8, 8]}
    text = {**_HIDDEN, "model_type": "qwen2", "vocab_size": WORDS, "num_key_value_heads": 2}
    model = transformers.InternVLForConditionalGeneration
    return model(model.config_class(vision_config=vision, text_config=text, image_token_id=IMAGE))


def led() -> nn.Module:
    return _model("LEDForConditionalGeneration", **_LAYERS, attention_window=[16, 16])


def longformer() -> nn.Module:
    return _model("LongformerForMaskedLM", **_HIDDEN, attention_window=[16, 16])


def m2m() -> nn.Module:
    return _model("M2M100ForConditionalGeneration", **_LAYERS, **_STILL, encoder_layerdrop=0.7, decoder_layerdrop=0.7)


def mixtral() -> nn.Module:
    return _model("MixtralForCausalLM", **_HIDDEN, num_key_value_heads=2, num_local_experts=4)


def nllb_moe() -> nn.Module:
    """With experts, and no layer left out: a loop that cannot be captured keeps the one over layers from it, too."""
    experts = {"num_experts": 4, "encoder_sparse_step": 2, "moe_token_dropout": 0.0}
    return _model("NllbMoeForConditionalGeneration", **_LAYERS, **_STILL, **experts)


def nllb_moe_drop() -> nn.Module:
    """With layers that are left out, none of experts."""
    rates = {"encoder_layerdrop": 0.5, "decoder_layerdrop": 0.5}
    steps = {"encoder_sparse_step": 0, "decoder_sparse_step": 0}
    return _model("NllbMoeForConditionalGeneration", **_DEEP, **_STILL, **rates, **steps)


def opt() -> nn.Module:
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "ffn_dim": 64}
    settings = {"word_embed_proj_dim": 32, "max_position_embeddings": 64, "layerdrop": 0.7}
    return _model("OPTForCausalLM", **sizes, **settings, dropout=0.0, attention_dropout=0.0)


def qwen_vl() -> nn.Module:
    vision = {"num_heads": 2, "intermediate_size": 64, "out_hidden_size": 32, "window_size": 16}
    return _seeing("Qwen2_5_VLForConditionalGeneration", {**_VISION, **vision}, vision_start_token_id=93)


def reformer() -> nn.Module:
    axial = {"axial_pos_embds_dim": (8, 24), "axial_pos_shape": (2, 4), "attention_head_size": 16}
    sizes = {"hidden_size": 32, "num_attention_heads": 2, "feed_forward_size": 64, "is_decoder": False}
    return _model("ReformerForMaskedLM", **axial, **sizes, attn_layers=["local", "lsh"])


def switch() -> nn.Module:
    sizes = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_heads": 2, "num_layers": 2, "num_decoder_layers": 2}
    return _model("SwitchTransformersForConditionalGeneration", **sizes, num_experts=4, dropout_rate=0.0)


def wav2vec() -> nn.Module:
    """With parts of the input masked, and no layer left out: numpy draws what to mask, compiled code otherwise."""
    return _model("Wav2Vec2Model", **_HIDDEN, **_WAVES, layerdrop=0.0)


def wav2vec_drop() -> nn.Module:
    """With layers that are left out, and nothing masked."""
    return _model("Wav2Vec2Model", **_HIDDEN, **_WAVES, layerdrop=0.5, mask_time_prob=0.0)


def xlm() -> nn.Module:
    return _model("XLMWithLMHeadModel", emb_dim=32, n_heads=2, n_layers=2, max_position_embeddings=64)


_HIDDEN = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
_VISION = {"depth": 2, "hidden_size": 32, "patch_size": 8, "spatial_merge_size": 2, "temporal_patch_size": 2}
_LAYERS = {
    "d_model": 32,
    **{f"{part}_{name}": size for part in ("encoder", "decoder") for name, size in (("layers", 2), ("ffn_dim", 64))},
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
}
_DEEP = {**_LAYERS, "encoder_layers": 4, "decoder_layers": 4}
"""So that two calls leave some layers out of each part, and run others."""
_WAVES = {
    "conv_dim": (32, 32),
    "conv_stride": (5, 4),
    "conv_kernel": (10, 8),
    "num_feat_extract_layers": 2,
    "num_conv_pos_embedding_groups": 2,
    **{f"{name}_dropout": 0.0 for name in ("hidden", "attention", "activation", "feat_proj")},
}
_STILL = {"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}


def main(name: str, inputs: str, mode: str = "eval") -> None:
    torch.manual_seed(0)
    given = globals()[inputs]()
    model = torch.compile(globals()[name]().train(mode == "train"))
    for _ in range(2):
        model(**given)


if __name__ == "__main__":
    main(*sys.argv[1:])
