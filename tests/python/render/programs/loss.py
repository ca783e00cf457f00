import torch
from torch.nn import CrossEntropyLoss

lm_logits = torch.ones(2, 4, 8, device="cuda:3")
labels = torch.zeros(2, 4, dtype=torch.long, device="cuda:1")
shift_logits = lm_logits[..., :-1, :].contiguous()
shift_labels = labels[..., 1:].contiguous()
loss_fct = CrossEntropyLoss(ignore_index=-100)
loss = loss_fct(shift_logits.view(-1, shift_logits.size(-1)), shift_labels.view(-1))
