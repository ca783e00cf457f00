"""Models that accelerate and transformers placed: what the user's script can do, and what the library should."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from devsan.fix.change import applied
from devsan.fix.search import Search

pytest.importorskip("accelerate")
pytest.importorskip("transformers")

Searched = Callable[..., Search]

LOADED = """
import tempfile

import torch
from transformers import {name}Config, {name}For{task}

torch.manual_seed(0)
config = {name}Config({shape})
source = {name}For{task}(config)
size = sum(weight.nbytes for weight in source.parameters())
with tempfile.TemporaryDirectory() as folder:
    source.save_pretrained(folder)
    model = {name}For{task}.from_pretrained(folder, device_map="auto", max_memory={{0: int(size * 0.6), 1: size * 2}})
model.eval()
ids = torch.randint(3, 100, (2, 12), device="cuda:0")
model(input_ids=ids, labels={labels}).loss.backward()
"""
SMALL = ("vocab_size=128, hidden_size=32, num_hidden_layers=4, num_attention_heads=4, intermediate_size=64, "
         "max_position_embeddings=64")  # fmt: skip


def said(found: Search) -> list[str]:
    """What the changes of the best verified fix do."""
    return [str(change.text) for change in found.verified[0].changes]


@pytest.mark.long  # half a minute
def test_a_head_goes_to_its_labels_and_a_patch_stands_beside(searched: Searched):
    labels = 'torch.tensor([0, 1], device="cuda:0")'
    text = LOADED.format(name="Bert", task="SequenceClassification", shape=SMALL, labels=labels)
    found = searched(text, 2)
    assert said(found) == ['put "dropout", "classifier" on cuda:0 in the device map']
    [after] = applied(found.verified[0].changes).values()
    assert '"classifier": 0' in after and 'device_map="auto"' not in after
    assert found.patch is not None
    (patch,) = applied(found.patch.changes).items()
    assert Path(patch[0]).name == "modeling_bert.py" and ".to(logits.device)" in patch[1]


CUT = """
import torch
from accelerate import dispatch_model
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2)
model = LlamaForCausalLM(config)
where = {"model.embed_tokens": 0, "model.rotary_emb": 0, "model.layers.0": 0, "model.layers.1.input_layernorm": 0,
         "model.layers.1.self_attn": 0, "model.layers.1.post_attention_layernorm": 0, "model.layers.1.mlp": 1,
         "model.norm": 1, "lm_head": 1}
model = dispatch_model(model, where)
model(torch.tensor([[1, 2, 3]], device="cuda:0"), use_cache=False)
"""


def test_a_block_that_the_map_cuts_is_kept_whole(searched: Searched):
    found = searched(CUT, 2)
    assert said(found) == ["keep each LlamaDecoderLayer whole in the device map"]
    [after] = applied(found.verified[0].changes).values()
    assert '"model.layers.1": ' in after and "model.layers.1.mlp" not in after.split("dispatch_model(model")[1]


MOVED = """
import torch
from accelerate import dispatch_model


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(8, 4)
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)])

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return x


torch.manual_seed(0)
model = dispatch_model(Model(), {"embed": 0, "layers.0": 0, "layers.1": 1})
model.layers.cuda()
print(model(torch.tensor([1, 2])))
"""


def test_a_move_of_a_placed_model_is_left_out(searched: Searched):
    found = searched(MOVED, 2)
    assert said(found) == ["leave the placed model where it is: no `model.layers.cuda()`"]
    [after] = applied(found.verified[0].changes).values()
    assert "cuda()" not in after and "dispatch_model(Model()" in after


HOOKS = """
import torch
from accelerate import dispatch_model


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.branch = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch.cat([x, self.branch(self.stem(x)), self.stem(x)])


torch.manual_seed(0)
def load():
    return dispatch_model(Net(), {"stem": 0, "branch": 1})

model = load()
print(model(torch.ones(2, 4, device="cuda:0")).sum())
"""


def test_hooks_that_bring_outputs_back_are_among_what_is_verified(searched: Searched):
    from devsan.fix.candidates import candidates
    from devsan.fix.exploration import failure_of

    found = searched(HOOKS, 2)
    assert found.first is not None
    [change] = [each for each in candidates(failure_of((), found.first)) if each.kind == "workaround"]
    [after] = applied([change]).values()
    assert "    model = dispatch_model(Net(), {" in after and "    return model\n" in after
    assert "_hf_hook.io_same_device = True" in after
