"""Prefill of a small Llama decoder in bf16: hidden states of the last position of each prompt."""
from types import SimpleNamespace

import torch
from transformers import AutoModel, LlamaConfig


def build(implementation):
    config = LlamaConfig(
        vocab_size=8192,
        hidden_size=1024,
        intermediate_size=2816,
        num_hidden_layers=6,
        num_attention_heads=16,
        num_key_value_heads=16,
        max_position_embeddings=2048,
    )
    model = AutoModel.from_config(config, attn_implementation=implementation)
    return model.to("cuda", torch.bfloat16).eval()


def setup():
    torch.manual_seed(0)
    eager = build("eager")
    sdpa = build("sdpa")
    sdpa.load_state_dict(eager.state_dict())
    compiled = torch.compile(sdpa)
    ids = torch.randint(0, 8192, (4, 2048), device="cuda")
    return SimpleNamespace(eager=eager, sdpa=sdpa, compiled=compiled, ids=ids)


@torch.no_grad()
def before(state):
    out = state.eager(input_ids=state.ids, use_cache=False)
    return out.last_hidden_state[:, -1]


@torch.no_grad()
def with_sdpa(state):
    out = state.sdpa(input_ids=state.ids, use_cache=False)
    return out.last_hidden_state[:, -1]


@torch.no_grad()
def with_compile(state):
    out = state.compiled(input_ids=state.ids, use_cache=False)
    return out.last_hidden_state[:, -1]


VARIANTS = {"before": before, "with_sdpa": with_sdpa, "with_compile": with_compile}
TOLERANCE = 5e-2
