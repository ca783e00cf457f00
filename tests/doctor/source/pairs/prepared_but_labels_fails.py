# expect: DV103 | gpus: 2
"""A Hugging Face model on a GPU; the tokenizer's tensors are moved field by field, and one is left out."""

import torch
from transformers import BertConfig, BertForSequenceClassification

config = BertConfig(vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
device = "cuda"
model = BertForSequenceClassification(config)
model.to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(2):
    input_ids = torch.randint(0, 40, (2, 6)).to(device)
    attention_mask = torch.ones(2, 6, dtype=torch.long).to(device)
    labels = torch.randint(0, 2, (2,))
    out = model(input_ids=input_ids, attention_mask=attention_mask, labels=labels)
    out.loss.backward()
    optimizer.step()
    optimizer.zero_grad()
