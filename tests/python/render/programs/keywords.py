import torch

batch = {"logits": torch.ones(2, 3, device="cuda:2"), "bias": torch.ones(3, device="cuda:0")}
torch.add(other=batch["bias"], input=batch["logits"])
