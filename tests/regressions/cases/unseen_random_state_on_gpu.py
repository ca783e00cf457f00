# expect: DV103 | gpus: 1 | operands: state["generator"] | owner: torch.load
"""A checkpoint is read to the GPU as a whole, with the state of the random generator."""

import io

import torch


def resume(file):
    state = torch.load(file, map_location="cuda:0")
    torch.set_rng_state(state["generator"])
    return state["weight"]


file = io.BytesIO()
torch.save({"weight": torch.ones(3), "generator": torch.get_rng_state()}, file)
file.seek(0)
resume(file)
