"""Embeddings of 16 long documents with a BERT encoder (transformers), bfloat16."""
import torch
from transformers import AutoModel, BertConfig


def make_config():
    return BertConfig(vocab_size=2000, hidden_size=1536, num_hidden_layers=3, num_attention_heads=12,
                      intermediate_size=6144, max_position_embeddings=1024)


def setup():
    torch.manual_seed(0)
    eager = AutoModel.from_config(make_config(), attn_implementation="eager")
    sdpa = AutoModel.from_config(make_config(), attn_implementation="sdpa")
    sdpa.load_state_dict(eager.state_dict())
    eager = eager.to("cuda", torch.bfloat16).eval()
    sdpa = sdpa.to("cuda", torch.bfloat16).eval()
    ids = torch.randint(0, 2000, (16, 1024), device="cuda")
    return {"eager": eager, "sdpa": sdpa, "ids": ids}


def pool(hidden):
    pooled = hidden.mean(dim=1).float()
    return torch.nn.functional.normalize(pooled, dim=-1)


@torch.no_grad()
def before(state):
    output = state["eager"](input_ids=state["ids"])
    return pool(output.last_hidden_state)


@torch.no_grad()
def after(state):
    output = state["sdpa"](input_ids=state["ids"])
    return pool(output.last_hidden_state)


VARIANTS = {"before": before, "after": after}
TOLERANCE = 3e-2
