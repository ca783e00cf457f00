# expect: DV105 | gpus: 2 | operands: self.embed_tokens.weight, input_ids | owner: accelerate
"""Greedy decoding of an encoder-decoder by its parts; the map put decoder and head on the second GPU."""

import tempfile

import torch
from transformers import T5Config, T5ForConditionalGeneration

config = T5Config(
    vocab_size=40,
    d_model=16,
    d_kv=8,
    d_ff=32,
    num_layers=2,
    num_heads=2,
    decoder_start_token_id=0,
    tie_word_embeddings=False,
)
device_map = {"shared": 0, "encoder": 0, "decoder": 1, "lm_head": 1}


class Translator:
    def __init__(self, path):
        self.model = T5ForConditionalGeneration.from_pretrained(path, device_map=device_map).eval()
        self.device = torch.device("cuda:0")

    @torch.no_grad()
    def translate(self, input_ids, max_len=4):
        input_ids = input_ids.to(self.device)
        encoded = self.model.encoder(input_ids).last_hidden_state
        decoder_ids = torch.full((input_ids.shape[0], 1), 0, dtype=torch.long, device=self.device)
        for _ in range(max_len):
            hidden = self.model.decoder(input_ids=decoder_ids, encoder_hidden_states=encoded).last_hidden_state
            next_token = self.model.lm_head(hidden[:, -1:]).argmax(-1)
            decoder_ids = torch.cat([decoder_ids, next_token], dim=1)
        return decoder_ids


with tempfile.TemporaryDirectory() as folder:
    T5ForConditionalGeneration(config).save_pretrained(folder)
    translator = Translator(folder)
print(translator.translate(torch.randint(0, 40, (2, 5))))
