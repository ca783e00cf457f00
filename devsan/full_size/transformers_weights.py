"""Weights of transformers that are not there.

A checkpoint may have the names of a base model or of an older release, or in parts what a model has as one;
transformers has its own word on that.
"""

from __future__ import annotations

import copy
import errno
import functools
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from devsan.cuda.patches import Patches
from devsan.full_size.hollow import Described, described
from devsan.full_size.policy import Listed, Wanted, under_names
from devsan.full_size.weights import files_in, folder_of, loading, loads

MODULE = "transformers.modeling_utils"


def provide(module: Any, patches: Patches) -> None:
    """Has ``from_pretrained`` of transformers find a checkpoint where there is none.

    Args:
        module: transformers.modeling_utils.
        patches: what puts it back.
    """
    resolve = getattr(module, "_get_resolved_checkpoint_files", None)  # of transformers 4.50 and later
    load = vars(module.PreTrainedModel).get("from_pretrained")
    if resolve is None or not isinstance(load, classmethod):
        return

    @functools.wraps(resolve)
    def resolved(*args: Any, **words: Any) -> Any:
        what = getattr(loading, "what", None) or (None, None, None)
        source = what[-1]
        if not source:
            return resolve(*args, **words)
        where = words.get("download_kwargs") or {}
        folder = folder_of(source, where.get("subfolder"), where)
        files = _files(folder, words)
        wanted = Wanted(source, files, lambda listed: _tensors(listed, *what))
        made = wanted.in_place_of_any()
        if made:
            return made.files, None
        try:
            files, index = resolve(*args, **words)
            missing = next((file for file in files or () if not os.path.isfile(file)), None)
            if missing is None:
                return files, index
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), missing)
        except OSError:
            made = wanted.in_place_of_missing()
            if not made:
                raise
            return made.files, None

    @functools.wraps(load.__func__)
    def loaded(cls: Any, source: Any = None, *args: Any, **words: Any) -> Any:
        with loads(cls, words.get("config"), source):
            return load.__func__(cls, source, *args, **words)

    patches.set(module, resolve.__name__, resolved)
    patches.set(module.PreTrainedModel, "from_pretrained", classmethod(loaded))


def _files(folder: str, words: Mapping[str, Any]) -> list[str]:
    """The files that may describe a checkpoint, of those that a call of transformers looks for."""
    if words.get("transformers_explicit_filename"):
        return [os.path.join(folder, words["transformers_explicit_filename"])]
    files = files_in(folder, "model", words.get("variant"), "pytorch_model")
    safe = words.get("use_safetensors")
    return [file for file in files if safe is None or safe == (".safetensors" in os.path.basename(file))]


def _tensors(listed: Listed, cls: Any, config: Any, source: Any) -> Iterable[Described]:
    """What a model has, by the names of its checkpoint where that lists any.

    A name that no model has is unexpected in the job, too; its shape is not known, and nobody looks at it.
    """
    import torch

    if not hasattr(config, "to_dict"):
        config = cls.config_class.from_pretrained(config or source)
    with torch.device("meta"):
        model = cls(copy.deepcopy(config))
    dtype = str(getattr(config, "dtype", None) or torch.float32).removeprefix("torch.")
    own = {each[0]: each for each in described(model, dtype)}
    if getattr(config, "quantization_config", None) is not None:  # its names are those of its method
        return own.values()
    try:
        return under_names(listed, own.values(), _finder(model, dtype))
    except Exception:  # transformers 4, or a release that renames otherwise
        return under_names(listed, own.values())


def _finder(model: Any, dtype: str) -> Callable[[str], Described | None]:
    """What a model has under a name of its checkpoint, as transformers 5 renames, splits and joins what it loads."""
    from transformers.conversion_mapping import get_model_conversion_mapping
    from transformers.core_model_loading import WeightConverter, rename_source_key, revert_weight_conversion

    states = model.state_dict()
    parts = revert_weight_conversion(model, states)
    kinds: tuple[list[Any], list[Any]] = [], []
    for each in get_model_conversion_mapping(model):
        kinds[isinstance(each, WeightConverter)].append(each)

    def known(name: str) -> Described | None:
        renamed, of_parts = rename_source_key(name, *kinds, model.base_model_prefix, states)
        if of_parts is None and renamed not in states:
            return name, dtype, (1,)
        tensor = states[renamed] if of_parts is None else parts.get(name)
        return None if tensor is None else (name, dtype, tuple(tensor.shape))

    return known
