"""Modules that have only shapes get values."""

from __future__ import annotations

from collections.abc import Callable

Ended = Callable[..., list[str]]

ADAPTED = """
import torch
from peft import LoraConfig, get_peft_model

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.query = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.query(x)
"""


def test_a_module_of_the_meta_device_is_made_where_its_inputs_are(ended: Ended):
    (line,) = ended("""
import torch

first = torch.nn.Linear(4, 4, device="cuda")
second = torch.nn.Linear(4, 2, device="meta")
print(second(first(torch.randn(2, 4, device="cuda"))).sum())
""")
    assert line.startswith("second = torch.nn.Linear(4, 2, device=") and "meta" not in line


def test_an_adapter_that_nothing_is_loaded_into_has_weights_at_once(ended: Ended):
    assert ended(
        ADAPTED
        + """
config = LoraConfig(r=2, target_modules=["query"])
model = get_peft_model(Model().to("cuda"), config, adapter_name="first")
model.add_adapter("second", config, low_cpu_mem_usage=True)
model.set_adapter("second")
model(torch.ones(2, 8, device="cuda")).sum().backward()
"""
    ) == ['model.add_adapter("second", config)']


def test_buffers_that_no_checkpoint_has_are_made_with_their_values(ended: Ended):
    assert ended("""
import torch
from accelerate import init_empty_weights

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(4, 2)
        self.register_buffer("scale", torch.full((4,), 2.0), persistent=False)

    def forward(self, x):
        return self.head(x * self.scale)

state = Model().state_dict()
with init_empty_weights(include_buffers=True):
    model = Model()
model.load_state_dict(state, assign=True)
print(model.to("cuda")(torch.ones(2, 4, device="cuda")).sum().item())
""") == ["with init_empty_weights(include_buffers=False):"]


def test_an_adapter_whose_creation_is_told_by_a_variable_has_weights_at_once(ended: Ended):
    assert ended(
        ADAPTED
        + """
frugal = True
model = get_peft_model(Model(), LoraConfig(r=2, target_modules=["query"]), low_cpu_mem_usage=frugal).to("cuda")
model(torch.ones(2, 8, device="cuda")).sum().backward()
"""
    ) == ['model = get_peft_model(Model(), LoraConfig(r=2, target_modules=["query"])).to("cuda")']
