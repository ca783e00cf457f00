"""Weights that are not there: at full size what loads a model needs no more than what describes it.

That is the configuration for ``from_pretrained`` of transformers, diffusers and PEFT, and the model itself for
accelerate. A hollow checkpoint takes the place of weights that are not there, or of all, as ``policy`` says. Each
``provide`` has one library find it; of a release that is not known the library stays as it is, and so does its error
where no checkpoint can be made.
"""

from __future__ import annotations

import copy
import errno
import functools
import json
import os
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from devsan.cuda.patches import Patches
from devsan.full_size.hollow import Described, described
from devsan.full_size.policy import in_place_of_any, in_place_of_missing

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


def folder_of(source: Any, subfolder: str | None) -> str:
    """Where in a folder or repository a library looks."""
    return os.path.join(source, subfolder or "").rstrip(os.sep)


def has_weights(folder: str) -> bool:
    """Whether files with weights are in a folder, whatever library they are for."""
    return any(name.endswith(_FILES) for name in os.listdir(folder))


def provide_in_transformers(module: Any, patches: Patches) -> None:
    """Has ``from_pretrained`` find a checkpoint where there is none; the module is transformers.modeling_utils."""
    resolve = getattr(module, "_get_resolved_checkpoint_files", None)  # of transformers 4.50 and later
    load = vars(module.PreTrainedModel).get("from_pretrained")
    if resolve is None or not isinstance(load, classmethod):
        return

    def tensors(cls: Any, config: Any, source: Any) -> Iterable[Described]:
        import torch

        if not hasattr(config, "to_dict"):
            config = cls.config_class.from_pretrained(config or source)
        with torch.device("meta"):
            model = cls(copy.deepcopy(config))
        return described(model, str(getattr(config, "dtype", None) or torch.float32).removeprefix("torch."))

    @functools.wraps(resolve)
    def resolved(*args: Any, **words: Any) -> Any:
        what = getattr(loading, "what", None) or (None, None, None)
        source = what[-1]
        folder = folder_of(source, (words.get("download_kwargs") or {}).get("subfolder")) if source else ""
        if folder and (made := in_place_of_any(source, folder, "model", lambda: tensors(*what))):
            return made.files, None
        try:
            files, index = resolve(*args, **words)
            missing = next((file for file in files or () if not os.path.isfile(file)), None)
            if missing is None:
                return files, index
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), missing)
        except OSError:
            made = source and in_place_of_missing(source, lambda: tensors(*what))
            if not made:
                raise
            return made.files, None

    @functools.wraps(load.__func__)
    def loaded(cls: Any, source: Any = None, *args: Any, **words: Any) -> Any:
        with loads(cls, words.get("config"), source):
            return load.__func__(cls, source, *args, **words)

    patches.set(module, resolve.__name__, resolved)
    patches.set(module.PreTrainedModel, "from_pretrained", classmethod(loaded))


def provide_in_accelerate(module: Any, patches: Patches) -> None:
    """The same for ``load_checkpoint_in_model``, which dispatching calls; the module is accelerate.utils.modeling."""
    load = module.load_checkpoint_in_model

    def absent(model: Any, checkpoint: str) -> Collection[str] | None:
        """The names of the weights that should be there; None where weights are, or nothing that describes them."""
        index = checkpoint
        if os.path.isdir(checkpoint):
            indexes = [name for name in os.listdir(checkpoint) if name.endswith(".index.json")]
            if not indexes and os.path.isfile(os.path.join(checkpoint, "config.json")):
                return None if has_weights(checkpoint) else model.state_dict().keys()
            single = any(os.path.isfile(os.path.join(checkpoint, name))
                         for name in (module.WEIGHTS_NAME, module.SAFE_WEIGHTS_NAME))  # fmt: skip
            index = os.path.join(checkpoint, indexes[0]) if len(indexes) == 1 and not single else ""
        if not index.endswith(".json") or not os.path.isfile(index):
            return None
        places = json.loads(Path(index).read_text())
        places = places.get("weight_map", places)
        files = (os.path.join(os.path.dirname(index), name) for name in set(places.values()))
        return None if all(map(os.path.isfile, files)) else places.keys()

    @functools.wraps(load)
    def loaded(model: Any, checkpoint: Any, *args: Any, **words: Any) -> Any:
        if module.load_checkpoint_in_model is loaded:  # other modules may keep it beyond full size
            made = in_place_of_any(checkpoint, os.fspath(checkpoint), "", lambda: described(model))
            names = None if made else absent(model, os.fspath(checkpoint))
            if names is not None:
                made = in_place_of_missing(checkpoint, lambda: (each for each in described(model) if each[0] in names))
            checkpoint = made.index if made else checkpoint
        return load(model, checkpoint, *args, **words)

    patches.set(module, load.__name__, loaded)
    patches.rebind({id(load): loaded})


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
        what = getattr(loading, "what", None)
        made = what and in_place_of_any(folder, folder, "adapter_model", lambda: tensors(*what))
        try:
            if not made and os.path.isdir(folder) and not has_weights(folder):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
            if not made:
                return find(source, device=device, **words)
        except (OSError, ValueError):  # the second where a repository has none
            made = what and in_place_of_missing(folder, lambda: tensors(*what))
            if not made:
                raise
        return {name: tensor for file in made.files for name, tensor in load_file(file, device=device).items()}

    @functools.wraps(load)
    def loaded(self: Any, model_id: Any, adapter_name: str, *args: Any, **words: Any) -> Any:
        with loads(self, adapter_name):
            return load(self, model_id, adapter_name, *args, **words)

    patches.set(module, find.__name__, found)
    patches.set(module.PeftModel, load.__name__, loaded)


PROVIDERS = {"transformers.modeling_utils": provide_in_transformers, "accelerate.utils.modeling": provide_in_accelerate,
             "peft.peft_model": provide_in_peft}  # fmt: skip
"""By the module that each changes once it is imported."""
