# expect: DV114 | gpus: 1 | operands: pipeline.vae.weight, pipeline.unet(latents).T | owner: program
"""diffusers 5281: modules with an offload's hooks are used in a second pipeline, beside their forward."""

import torch
from accelerate import cpu_offload_with_hook


class Pipeline:
    def __init__(self, unet, vae):
        self.unet, self.vae = unet, vae

    def enable_model_cpu_offload(self):
        _, hook = cpu_offload_with_hook(self.unet, "cuda:0")
        cpu_offload_with_hook(self.vae, "cuda:0", prev_module_hook=hook)

    def to(self, device):
        self.unet.to(device)
        self.vae.to(device)
        return self

    def __call__(self, latents):
        return self.vae(self.unet(latents) + self.unet.bias)


first = Pipeline(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
first.enable_model_cpu_offload()
second = Pipeline(first.unet, first.vae).to("cpu")


def call(pipeline, latents):
    return pipeline.vae.weight @ pipeline.unet(latents).T


call(second, torch.randn(2, 4, device="cuda:0"))
