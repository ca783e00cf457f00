# expect: DV113 | gpus: 2 | operands: t, cos | owner: program
"""EasyEdit 204: Qwen's remote code keeps one rotary table for the whole model."""

import torch


class RotaryTables:
    def __init__(self):
        self._rotary_pos_emb_cache = None
        self._seq_len_cached = 0

    def __call__(self, length, device):
        if length > self._seq_len_cached:
            freqs = torch.outer(torch.arange(length, device=device).float(), torch.ones(4, device=device))
            self._rotary_pos_emb_cache = freqs
            self._seq_len_cached = length
        return self._rotary_pos_emb_cache[:length]


class QWenAttention(torch.nn.Module):
    def __init__(self, tables):
        super().__init__()
        self.c_attn = torch.nn.Linear(4, 4)
        self.tables = tables

    def forward(self, x):
        t = self.c_attn(x)
        cos = self.tables(x.shape[0], x.device)
        return t * cos


tables = RotaryTables()
layers = [QWenAttention(tables).to("cuda:0"), QWenAttention(tables).to("cuda:1")]
hidden = torch.randn(3, 4, device="cuda:0")
for layer in layers:
    hidden = layer(hidden.to(layer.c_attn.weight.device))
