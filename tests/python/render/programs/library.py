import lossy
import torch

batch = {"labels": torch.zeros(6, dtype=torch.long, device="cuda:1")}
logits = torch.ones(6, 8, device="cuda:3")
lossy.loss_of(logits, labels=batch["labels"])
