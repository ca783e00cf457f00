"""Tells of a model of transformers for which this machine has no room, before its first weight is made.

How large a model is, its twin on the meta device says, which has no weights: a second for 70 billion parameters. Who
fills weights for minutes, until the kernel kills the process, is told in that second of the option that fills none.
"""

from __future__ import annotations

import contextlib
import copy
import os
import sys
from collections.abc import Iterator
from functools import wraps
from typing import Any

import torch

from devsan import _core
from devsan.cuda.imports import AfterImport
from devsan.cuda.patches import Patches
from devsan.errors import tell, tell_failure
from devsan.options import Options
from devsan.sizes import say_size

_LARGE = 1 << 28  # parameters: a twin costs more than a smaller model is worth

_MODULE = "transformers.modeling_utils"

_patches = Patches()
_imports = AfterImport({_MODULE: lambda module: _watch(module)})
_is_looking = False
_is_told = False


def begin(options: Options) -> None:
    """Looks at models of transformers from now on, until one was told of. Needs a running emulation."""
    _imports.install()


def end() -> None:
    """Looks no more. A second call does nothing."""
    _imports.remove()
    _patches.undo()


def _watch(module: Any) -> None:
    make = module.PreTrainedModel.__init__

    @wraps(make)
    def made(self: Any, config: Any, *arguments: Any, **keywords: Any) -> None:
        _look(self, config, module.PreTrainedModel)
        make(self, config, *arguments, **keywords)

    _patches.set(module.PreTrainedModel, "__init__", made)


def _look(model: Any, config: Any, base: type) -> None:
    """What fails here changes nothing of the program."""
    global _is_looking, _is_told
    kind = type(model)
    if _is_looking or _is_told:
        return
    _is_looking = True
    try:
        if not _may_be_large(kind, config) or _is_part(model, base) or not _will_have_weights():
            return
        size = _size_of(kind, config)
        left, total, bound = _core.host_room()
        if total and size > left:
            _is_told = True
            tell(
                f"warning: {kind.__name__} takes {say_size(size)} in {str(torch.get_default_dtype())[6:]}, and of the "
                f"{say_size(total)} ({bound}) for emulated GPUs and CPU tensors {say_size(left)} are left. Run with "
                "--full-size, where large tensors take no memory, or run a smaller model"
            )
    except Exception as error:
        _is_told = True
        tell_failure("how large the model is, is not known", error)
    finally:
        _is_looking = False


def _may_be_large(kind: type, config: Any) -> bool:
    if not kind.__module__.startswith("transformers.") or os.environ.get("LOCAL_RANK", "0") != "0":
        return False
    if getattr(config, "quantization_config", None) is not None:
        return False
    text = config
    with contextlib.suppress(AttributeError, ValueError):  # none, or several of which none is the text's
        text = config.get_text_config()
    width, layers = getattr(text, "hidden_size", 0), getattr(text, "num_hidden_layers", 0)
    return isinstance(width, int) and isinstance(layers, int) and 12 * layers * width * width > _LARGE


def _is_part(model: Any, base: type) -> bool:
    """Whether a model of transformers is being made of which this is a part."""
    made = (frame.f_locals.get("self") for frame in _callers() if frame.f_code.co_name == "__init__")
    return any(
        isinstance(each, base) and each is not model and type(each).__module__.startswith("transformers.")
        for each in made
    )


def _will_have_weights() -> bool:
    """A model on the meta device has none, unless from_pretrained makes it there and then reads them. Under DeepSpeed's
    zero.Init nothing can be made on the meta device, and making a module is a matter of all ranks."""
    with torch.device("meta"):
        if torch.empty(0).device.type != "meta":
            return False
    module = torch.nn.Module()
    module.register_parameter("weight", torch.nn.Parameter(torch.empty(0)))  # accelerate's init_empty_weights is here
    if module.weight.device.type != "meta":
        return True
    return any(
        frame.f_code.co_name == "from_pretrained" and frame.f_globals.get("__name__") == _MODULE for frame in _callers()
    )


def _callers() -> Iterator[Any]:
    frame: Any = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _size_of(kind: type, config: Any) -> int:
    numbers = torch.get_rng_state()
    try:
        with torch.device("meta"):
            twin = kind(copy.deepcopy(config))
    finally:
        torch.set_rng_state(numbers)
    held = {id(each): each for each in (*twin.parameters(), *twin.buffers())}
    return sum(each.numel() * each.element_size() for each in held.values())
