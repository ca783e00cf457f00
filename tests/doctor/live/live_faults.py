"""One fault each, seeded into a set-up that works. The line to be named ends in `# here`, a further one in `# also`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A program with a fault.

    Attributes:
        code: of the finding.
        title: words of its title.
        fix: words of its fix.
        text: the program.
        needs: libraries beside torch.
        gpus: emulated ones.
    """

    code: str
    title: str
    fix: str
    text: str
    needs: tuple[str, ...] = ()
    gpus: int = 2


NET = """
def network():
    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 2))
"""
DISPATCHED = f"""{NET}
from accelerate import dispatch_model

net = dispatch_model(network(), {{"0": 0, "1": 1}})  # also
"""
PARTS = """
class Rotary(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("inv_freq", torch.ones(8), persistent=False)

    def forward(self, x):
        return x * self.inv_freq


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.rotary, self.second = torch.nn.Linear(8, 8), Rotary(), torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.second(self.rotary(self.first(x)))
"""
TIED = """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.mid = torch.nn.Embedding(16, 8), torch.nn.Linear(8, 8)
        self.head = torch.nn.Linear(8, 16, bias=False)
        self.head.weight = self.embed.weight%s

    def forward(self, ids):
        return self.head(self.mid(self.embed(ids)))
"""
LLAMA = """
from transformers import LlamaConfig, LlamaForCausalLM

net = LlamaForCausalLM(LlamaConfig(
    vocab_size=32, hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
    tie_word_embeddings=%s,
))
"""
GROUP = """
import os
import torch.distributed as dist

os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", LOCAL_WORLD_SIZE="1")
torch.cuda.set_device(0)
dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
"""

FAULTS = {
    "moved after dispatch": Fault(
        "DV201", "the hook of 1 moves its inputs to cuda:1, but `1.weight` is on cuda:0", "remove the move",
        DISPATCHED + 'net.to("cuda:0")  # here\nfound = devsan.doctor(net)', ("accelerate",)),
    "taken to the host after dispatch": Fault(
        "DV201", "the hook of 0 moves its inputs to cuda:0, but `0.weight` is on cpu", "remove the move",
        DISPATCHED + "net.cpu()  # here\nfound = devsan.doctor(net)", ("accelerate",)),
    "one part moved": Fault(
        "DV201", "the hook of 1 moves its inputs to cuda:1, but `1.weight` is on cuda:0", "remove the move",
        DISPATCHED + 'net[1].to("cuda:0")  # here\nfound = devsan.doctor(net)', ("accelerate",)),
    "own hook": Fault(
        "DV201", "a forward pre-hook moves the inputs of 1 to cuda:1, but its weights are on cuda:0",
        "read the device from the module",
        NET + """
def to_second(module, arguments):
    return tuple(each.to("cuda:1") for each in arguments)

net = network().to("cuda:0")
net[1].register_forward_pre_hook(to_second)  # here
found = devsan.doctor(net)
"""),
    "own hook in a closure": Fault(
        "DV201", "a forward pre-hook moves the inputs of 1 to cuda:1, but its weights are on cuda:0",
        "read the device from the module",
        NET + """
net = network().to("cuda:0")
device = torch.device("cuda", 1)
net[1].register_forward_pre_hook(lambda module, arguments: tuple(each.to(device) for each in arguments))  # here
found = devsan.doctor(net)
"""),
    "uncovered buffer": Fault(
        "DV105", "`rotary.inv_freq` is on cpu, and its module has no hook", "add rotary to the device map",
        PARTS + """
from accelerate import dispatch_model

net = dispatch_model(Net(), {"first": 0, "second": 1})  # here
found = devsan.doctor(net)
""", ("accelerate",)),
    "module added after dispatch": Fault(
        "DV105", "`2.weight` is on cpu, and its module has no hook", "dispatch the model again",
        DISPATCHED.replace("# also", "# here") + 'net.append(torch.nn.Linear(2, 2))\nfound = devsan.doctor(net)',
        ("accelerate",)),
    "module added after the move": Fault(
        "DV105", "`1.weight` is on cpu, but the rest of the model is on cuda:0", "move the model again",
        NET + 'net = network().to("cuda:0")\nnet[1] = torch.nn.Linear(8, 2)\nfound = devsan.doctor(net)'),
    "torn module": Fault(
        "DV105", "`1.weight` is on cuda:0, but `1.bias` of the same module is on cpu", "move the whole module",
        NET + 'net = network().to("cuda:0")\nnet[1].bias = torch.nn.Parameter(torch.zeros(2))\n'
        "found = devsan.doctor(net)"),
    "torn modules of one kind": Fault(
        "DV105", "`0.weight` is on cuda:0, but `0.bias` of the same module is on cpu", "move the whole module: 0 to",
        NET + 'net = network().to("cuda:0")\nfor layer in (net[0], net[1]):\n'
        "    layer.bias = torch.nn.Parameter(layer.bias.detach().cpu())\nfound = devsan.doctor(net)"),
    "tied weights on two devices": Fault(
        "DV430", "`embed.weight` and `head.weight` are one tensor, but their modules run on cuda:0 and cuda:1",
        "give embed and head the same device in the device map",
        TIED % "" + """
from accelerate import dispatch_model

net = dispatch_model(Net(), {"embed": 0, "mid": 0, "head": 1})  # here
found = devsan.doctor(net)
""", ("accelerate",)),
    "tied weights that are two": Fault(
        "DV430", "`head.weight` and `embed.weight` are declared as tied, but are two tensors on cuda:1 and cuda:0",
        "tie them again", TIED % "  # here" + """
net = Net().to("cuda:0")
net.head.weight = torch.nn.Parameter(net.head.weight.detach().to("cuda:1"))
found = devsan.doctor(net)
"""),
    "tied weights untied by to_empty": Fault(
        "DV430", "are declared as tied, but are two tensors on cuda:0", "tie them again", TIED % "  # here" + """
with torch.device("meta"):
    net = Net()
found = devsan.doctor(net.to_empty(device="cuda:0"))
"""),
    "tied weights of transformers": Fault(
        "DV430", "`lm_head.weight` and `model.embed_tokens.weight` are declared as tied, but are two tensors",
        "model.tie_weights()", LLAMA % True + """
net.to("cuda:0").lm_head.weight = torch.nn.Parameter(net.lm_head.weight.detach().to("cuda:1"))
found = devsan.doctor(net)
""", ("transformers",)),
    "never given weights": Fault(
        "DV112", "all 4 tensors of Sequential are on the meta device", "load the weights",
        NET + 'with torch.device("meta"):  # here\n    net = network()\nfound = devsan.doctor(net)'),
    "a weight that no checkpoint had": Fault(
        "DV112", "1 of 4 tensors is on the meta device and has no data: `1.bias`", "find the keys",
        NET + """
weights = network().state_dict()
del weights["1.bias"]
with torch.device("meta"):  # here
    net = network()
net.load_state_dict(weights, assign=True, strict=False)
found = devsan.doctor(net)
"""),
    "a buffer that no checkpoint has": Fault(
        "DV112", "1 of 5 tensors is on the meta device and has no data: `rotary.inv_freq`", "recompute them",
        PARTS + """
weights = Net().state_dict()
with torch.device("meta"):  # here
    net = Net()
net.load_state_dict(weights, assign=True)
found = devsan.doctor(net)
"""),
    "state made before the move": Fault(
        "DV110", "`sum` of Adagrad for `0.weight` is on cpu, but the parameter is on cuda:0", "move the model first",
        NET + """
net = network()
optimizer = torch.optim.Adagrad(net.parameters())  # here
net.to("cuda:0")
found = devsan.doctor(net, optimizer)
"""),
    "state of a model that was moved on": Fault(
        "DV110", "`exp_avg` of AdamW for `0.weight` is on cuda:0, but the parameter is on cuda:1",
        "move the model first", NET + """
net = network().to("cuda:0")
optimizer = torch.optim.AdamW(net.parameters())  # here
net(torch.ones(1, 8, device="cuda:0")).sum().backward()
optimizer.step()
net.to("cuda:1")
found = devsan.doctor(net, optimizer)
"""),
    "a prompt that is a copy": Fault(
        "DV433", "`prompt` of Prompted is a copy of a parameter, which no optimizer updates", "nn.Parameter(values",
        """
import torch

class Prompted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.prompt = torch.nn.Parameter(torch.zeros(1, 8)).to("cuda:0")  # here
        self.head = torch.nn.Linear(8, 2).to("cuda:0")

net = Prompted()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net.head(net.prompt).sum().backward()
found = devsan.doctor(net, optimizer)
"""),
    "optimizer over an earlier model": Fault(
        "DV432", "SGD updates none of the 4 trainable parameters of Sequential", "after the model has its final",
        NET + """
import copy

net = network()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)  # here
net = copy.deepcopy(net).to("cuda:0")
found = devsan.doctor(net, optimizer)
"""),
    "optimizer before a move that replaces": Fault(
        "DV432", "SGD updates none of the 4 trainable parameters of Sequential", "after the model has its final",
        NET + """
torch.__future__.set_overwrite_module_params_on_conversion(True)
try:
    net = network()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)  # here
    net.to("cuda:0")
finally:
    torch.__future__.set_overwrite_module_params_on_conversion(False)
found = devsan.doctor(net, optimizer)
"""),
    "optimizer before FSDP2": Fault(
        "DV432", "AdamW updates none of the 4 trainable parameters", "after the model has its final", GROUP + NET + """
from torch.distributed.fsdp import fully_shard

net = network().cuda()
optimizer = torch.optim.AdamW(net.parameters())  # here
fully_shard(net)
found = devsan.doctor(net, optimizer)
"""),
    "optimizer before FSDP": Fault(
        "DV432", "AdamW does not update the 1 trainable parameter", "after the model has its final", GROUP + NET + """
from torch.distributed.fsdp import FullyShardedDataParallel

net = network().cuda()
optimizer = torch.optim.AdamW(net.parameters())  # here
net = FullyShardedDataParallel(net, use_orig_params=False)
found = devsan.doctor(net, optimizer)
"""),
    "DataParallel around a map": Fault(
        "DV202", "DataParallel wraps a model that a device map splits across cuda:0, cuda:1", "remove the wrapper",
        DISPATCHED + "net = torch.nn.DataParallel(net)  # here\nfound = devsan.doctor(net)", ("accelerate",)),
    "DataParallel around parts": Fault(
        "DV202", "DataParallel wraps a model that the program splits across cuda:0, cuda:1", "remove the wrapper",
        NET + 'net = network()\nnet[0].to("cuda:0")\nnet[1].to("cuda:1")\nnet = torch.nn.DataParallel(net)  # here\n'
        "found = devsan.doctor(net)"),
    "DDP around a map": Fault(
        "DV202", "DistributedDataParallel wraps a model that a device map splits", "remove the wrapper",
        GROUP + DISPATCHED + "net = torch.nn.parallel.DistributedDataParallel(net)  # here\nfound = devsan.doctor(net)",
        ("accelerate",)),
    "FSDP2 over a map": Fault(
        "DV201", "FSDP places a model for which accelerate's hooks also exist", "without device_map",
        GROUP + DISPATCHED + "from torch.distributed.fsdp import fully_shard\n\nfully_shard(net)  # here\n"
        "found = devsan.doctor(net)", ("accelerate",)),
    "a map in ranks": Fault(
        "DV204", "the device map of local rank 1 uses GPUs of other ranks: cuda:0", 'device_map={"": local_rank}',
        'import os\n\nos.environ.update(LOCAL_RANK="1", LOCAL_WORLD_SIZE="2")\n' + DISPATCHED.replace("also", "here")
        + "found = devsan.doctor(net)", ("accelerate",)),
    "8 bits, scales left behind": Fault(
        "DV431", "the weight of 0 is on cuda:1, but its scales are on cuda:0", 'device_map={"": "cuda:1"}', """
import bitsandbytes

net = torch.nn.Sequential(bitsandbytes.nn.Linear8bitLt(16, 16, has_fp16_weights=False).to("cuda:0"))
net(torch.ones(2, 16, device="cuda:0", dtype=torch.float16))
net.to("cuda:1")  # here
found = devsan.doctor(net)
""", ("bitsandbytes",)),
    "4 bits, scales left behind": Fault(
        "DV431", "the weight of 0 is on cuda:1, but its scales are on cuda:0", "device_map", """
import bitsandbytes

net = torch.nn.Sequential(bitsandbytes.nn.Linear4bit(64, 32)).to("cuda:0")
net[0].weight.data = net[0].weight.data.to("cuda:1")
net[0].bias.data = net[0].bias.data.to("cuda:1")
found = devsan.doctor(net)
""", ("bitsandbytes",)),
    "4 bits, not quantized": Fault(
        "DV431", "0 is a quantized layer, but its weight is not quantized: torch.float32, on cpu", "move the layer", """
import bitsandbytes

net = torch.nn.Sequential(bitsandbytes.nn.Linear4bit(64, 32), torch.nn.Linear(32, 2).to("cuda:0"))
found = devsan.doctor(net)
""", ("bitsandbytes",)),
    "4 bits on the host": Fault(
        "DV431", "the quantized weight of 0 is on cpu, but the rest of the model is on cuda:0",
        "keep quantized modules", """
import bitsandbytes

net = torch.nn.Sequential(bitsandbytes.nn.Linear4bit(64, 32), torch.nn.Linear(32, 2).to("cuda:0"))
net[0].to("cpu")  # here
found = devsan.doctor(net)
""", ("bitsandbytes",)),
}  # fmt: skip
