"""More GPUs of the kind that there are."""

from __future__ import annotations

from dataclasses import replace

from devsan.options import Options


def with_gpus(options: Options, count: int) -> Options:
    """Returns ``options`` with ``count`` GPUs, of which those that come are of the last kind."""
    more = count - len(options.gpus)

    def longer(sizes: tuple[int, ...]) -> tuple[int, ...]:
        return sizes + sizes[-1:] * more if len(sizes) > 1 else sizes

    return replace(options, gpus=options.gpus + options.gpus[-1:] * more, memory=longer(options.memory),
                   used_memory=longer(options.used_memory))  # fmt: skip
