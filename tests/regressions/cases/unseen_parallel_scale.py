# expect: DV108 | gpus: 2 | operands: self.scale, torch.matmul(Q, K.transpose(-1, -2)) | owner: program
"""An attention layer sends a constant to the device in its constructor, then DataParallel copies the model."""

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class MultiHeadAttention(nn.Module):
    def __init__(self, hid_dim, n_heads, device):
        super().__init__()
        self.n_heads, self.head_dim = n_heads, hid_dim // n_heads
        self.fc_q, self.fc_k, self.fc_v = (nn.Linear(hid_dim, hid_dim) for _ in range(3))
        self.scale = torch.full((n_heads, 1, 1), self.head_dim**0.5).to(device)

    def forward(self, x):
        B, T, D = x.shape
        Q, K, V = (
            f(x).view(B, T, self.n_heads, self.head_dim).transpose(1, 2) for f in (self.fc_q, self.fc_k, self.fc_v)
        )
        energy = torch.matmul(Q, K.transpose(-1, -2)) / self.scale
        return (energy.softmax(-1) @ V).transpose(1, 2).reshape(B, T, D)


class Encoder(nn.Module):
    def __init__(self, vocab, hid_dim, device):
        super().__init__()
        self.tok = nn.Embedding(vocab, hid_dim)
        self.attention = MultiHeadAttention(hid_dim, 2, device)

    def forward(self, src):
        return self.attention(self.tok(src))


model = nn.DataParallel(Encoder(30, 8, device).to(device))
out = model(torch.randint(0, 30, (6, 5)).to(device))
print(out.shape)
