# expect: DV103 | gpus: 1 | operands: self.obs, idx | owner: program
"""Prioritized replay: transitions stay in host memory, priorities (and what is drawn from them) are on the GPU."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    capacity: int = 64
    batch_size: int = 8
    device: str = "cuda"


class PrioritizedReplay:
    def __init__(self, cfg: Config, obs_dim: int):
        self.cfg, self.size = cfg, 0
        self.obs = torch.empty(cfg.capacity, obs_dim)
        self.act = torch.empty(cfg.capacity, dtype=torch.long)
        self.prio = torch.zeros(cfg.capacity, device=cfg.device)

    def add(self, obs, act):
        self.obs[self.size], self.act[self.size] = obs, act
        self.prio[self.size] = self.prio.max().clamp(min=1.0)
        self.size += 1

    def sample(self):
        idx = torch.multinomial(self.prio, self.cfg.batch_size)
        return self.obs[idx], self.act[idx]


cfg = Config()
replay = PrioritizedReplay(cfg, 4)
for _ in range(32):
    replay.add(torch.randn(4), 1)
q_net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2)).to(cfg.device)
for _ in range(2):
    obs, act = replay.sample()
    q = q_net(obs.to(cfg.device)).gather(1, act.to(cfg.device)[:, None])
