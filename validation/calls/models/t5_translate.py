"""The greedy decoding of a small T5 of transformers: an encoder, then eight steps of a decoder with its cache."""

import torch
from transformers import T5Config, T5ForConditionalGeneration

torch.manual_seed(0)
config = T5Config(d_model=256, d_kv=64, d_ff=512, num_layers=2, num_heads=4, vocab_size=2048, decoder_start_token_id=0)
model = T5ForConditionalGeneration(config).cuda().eval()
tokens = torch.randint(2, 2048, (4, 96), device="cuda")
with torch.no_grad():
    hidden = model.encoder(input_ids=tokens)
    words = torch.zeros((4, 1), dtype=torch.long, device="cuda")
    past = None
    for _ in range(8):
        output = model(
            encoder_outputs=hidden, decoder_input_ids=words[:, -1:], past_key_values=past, use_cache=True
        )
        past = output.past_key_values
        chosen = output.logits[:, -1].argmax(-1, keepdim=True)
        words = torch.cat([words, chosen], dim=1)
print(words.shape, int(words.sum()))
