"""Where the line that fails stands: in a function, a method, a hook, a lambda, ... and how it is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import indent

Given = Sequence[tuple[str, str]]


def _block(lines: Sequence[str]) -> str:
    return indent("\n".join(lines), "    ")


def _parameters(given: Given, *before: str) -> str:
    return ", ".join([*before, *(name for name, _ in given)])


def _arguments(given: Given, *before: str) -> str:
    return ", ".join([*before, *(argument for _, argument in given)])


def function(body: Sequence[str], given: Given) -> str:
    return f"def work({_parameters(given)}):\n{_block(body)}\nwork({_arguments(given)})"


def with_keywords(body: Sequence[str], given: Given) -> str:
    arguments = ", ".join(f"{name}={argument}" for name, argument in reversed(given))
    return f"def work(*, {_parameters(given)}):\n{_block(body)}\nwork({arguments})"


def with_dict(body: Sequence[str], given: Given) -> str:
    arguments = ", ".join(f'"{name}": {argument}' for name, argument in given)
    return f"def work({_parameters(given)}):\n{_block(body)}\nkeywords = {{{arguments}}}\nwork(**keywords)"


def with_star(body: Sequence[str], given: Given) -> str:
    return f"def work({_parameters(given)}):\n{_block(body)}\nrow = ({_arguments(given)},)\nwork(*row)"


def through_keywords(body: Sequence[str], given: Given) -> str:
    arguments = ", ".join(f"{name}={argument}" for name, argument in given)
    return (f"def work({_parameters(given)}):\n{_block(body)}\ndef outer(**options):\n    return work(**options)\n"
            f"outer({arguments})")  # fmt: skip


def of_module_level(body: Sequence[str], given: Given) -> str:
    return "\n".join([*(f"{name} = {argument}" for name, argument in given), *body])


def forward(body: Sequence[str], given: Given) -> str:
    method = f"def forward({_parameters(given, 'self')}):\n{_block(body)}"
    return f"class Net(nn.Module):\n{_block([method])}\nmodel = Net()\nmodel({_arguments(given)})"


def in_method(body: Sequence[str], given: Given) -> str:
    method = f"def step({_parameters(given, 'self')}):\n{_block(body)}"
    return f"class Trainer:\n{_block([method])}\ntrainer = Trainer()\ntrainer.step({_arguments(given)})"


def static_method(body: Sequence[str], given: Given) -> str:
    method = f"@staticmethod\ndef step({_parameters(given)}):\n{_block(body)}"
    return f"class Trainer:\n{_block([method])}\nTrainer.step({_arguments(given)})"


def class_method(body: Sequence[str], given: Given) -> str:
    method = f"@classmethod\ndef step({_parameters(given, 'cls')}):\n{_block(body)}"
    return f"class Trainer:\n{_block([method])}\nTrainer.step({_arguments(given)})"


def dunder_call(body: Sequence[str], given: Given) -> str:
    method = f"def __call__({_parameters(given, 'self')}):\n{_block(body)}"
    return f"class Loss:\n{_block([method])}\nloss = Loss()\nloss({_arguments(given)})"


def decorated(body: Sequence[str], given: Given) -> str:
    wrapper = ("def traced(inner):\n    @functools.wraps(inner)\n    def wrapper(*args, **kwargs):\n"
               "        return inner(*args, **kwargs)\n    return wrapper")  # fmt: skip
    return f"{wrapper}\n@traced\ndef work({_parameters(given)}):\n{_block(body)}\nwork({_arguments(given)})"


def by_partial(body: Sequence[str], given: Given) -> str:
    first, rest = given[:1], given[1:]
    return (f"def work({_parameters(given)}):\n{_block(body)}\n"
            f"bound = functools.partial({_arguments(first, 'work')})\nbound({_arguments(rest)})")  # fmt: skip


def recursive(body: Sequence[str], given: Given) -> str:
    again = [f"if left > 0:\n    return work({', '.join(['left - 1', *(name for name, _ in given)])})", *body]
    return f"def work({_parameters(given, 'left')}):\n{_block(again)}\nwork({_arguments(given, '2')})"


def in_generator(body: Sequence[str], given: Given) -> str:
    work = f"def work({_parameters(given)}):\n{_block([*body, 'yield 1'])}"
    return f"{work}\nfor each in work({_arguments(given)}):\n    pass"


def in_context(body: Sequence[str], given: Given) -> str:
    manager = f"@contextlib.contextmanager\ndef work({_parameters(given)}):\n{_block([*body, 'yield 1'])}"
    return f"{manager}\nwith work({_arguments(given)}):\n    pass"


def under_no_grad(body: Sequence[str], given: Given) -> str:
    return f"@torch.no_grad()\ndef work({_parameters(given)}):\n{_block(body)}\nwork({_arguments(given)})"


def in_try(body: Sequence[str], given: Given) -> str:
    inner = f"try:\n{_block(body)}\nfinally:\n    done = True"
    return f"def work({_parameters(given)}):\n{_block([inner])}\nwork({_arguments(given)})"


def in_closure(body: Sequence[str], given: Given) -> str:
    inner = f"def inner():\n{_block(body)}\nreturn inner()"
    changed = any(line.startswith(f"{name} ") for line in body for name, _ in given)
    if changed:  # a variable of the inner function then
        return function(body, given)
    return f"def work({_parameters(given)}):\n{_block([inner])}\nwork({_arguments(given)})"


def in_hook(body: Sequence[str], given: Given) -> str:
    hook = f"def hook(module, args, output):\n{_block([*(f'{name} = {argument}' for name, argument in given), *body])}"
    return f'{hook}\nlayer = nn.Identity()\nlayer.register_forward_hook(hook)\nlayer(torch.rand(4, 4, device="cuda:0"))'


def in_pre_hook(body: Sequence[str], given: Given) -> str:
    hook = f"def hook(module, args):\n{_block([*(f'{name} = {argument}' for name, argument in given), *body])}"
    return (f"{hook}\nlayer = nn.Identity()\nlayer.register_forward_pre_hook(hook)\n"
            'layer(torch.rand(4, 4, device="cuda:0"))')  # fmt: skip


def in_checkpoint(body: Sequence[str], given: Given) -> str:
    call = _arguments([*given, ("", "use_reentrant=False")], "work")
    return f"def work({_parameters(given)}):\n{_block(body)}\ncheckpoint({call})"


def in_autograd_function(body: Sequence[str], given: Given) -> str:
    method = f"@staticmethod\ndef forward({_parameters(given, 'ctx')}):\n{_block([*body, 'return torch.zeros(1)'])}"
    return f"class Work(torch.autograd.Function):\n{_block([method])}\nWork.apply({_arguments(given)})"


def in_sequential(body: Sequence[str], given: Given) -> str:
    lines = [*(f"{name} = {argument}" for name, argument in given), *body]
    method = f"def forward(self, first):\n{_block(lines)}"
    return (f"class Part(nn.Module):\n{_block([method])}\nmodel = nn.Sequential(nn.Identity(), Part())\n"
            'model(torch.rand(4, 4, device="cuda:0"))')  # fmt: skip


def in_functional_call(body: Sequence[str], given: Given) -> str:
    method = f"def forward({_parameters(given, 'self')}):\n{_block(body)}"
    return (f"class Net(nn.Module):\n{_block([method])}\nmodel = Net()\n"
            f"torch.func.functional_call(model, {{}}, ({_arguments([*given, ('', '')])}))")  # fmt: skip


def in_property(body: Sequence[str], given: Given) -> str:
    lines = [*(f"{name} = {argument}" for name, argument in given), *body]
    method = f"@property\ndef value(self):\n{_block(lines)}"
    return f"class Lazy:\n{_block([method])}\nlazy = Lazy()\nlazy.value"


def by_map(body: Sequence[str], given: Given) -> str:
    rows = ", ".join(f"[{argument}]" for _, argument in given)
    return f"def work({_parameters(given)}):\n{_block(body)}\nlist(map(work, {rows}))"


def in_loop_of_modules(body: Sequence[str], given: Given) -> str:
    method = f"def forward({_parameters(given, 'self')}):\n{_block(body)}"
    return (f"class Part(nn.Module):\n{_block([method])}\nparts = nn.ModuleDict({{\"one\": Part()}})\n"
            f"for name, part in parts.items():\n    part({_arguments(given)})")  # fmt: skip


PLACES: tuple[Callable[[Sequence[str], Given], str], ...] = (
    function, function, with_dict, through_keywords, of_module_level, forward, forward, in_method,
    static_method, class_method, dunder_call, decorated, recursive, in_generator, in_context, under_no_grad, in_try,
    in_closure, in_hook, in_pre_hook, in_checkpoint, in_autograd_function, in_sequential, in_functional_call,
    in_property, in_loop_of_modules,
)  # fmt: skip
NEED_PARAMETERS: tuple[Callable[[Sequence[str], Given], str], ...] = (
    with_keywords, with_star, by_partial, by_map,
)  # fmt: skip
