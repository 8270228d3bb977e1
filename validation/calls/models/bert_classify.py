"""A training step of a BERT classifier of transformers under automatic mixed precision, with a loss of its own."""

import torch
from torch.nn import functional
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
config = BertConfig(hidden_size=256, num_hidden_layers=3, num_attention_heads=4, intermediate_size=1024, num_labels=5)
model = BertForSequenceClassification(config).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
tokens = torch.randint(0, 30000, (8, 128), device="cuda")
mask = (torch.arange(128, device="cuda") < torch.randint(20, 128, (8, 1), device="cuda")).long()
labels = torch.randint(0, 5, (8,), device="cuda")

with torch.autocast("cuda", dtype=torch.bfloat16):
    logits = model(input_ids=tokens, attention_mask=mask).logits
    smooth = functional.one_hot(labels, 5) * 0.9 + 0.02
    loss = -(smooth * functional.log_softmax(logits.float(), -1)).sum(-1).mean()
loss.backward()
optimizer.step()
print(loss.item())
