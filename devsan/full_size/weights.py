"""Weights that are not there: at full size what loads a model needs no more than what describes it.

That is the configuration for ``from_pretrained`` of transformers (transformers_weights.py), diffusers
(diffusers_weights.py) and PEFT, and the model itself for accelerate. A hollow checkpoint takes the place of weights
that are not there, or of all, as ``policy`` says. Each ``provide`` has one library find it; of a release that is not
known the library stays as it is, and so does its error where no checkpoint can be made.
"""

from __future__ import annotations

import errno
import functools
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Any

from devsan.cuda.patches import Patches
from devsan.cuda.rebinding import rebind
from devsan.full_size.hollow import Described, described
from devsan.full_size.policy import Wanted, is_whole, under_names

_FILES = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".flashpack")
"""How the names of files with weights end."""

loading = threading.local()  # .what: what the innermost call that loads a model knows of it


@contextmanager
def loads(*what: Any) -> Iterator[None]:
    """A call that loads a model, and ``what`` it knows of it."""
    before, loading.what = getattr(loading, "what", None), what
    try:
        yield
    finally:
        loading.what = before


def folder_of(source: Any, subfolder: str | None, words: Mapping[str, Any] = MappingProxyType({})) -> str:
    """Where in a folder or repository a library looks.

    Args:
        source: what the program names.
        subfolder: of it.
        words: cache_dir and revision of a repository, whose configuration has been fetched by then.
    """
    hub: Any = sys.modules.get("huggingface_hub")
    if hub is not None and not os.path.isdir(source):
        configuration = os.path.join(subfolder or "", "config.json")
        with suppress(Exception):  # no name of a repository
            asked = {name: words.get(name) for name in ("cache_dir", "revision")}
            found = hub.try_to_load_from_cache(os.fspath(source), configuration, **asked)
            if isinstance(found, str):
                return os.path.dirname(found)
    return os.path.join(source, subfolder or "").rstrip(os.sep)


def files_in(folder: str, stem: str, variant: str | None = None, older: str = "") -> list[str]:
    """Returns the files that say what a checkpoint has, in the order in which libraries look for them.

    Args:
        folder: where they look.
        stem: of the name of a file of safetensors.
        variant: which of several checkpoints, such as "fp16".
        older: the stem before safetensors; its files say nothing without their index.
    """
    named = f".{variant}" if variant else ""
    names = [f"{stem}{named}.safetensors", f"{stem}.safetensors.index{named}.json",
             f"{stem}{named}.safetensors.index.json", f"{older or stem}.bin.index{named}.json"]  # fmt: skip
    return [os.path.join(folder, name) for name in names]


def has_weights(folder: str) -> bool:
    """Whether files with weights are in a folder, whatever library they are for."""
    return any(name.endswith(_FILES) for name in os.listdir(folder))


def provide_in_accelerate(module: Any, patches: Patches) -> None:
    """Has ``load_checkpoint_in_model``, which dispatching calls, find a checkpoint where there is none.

    Args:
        module: accelerate.utils.modeling.
        patches: what puts it back.
    """
    load = module.load_checkpoint_in_model
    loaded = _loading(module, load)
    patches.set(module, load.__name__, loaded)
    rebind(patches, {id(load): loaded})


@functools.cache  # one for all emulations: a module that is imported during one keeps it
def _loading(module: Any, load: Any) -> Any:
    """What takes the place of ``load_checkpoint_in_model``, and does what that does while it is not in its place."""

    def files_of(checkpoint: str) -> list[str]:
        if not os.path.isdir(checkpoint):
            return [checkpoint]
        names = (module.WEIGHTS_NAME, module.SAFE_WEIGHTS_NAME)
        single = [file for name in names if os.path.isfile(file := os.path.join(checkpoint, name))]
        indexes = [name for name in os.listdir(checkpoint) if name.endswith(".index.json")]
        return single[:1] or [os.path.join(checkpoint, name) for name in indexes if len(indexes) == 1]

    def unexpected(name: str) -> Described:
        return name, "float32", (1,)

    def are_missing(checkpoint: str, files: Sequence[str]) -> bool:
        """Whether weights that something describes are not there."""
        if not files:
            return os.path.isfile(os.path.join(checkpoint, "config.json")) and not has_weights(checkpoint)
        return os.path.isfile(files[0]) and not is_whole(files[0])

    @functools.wraps(load)
    def loaded(model: Any, checkpoint: Any, *args: Any, **words: Any) -> Any:
        if module.load_checkpoint_in_model is loaded:
            files = files_of(os.fspath(checkpoint))
            wanted = Wanted(checkpoint, files, lambda listed: under_names(listed, described(model), unexpected))
            made = wanted.in_place_of_any()
            if not made and are_missing(checkpoint, files):
                made = wanted.in_place_of_missing()
            checkpoint = made.index if made else checkpoint
        return load(model, checkpoint, *args, **words)

    return loaded


def provide_in_peft(module: Any, patches: Patches) -> None:
    """The same for an adapter, which the model has by then with its shapes; the module is peft.peft_model."""
    find, load = module.load_peft_weights, module.PeftModel.load_adapter

    def tensors(model: Any, adapter: str) -> Iterable[Described]:
        states = module.get_peft_model_state_dict(model, adapter_name=adapter, save_embedding_layers=False)
        for name, tensor in states.items():
            yield name, str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape)

    @functools.wraps(find)
    def found(source: Any, device: Any = None, **words: Any) -> Any:
        from safetensors.torch import load_file

        folder = folder_of(source, words.get("subfolder"))
        what: Any = getattr(loading, "what", None)
        wanted = Wanted(folder, files_in(folder, "adapter_model"), lambda listed: under_names(listed, tensors(*what)))
        made = what and wanted.in_place_of_any()
        try:
            if not made and os.path.isdir(folder) and not has_weights(folder):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
            if not made:
                return find(source, device=device, **words)
        except (OSError, ValueError):  # the second where a repository has none
            made = what and wanted.in_place_of_missing()
            if not made:
                raise
        return {name: tensor for file in made.files for name, tensor in load_file(file, device=device).items()}

    @functools.wraps(load)
    def loaded(self: Any, model_id: Any, adapter_name: str, *args: Any, **words: Any) -> Any:
        with loads(self, adapter_name):
            return load(self, model_id, adapter_name, *args, **words)

    patches.set(module, find.__name__, found)
    patches.set(module.PeftModel, load.__name__, loaded)


PROVIDERS = {"accelerate.utils.modeling": provide_in_accelerate, "peft.peft_model": provide_in_peft}
"""By the module that each changes once it is imported."""
