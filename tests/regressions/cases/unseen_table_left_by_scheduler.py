# expect: DV101 | gpus: 2 | operands: scheduler.alphas_cumprod, steps | owner: diffusers
"""Noise is weighted by the share of the signal, on the GPU of the network; add_noise has moved the table."""

import torch
from diffusers import DDPMScheduler
from torch import nn

network = nn.Linear(16, 16).to("cuda:1")
scheduler = DDPMScheduler(num_train_timesteps=50)
latents = torch.randn(4, 16, device="cuda:0")
noise = torch.randn_like(latents)
steps = torch.randint(0, 50, (4,), device="cuda:0")
noisy = scheduler.add_noise(latents, noise, steps).to("cuda:1")
steps = steps.to("cuda:1")
share = scheduler.alphas_cumprod[steps]
loss = (share[:, None] * (network(noisy) - noise.to("cuda:1")) ** 2).mean()
loss.backward()
