# expect: DV103 | gpus: 1 | operands: input_ids, self.word_embeddings.weight | owner: DataLoader
"""accelerate prepares the model and the optimizer, and nobody gave it the loader."""

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForSequenceClassification


def collate(rows):
    return {key: torch.stack([row[key] for row in rows]) for key in rows[0]}


def main():
    accelerator = Accelerator()
    config = BertConfig(vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
    model = BertForSequenceClassification(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    rows = [{"input_ids": torch.randint(0, 40, (6,)), "labels": torch.tensor(i % 2)} for i in range(8)]
    loader = DataLoader(rows, batch_size=4, collate_fn=collate)
    model, optimizer = accelerator.prepare(model, optimizer)
    model.train()
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


main()
