# expect: DV108 | gpus: 1 | operands: self.queue.clone().detach(), q | owner: program
"""MoCo: the queue of negatives is a plain attribute of the module."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class MoCo(nn.Module):
    def __init__(self, base, dim=8, K=16, m=0.99, T=0.07):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q, self.encoder_k = base, copy.deepcopy(base)
        for p in self.encoder_k.parameters():
            p.requires_grad = False
        self.queue = F.normalize(torch.randn(dim, K), dim=0)
        self.queue_ptr = 0

    @torch.no_grad()
    def _momentum_update(self):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters(), strict=False):
            k.data = k.data * self.m + q.data * (1.0 - self.m)

    @torch.no_grad()
    def _dequeue_and_enqueue(self, keys):
        n = keys.shape[0]
        self.queue[:, self.queue_ptr : self.queue_ptr + n] = keys.T
        self.queue_ptr = (self.queue_ptr + n) % self.K

    def forward(self, im_q, im_k):
        q = F.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            self._momentum_update()
            k = F.normalize(self.encoder_k(im_k), dim=1)
        l_pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        labels = torch.zeros(logits.shape[0], dtype=torch.long).cuda()
        self._dequeue_and_enqueue(k)
        return logits, labels


encoder = nn.Sequential(nn.Flatten(), nn.Linear(3 * 4 * 4, 16), nn.ReLU(), nn.Linear(16, 8))
model = MoCo(encoder).cuda()
criterion = nn.CrossEntropyLoss().cuda()
for images in torch.randn(2, 2, 4, 3, 4, 4):
    output, target = model(images[0].cuda(), images[1].cuda())
    criterion(output, target).backward()
