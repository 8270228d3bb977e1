"""Two training steps of a small GPT-2 of transformers, with gradient clipping."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(n_embd=256, n_layer=3, n_head=4, vocab_size=4096)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)


def step(tokens):
    optimizer.zero_grad()
    output = model(input_ids=tokens, labels=tokens)
    penalty = 1e-4 * output.logits.float().logsumexp(-1).square().mean()
    loss = output.loss + penalty
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss


for _ in range(2):
    loss = step(torch.randint(0, 4096, (4, 256), device="cuda"))
print(loss.item())
