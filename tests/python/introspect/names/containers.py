"""Programs whose operator fails inside of torch's own modules: what reaches it there has no name in the program."""

from __future__ import annotations

import random
from dataclasses import dataclass

from names.program import HEAD, Kind, Program, Truth

_COMPUTES = (
    "nn.ReLU()", "nn.Tanh()", "nn.GELU()", "nn.Sequential(nn.ReLU(), nn.Tanh())", "nn.Sequential(nn.Sigmoid())",
    "nn.Linear(8, 8).to({there!r})", "nn.LayerNorm(8).to({there!r})", "nn.Softplus()",
)  # fmt: skip
_KEEPS = ("nn.Identity()", "nn.Dropout(0.0).eval()", "nn.Sequential(nn.Identity())", "nn.Sequential()")
_FAILS = {
    "nn.Linear(8, 8)": (("weight", (8, 8)), ("bias", (8,))),
    "nn.Linear(8, 8, bias=False)": (("weight", (8, 8)),),
    "nn.LayerNorm(8)": (("weight", (8,)), ("bias", (8,))),
    "nn.BatchNorm1d(8)": (("weight", (8,)), ("bias", (8,)), ("running_mean", (8,)), ("running_var", (8,))),
    "nn.PReLU(8)": (("weight", (8,)),),
    "nn.Sequential(nn.Linear(8, 8))": (("0.weight", (8, 8)), ("0.bias", (8,))),
    "nn.ModuleDict({'in': nn.Linear(8, 8)})['in']": (("weight", (8, 8)), ("bias", (8,))),
}


@dataclass(frozen=True)
class _Caller:
    """How the modules are called.

    Attributes:
        text: the program behind ``layers = [...]``.
        path: of the module number ``{k}``, as far as it is sure.
        names: what each module's input is called, where it has a name.
        given: what the first module's input is called.
        parts: what the failing module's parameters are called besides: ``layer.{part}``.
    """

    text: str
    path: str
    names: tuple[str, ...] = ()
    given: tuple[str, ...] = ("batch",)
    parts: str = "{part}"


_CALLERS = {
    "sequential": _Caller("model = nn.Sequential(*layers)\nmodel(batch)", "*.{k}"),
    "twice_nested": _Caller("model = nn.Sequential(nn.Sequential(*layers))\nmodel(batch)", "*.{k}"),
    "attribute": _Caller("""\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(*layers)
    def forward(self, x):
        return self.body(x)
model = Net()
model(batch)""", "*.body.{k}", given=("batch", "x")),
    "of_a_result": _Caller("""\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(*layers)
    def forward(self, x):
        h = x * 2
        return self.body(h)
model = Net()
model(batch)""", "*.body.{k}", given=("h",)),
    "of_an_expression": _Caller("""\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(*layers)
    def forward(self, x):
        return self.body(x * 2)
model = Net()
model(batch)""", "*.body.{k}", given=("x * 2",)),
    "rebound": _Caller("""\
model = nn.Sequential(*layers)
def run(batch):
    batch = model(batch)
    return batch
run(batch)""", "*.{k}"),
    "keywords": _Caller("model = nn.Sequential(*layers)\nkeywords = {'input': batch}\nmodel(**keywords)", "*.{k}",
                        given=("batch", "keywords['input']")),
    "star": _Caller("model = nn.Sequential(*layers)\nrow = [batch]\nmodel(*row)", "*.{k}", given=("batch", "row[0]")),
    "partial": _Caller("model = nn.Sequential(*layers)\nrun = functools.partial(model, batch)\nrun()", "*.{k}"),
    "functional_call": _Caller(
        "model = nn.Sequential(*layers)\nweights = dict(model.named_parameters())\n"
        "torch.func.functional_call(model, weights, (batch,))", "*.{k}",
        given=("batch", "(batch,)[0]"), parts="weights['{k}.{part}']"),
    "checkpoint": _Caller("model = nn.Sequential(*layers)\ncheckpoint(model, batch, use_reentrant=False)", "*.{k}"),
    "dict_of_batch": _Caller("model = nn.Sequential(*layers)\n"
                             "data = {'x': batch, 'y': batch.clone()}\nmodel(data['x'])",
                             "*.{k}", given=("batch", "data['x']")),
    "loop": _Caller("""\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(layers)
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
model = Net()
model(batch)""", "*.layers.{k}", names=("x",), given=("batch", "x"), parts="layer.{part}"),
    "loop_of_other_name": _Caller("""\
layers = nn.ModuleList(layers)
def run(given):
    hidden = given
    for number, layer in enumerate(layers):
        hidden = layer(hidden)
    return hidden
run(batch)""", "*.{k}", names=("hidden",), given=("batch", "given", "hidden"),
        parts="layer.{part}"),
    "dict_of_modules": _Caller("""\
parts = nn.ModuleDict({f"part{k}": layer for k, layer in enumerate(layers)})
x = batch
for name in parts:
    x = parts[name](x)""", "*.part{k}", names=("x",), given=("batch", "x"), parts="parts[name].{part}"),
    "reduce": _Caller("""\
layers = nn.ModuleList(layers)
functools.reduce(lambda h, layer: layer(h), layers, batch)""", "*.{k}", names=("h",),
        given=("batch", "h"), parts="layer.{part}"),
    "recursion": _Caller("""\
layers = nn.ModuleList(layers)
def run(t, rest):
    return run(rest[0](t), rest[1:]) if rest else t
run(batch, list(layers))""", "*.{k}", names=("t", "rest[0](t)"), given=("batch", "t"), parts="rest[0].{part}"),
    "hooked": _Caller("""\
model = nn.Sequential(*layers)
seen = []
model[0].register_forward_hook(lambda module, args, output: seen.append(output))
model[-1].register_forward_pre_hook(lambda module, args: None)
model(batch)""", "*.{k}", names=("seen[0]",)),
    "pre_hook_replaces": _Caller("""\
model = nn.Sequential(*layers)
model.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
model(batch)""", "*.{k}", given=()),
}  # fmt: skip


def program(draw: random.Random) -> Program:
    """Returns a program in which a module gets a tensor from another device."""
    here, there = draw.choice([("cuda:1", "cuda:0"), ("cuda:0", "cuda:1"), ("cuda:0", "cpu")])
    count = draw.randint(0, 3)
    before = [draw.choice(_COMPUTES if draw.random() < 0.6 else _KEEPS).format(there=there) for _ in range(count)]
    fails = draw.choice(list(_FAILS))
    behind = [
        draw.choice(("nn.ReLU()", f"nn.Linear(8, 8).to({there!r})", "nn.Identity()")) for _ in range(draw.randint(0, 2))
    ]
    name = draw.choice(list(_CALLERS))
    caller = _CALLERS[name]
    kept = all(each in _KEEPS for each in before)
    shape = (4, 8)
    activation = Kind(there, "float32", shape)
    layers = [*before, f"{fails}.to({here!r})", *behind]
    texts = []
    for probed in (False, True):
        lines = [HEAD, f"layers = [{', '.join(layers)}]", f"batch = torch.rand(4, 8, device={there!r})"]
        if probed:
            lines.append(f"layers[{count}].register_forward_pre_hook(lambda module, args: (_see(0, args[0]), None)[1])")
        texts.append("\n".join([*lines, caller.text]) + "\n")
    # a hook that keeps the output of the first module knows the operand where nothing has changed it since
    hooked = name == "hooked"
    first = hooked and count > 0 and all(each in _KEEPS for each in before[1:])
    named = caller.names if not hooked or first else ()
    names = caller.given if kept else named
    if kept and first:
        names = (*names, *named)
    elif kept and not hooked:
        names = tuple(dict.fromkeys((*names, *(each for each in named if each in caller.given or count > 0))))
    truths = [Truth(activation, dict.fromkeys(names, activation), named=bool(names) and not hooked)]
    path = caller.path.format(k=count)
    for part, sizes in _FAILS[fails]:
        kind = Kind(here, "float32", sizes)
        truths.append(
            Truth(kind, {f"{path}.{part}": kind, **_plain(part, kind), caller.parts.format(k=count, part=part): kind})
        )
    true = {each for truth in truths for each in truth.names}
    decoys = (
        frozenset(
            {
                "batch",
                "x",
                "h",
                "given",
                "row[0]",
                "keywords['input']",
                "data['x']",
                "data['y']",
                "x * 2",
                "(batch,)[0]",
            }
        )
        - true
    )
    label = f"{name}: {', '.join(layers)}"
    family = f"container: {name}"
    return Program(family, label, texts[0], texts[1], tuple(truths), decoys)


def _plain(part: str, kind: Kind) -> dict[str, Kind]:
    """torch's own line calls it so: ``self.weight``."""
    return {f"self.{part.rpartition('.')[2]}": kind}
