# expect: DV102 | gpus: 1 | operands: hidden[0], self.emb(tokens[:, :-1]) | owner: program
"""A Lightning language model starts each step from zeros that it makes on the host."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class CharRNN(L.LightningModule):
    def __init__(self, vocab=20, dim=8, layers=2):
        super().__init__()
        self.layers, self.dim = layers, dim
        self.emb = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, dim, layers, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def init_state(self, batch):
        return torch.zeros(self.layers, batch, self.dim), torch.zeros(self.layers, batch, self.dim)

    def training_step(self, batch, _):
        (tokens,) = batch
        hidden = self.init_state(tokens.shape[0])
        out, hidden = self.lstm(self.emb(tokens[:, :-1]), hidden)
        return nn.functional.cross_entropy(self.head(out).flatten(0, 1), tokens[:, 1:].flatten())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


data = DataLoader(TensorDataset(torch.randint(0, 20, (8, 6))), batch_size=4)
trainer = L.Trainer(
    accelerator="gpu",
    devices=1,
    max_epochs=1,
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(CharRNN(), data)
