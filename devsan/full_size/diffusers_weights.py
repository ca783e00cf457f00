"""Weights of diffusers that are not there: those of a model, and so of each part of a pipeline.

A model of several files is found by its index, so the index of a hollow checkpoint is what diffusers is given.
"""

from __future__ import annotations

import errno
import functools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from devsan.cuda.patches import Patches
from devsan.full_size.hollow import Described, described
from devsan.full_size.policy import Wanted, under_names
from devsan.full_size.weights import files_in, folder_of, has_weights, loading, loads

MODULE = "diffusers.models.modeling_utils"


def provide(module: Any, patches: Patches) -> None:
    """Has ``from_pretrained`` of diffusers find a checkpoint where there is none.

    Args:
        module: diffusers.models.modeling_utils.
        patches: what puts it back.
    """
    names = ("_fetch_index_file", "_get_checkpoint_shard_files", "_get_model_file")  # since it has sharded models
    fetch, resolve, find = (getattr(module, name, None) for name in names)
    load = vars(module.ModelMixin).get("from_pretrained")
    if not (fetch and resolve and find) or not isinstance(load, classmethod):
        return
    ours = set[Path]()

    def expect_weights(index: Any, source: Any, variant: str | None, words: dict[str, Any]) -> None:
        """Raises OSError where neither an index with its files nor a single file is there."""
        if index is not None and os.path.isfile(index):
            resolve(source, index, **{name: words[name] for name in words.keys() - {"force_download", "commit_hash"}})
        elif not os.path.isdir(source):
            for name in (module.SAFETENSORS_WEIGHTS_NAME, module.WEIGHTS_NAME):
                with_variant = module._add_variant(name, variant)
                try:
                    find(source, weights_name=with_variant, **words)
                    return
                except OSError:
                    if name == module.WEIGHTS_NAME:
                        raise
        elif not has_weights(folder_of(source, words["subfolder"])):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), source)

    def tensors(cls: Any, source: Any, words: dict[str, Any]) -> Iterable[Described]:
        import torch

        config = cls.load_config(source, **{name: words[name] for name in words.keys() - {"commit_hash"}})
        with torch.device("meta"):
            return described(cls.from_config(config))

    @functools.wraps(fetch)
    def fetched(**words: Any) -> Any:
        asked = dict(words)
        for name in ("is_local", "use_safetensors"):
            words.pop(name, None)
        source, variant = words.pop("pretrained_model_name_or_path"), words.pop("variant", None)
        cls, folder = loading.what[0], folder_of(source, words["subfolder"], words)
        files = files_in(folder, "diffusion_pytorch_model", variant)
        wanted = Wanted(
            folder_of(source, words["subfolder"]),
            files,
            lambda listed: under_names(listed, tensors(cls, source, words)),
        )
        made = wanted.in_place_of_any()
        if not made:
            index = fetch(**asked)
            try:
                expect_weights(index, source, variant, words)
            except OSError:
                made = wanted.in_place_of_missing()
            if not made:
                return index
        ours.add(Path(made.index))
        return Path(made.index)

    @functools.wraps(resolve)
    def resolved(source: Any, index: Any, *args: Any, **words: Any) -> Any:
        return resolve(str(index.parent), index) if index in ours else resolve(source, index, *args, **words)

    @functools.wraps(load.__func__)
    def loaded(cls: Any, *args: Any, **words: Any) -> Any:
        with loads(cls):
            return load.__func__(cls, *args, **words)

    patches.set(module, fetch.__name__, fetched)
    patches.set(module, resolve.__name__, resolved)
    patches.set(module.ModelMixin, "from_pretrained", classmethod(loaded))
