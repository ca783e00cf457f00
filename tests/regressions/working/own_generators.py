"""A generator for each device, a loader on the host, checkpoints that come to another GPU."""

import io

import torch
from torch.utils.data import DataLoader

for number in range(2):
    torch.randn(3, device=f"cuda:{number}", generator=torch.Generator(f"cuda:{number}").manual_seed(0))
for batch in DataLoader(torch.randn(4, 2), shuffle=True, generator=torch.Generator().manual_seed(0)):
    batch.cuda() * 2
file = io.BytesIO()
torch.save(torch.nn.Linear(2, 2).to("cuda:1").state_dict(), file)
file.seek(0)
torch.nn.Linear(2, 2).to("cuda:0").load_state_dict(torch.load(file, map_location="cuda:0"))
