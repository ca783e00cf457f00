"""Set-ups that work: nothing is wrong with them, and they are run to show it."""

from __future__ import annotations

from live_faults import GROUP, NET, PARTS, TIED

LLAMA = """
from transformers import LlamaConfig, LlamaForCausalLM

ids = torch.tensor([[1, 2, 3]])


def llama(tied=False):
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=64, hidden_size=64, intermediate_size=64, num_hidden_layers=4, num_attention_heads=4,
        tie_word_embeddings=tied,
    ))


def saved(tied=False):
    llama(tied).save_pretrained(f"{folder}/{tied}")
    return f"{folder}/{tied}"


SPREAD = {"model.embed_tokens": 0, "model.layers.0": 0, "model.layers.1": 0, "model.layers.2": 1, "model.layers.3": 1,
          "model.norm": 1, "model.rotary_emb": 0, "lm_head": 1}
"""
STEP = """
x = torch.ones(4, 8, device="cuda:0")
for _ in range(2):
    model(x).sum().backward()
    optimizer.step()
found = devsan.doctor(model, optimizer)
"""
ALL = ("accelerate", "transformers")

WORKING: dict[str, tuple[tuple[str, ...], int, str]] = {
    "plain, on the host": ((), 0, NET + "found = devsan.doctor(network())"),
    "parameters of two GPUs in one container": ((), 2, """
uncertainty = torch.nn.ParameterDict({
    "near": torch.nn.Parameter(torch.zeros(1, device="cuda:0")),
    "far": torch.nn.Parameter(torch.zeros(1, device="cuda:1")),
})
(uncertainty["near"] + uncertainty["far"].to("cuda:0")).sum().backward()
found = devsan.doctor(uncertainty)
"""),
    "the skeleton of an ensemble": ((), 1, NET + """
from torch.func import functional_call, stack_module_state, vmap

weights, buffers = stack_module_state([network().cuda() for _ in range(2)])
skeleton = network().to("meta")
x = torch.ones(2, 3, 8, device="cuda:0")
vmap(lambda w, b, each: functional_call(skeleton, (w, b), (each,)))(weights, buffers, x)
found = devsan.doctor(skeleton)
"""),
    "the skeleton of an ensemble, made on meta": ((), 1, NET + """
from torch.func import functional_call, stack_module_state, vmap

weights, buffers = stack_module_state([network().cuda() for _ in range(2)])
with torch.device("meta"):
    skeleton = network()
x = torch.ones(2, 3, 8, device="cuda:0")
vmap(lambda w, b, each: functional_call(skeleton, (w, b), (each,)))(weights, buffers, x)
found = devsan.doctor(skeleton)
"""),
    "a copy of a registered parameter, kept by forward": ((), 2, """
import torch

class Cached(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(8, device="cuda:0"))

    def forward(self, x):
        self.there = self.weight.to(x.device)
        return self.there * x

net = Cached()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(8, device="cuda:1")).sum().backward()
found = devsan.doctor(net, optimizer)
"""),
    "a copy of a weight of another model, which its own optimizer steps": ((), 2, """
import torch

class Student(torch.nn.Module):
    def __init__(self, teacher):
        super().__init__()
        self.shared = teacher.weight.to("cuda:1")
        self.own = torch.nn.Linear(8, 2).to("cuda:1")

    def forward(self, x):
        return self.own(x @ self.shared)

teacher = torch.nn.Linear(8, 8).to("cuda:0")
net = Student(teacher)
others = torch.optim.SGD(teacher.parameters(), lr=0.1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(1, 8, device="cuda:1")).sum().backward()
found = devsan.doctor(net, optimizer)
"""),
    "plain, trained": ((), 1, NET + """
model = network().cuda()
optimizer = torch.optim.AdamW(model.parameters())
""" + STEP),
    "by hand, on two GPUs": ((), 2, NET + """
model = network()
model[0].to("cuda:0")
model[1].to("cuda:1")
model[1].register_forward_pre_hook(lambda module, arguments: tuple(each.to("cuda:1") for each in arguments))
optimizer = torch.optim.Adagrad(model.parameters())
""" + STEP),
    "an embedding that is meant to be on the host": ((), 1, """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rest = torch.nn.Embedding(16, 8), torch.nn.Linear(8, 8).cuda()

    def forward(self, ids):
        return self.rest(self.embed(ids).to("cuda"))

net = Net()
net(torch.tensor([1]))
found = devsan.doctor(net)
"""),
    "tied, dispatched together": (("accelerate",), 2, TIED % "" + """
from accelerate import dispatch_model

net = dispatch_model(Net(), {"embed": 0, "mid": 1, "head": 0})
net(torch.tensor([1]))
found = devsan.doctor(net)
"""),
    "a buffer-only module in the map": (("accelerate",), 2, PARTS + """
from accelerate import dispatch_model

net = dispatch_model(Net(), {"first": 0, "rotary": 0, "second": 1})
net(torch.ones(1, 8))
found = devsan.doctor(net)
"""),
    "device_map over two": (ALL, 2, LLAMA + """
model = LlamaForCausalLM.from_pretrained(saved(), device_map=SPREAD)
optimizer = torch.optim.AdamW(model.parameters())
model(ids, labels=ids).loss.backward()
optimizer.step()
found = devsan.doctor(model, optimizer)
assert [owner.name for owner in found.owners] == ["accelerate"] and found.owners[0].place is not None
"""),
    "device_map over four, tied": (ALL, 4, LLAMA + """
sizes = {0: "150KB", 1: "150KB", 2: "150KB", 3: "10MB"}
model = LlamaForCausalLM.from_pretrained(saved(True), device_map="auto", max_memory=sizes)
model(ids)
found = devsan.doctor(model)
"""),
    "a map that leaves layers on the host": (ALL, 2, LLAMA + """
cpu = {"model.layers.1": "cpu", "model.layers.2": "cpu", "lm_head": "cpu"}
model = LlamaForCausalLM.from_pretrained(saved(True), device_map=SPREAD | cpu | {"lm_head": 0})
model(ids)
found = devsan.doctor(model)
"""),
    "cpu_offload": (ALL, 1, LLAMA + """
from accelerate import cpu_offload

model = llama(True)
cpu_offload(model, "cuda:0")
model(ids)
found = devsan.doctor(model)
"""),
    "disk_offload": (ALL, 1, LLAMA + """
from accelerate import disk_offload

model = llama()
disk_offload(model, f"{folder}/disk", "cuda:0")
model(ids)
found = devsan.doctor(model)
"""),
    "cpu_offload_with_hook": (ALL, 1, LLAMA + """
from accelerate import cpu_offload_with_hook

model, hook = cpu_offload_with_hook(llama(), "cuda:0")
before = devsan.doctor(model)
model(ids)
found = [*before, *devsan.doctor(model)]
"""),
    "LoRA over a map": ((*ALL, "peft"), 2, LLAMA + """
from peft import LoraConfig, get_peft_model

model = LlamaForCausalLM.from_pretrained(saved(), device_map=SPREAD)
model = get_peft_model(model, LoraConfig(target_modules=["q_proj", "v_proj"], r=2, task_type="CAUSAL_LM"))
optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad])
model(ids, labels=ids).loss.backward()
optimizer.step()
found = devsan.doctor(model, optimizer)
"""),
    "4 bits over a map": ((*ALL, "bitsandbytes"), 2, LLAMA + """
from transformers import BitsAndBytesConfig

model = LlamaForCausalLM.from_pretrained(
    saved(), device_map=SPREAD, quantization_config=BitsAndBytesConfig(load_in_4bit=True))
found = devsan.doctor(model)
"""),
    "8 bits, LoRA": ((*ALL, "bitsandbytes", "peft"), 1, LLAMA + """
from peft import LoraConfig, get_peft_model
from transformers import BitsAndBytesConfig

model = LlamaForCausalLM.from_pretrained(
    saved(), device_map={"": 0}, quantization_config=BitsAndBytesConfig(load_in_8bit=True))
model = get_peft_model(model, LoraConfig(target_modules=["q_proj", "v_proj"], r=2, task_type="CAUSAL_LM"))
model(ids.to("cuda"), labels=ids.to("cuda")).loss.backward()
found = devsan.doctor(model, torch.optim.SGD([each for each in model.parameters() if each.requires_grad], lr=0.1))
"""),
    "DataParallel": ((), 2, NET + """
model = torch.nn.DataParallel(network().cuda())
optimizer = torch.optim.AdamW(model.parameters())
""" + STEP),
    "DDP": ((), 1, GROUP + NET + """
model = torch.nn.parallel.DistributedDataParallel(network().cuda(), device_ids=[0])
optimizer = torch.optim.AdamW(model.parameters())
""" + STEP),
    "FSDP2": ((), 1, GROUP + NET + """
from torch.distributed.fsdp import fully_shard

model = network().cuda()
fully_shard(model[0])
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
""" + STEP),
    "FSDP": ((), 1, GROUP + NET + """
from torch.distributed.fsdp import FullyShardedDataParallel

model = FullyShardedDataParallel(network().cuda())
optimizer = torch.optim.AdamW(model.parameters())
""" + STEP),
    "Accelerator.prepare": (("accelerate",), 1, GROUP + NET + """
from accelerate import Accelerator

model = network()
model, optimizer = Accelerator().prepare(model, torch.optim.AdamW(model.parameters()))
""" + STEP),
    "two models, two optimizers": ((), 1, NET + """
model, other = network().cuda(), network().cuda()
optimizer = torch.optim.AdamW(model.parameters())
second = torch.optim.AdamW(other.parameters())
""" + STEP.replace("model, optimizer)", "[model, other], {'first': optimizer, 'second': second})")),
    "masters of another precision": ((), 1, NET + """
model = network().cuda().bfloat16()
masters = [torch.nn.Parameter(each.detach().float()) for each in model.parameters()]
found = devsan.doctor(model, torch.optim.AdamW(masters))
"""),
}  # fmt: skip
