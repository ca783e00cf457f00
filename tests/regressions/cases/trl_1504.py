# expect: DV101 | gpus: 2 | operands: logprobs, ref_logprobs | owner: program
"""trl 1504: log-probabilities of the policy and of the reference are combined as if both were on one device."""

import torch
from accelerate import dispatch_model


class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.v_head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.v_head(self.body(x))


class PPOTrainer:
    def __init__(self, model, ref_model, device):
        self.model, self.ref_model, self.device = model, ref_model, device

    def step(self, query):
        query = query.to(self.device)
        hidden = self.model.body(query)
        logprobs = self.model.v_head(hidden)
        ref_logprobs = self.ref_model(query)
        ratio = torch.exp(logprobs - ref_logprobs)
        return ratio.mean()


model = dispatch_model(Policy(), {"body": 0, "v_head": 1}, main_device=0)
reference = Policy().to("cuda:0")
PPOTrainer(model, reference, "cuda:0").step(torch.randn(2, 4))
