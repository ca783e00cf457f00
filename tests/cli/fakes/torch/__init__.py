"""A torch that is imported in no time; it ends as torch does, with the entry points of torch.backends."""

import os
from typing import NamedTuple


class device(NamedTuple):
    type: str
    index: int


if os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD", "1") == "1":
    from devsan.autoload import load

    load()
