"""Training step of a small GPT-2 with a vocabulary of 50304."""
import copy
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import AutoModel, GPT2Config

VOCAB = 50304


class LanguageModel(nn.Module):
    def __init__(self, attention="sdpa"):
        super().__init__()
        config = GPT2Config(
            vocab_size=VOCAB,
            n_positions=1024,
            n_embd=512,
            n_layer=4,
            n_head=8,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
        )
        self.body = AutoModel.from_config(config, attn_implementation=attention)
        self.head = nn.Linear(512, VOCAB, bias=False)
        nn.init.normal_(self.head.weight, std=0.02)

    def forward(self, ids):
        hidden = self.body(input_ids=ids, use_cache=False).last_hidden_state
        return self.head(hidden)


def setup():
    torch.manual_seed(0)
    base = LanguageModel().cuda().train()
    state = SimpleNamespace()
    eager = LanguageModel("eager").cuda().train()
    eager.load_state_dict(base.state_dict())
    for name in ("hand", "ce", "half", "eager"):
        model = eager if name == "eager" else copy.deepcopy(base)
        setattr(state, name, model)
        setattr(state, name + "_opt", torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True))
    tokens = torch.randint(0, VOCAB, (8, 1025), device="cuda")
    state.ids = tokens[:, :-1].contiguous()
    state.labels = tokens[:, 1:].reshape(-1).contiguous()
    return state


def by_hand(state):
    state.hand_opt.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        logits = state.hand(state.ids)
    logits = logits.view(-1, VOCAB).float()
    probabilities = torch.softmax(logits, dim=-1)
    log_probabilities = torch.log(probabilities + 1e-10)
    picked = log_probabilities.gather(1, state.labels.unsqueeze(1))
    loss = -picked.mean()
    loss.backward()
    state.hand_opt.step()
    return loss.detach()


def cross_entropy(state):
    state.ce_opt.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        logits = state.ce(state.ids)
    wide = logits.view(-1, VOCAB).float()
    loss = F.cross_entropy(wide, state.labels)
    loss.backward()
    state.ce_opt.step()
    return loss.detach()


def cross_entropy_half(state):
    state.half_opt.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        logits = state.half(state.ids)
    loss = F.cross_entropy(logits.view(-1, VOCAB), state.labels)
    loss.backward()
    state.half_opt.step()
    return loss.detach()


def eager_attention(state):
    state.eager_opt.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        logits = state.eager(state.ids)
    loss = F.cross_entropy(logits.view(-1, VOCAB), state.labels)
    loss.backward()
    state.eager_opt.step()
    return loss.detach()


VARIANTS = {
    "by_hand": by_hand,
    "cross_entropy": cross_entropy,
    "cross_entropy_half": cross_entropy_half,
    "eager_attention": eager_attention,
}
TOLERANCE = 2e-2
