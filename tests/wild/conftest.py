"""Runs a program on emulated GPUs in this process and explains how it fails."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


@pytest.fixture
def explained(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Path, int], Any]:
    """Returns the Explanation of how a program's text fails on so many GPUs; None if it does not fail."""
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def run(text: str, file: Path, gpus: int) -> Any:
        import torch

        import devsan
        from devsan.probe.chain import failure_of
        from devsan.probe.explain import explain

        with devsan.emulate(gpus=gpus):
            try:
                exec(compile(text, str(file), "exec"), {"__name__": "__main__", "__file__": str(file)})
            except Exception as error:
                failure = failure_of(error, error.__traceback__)
                assert failure is not None, f"expected a refusal of a device, got {type(error).__name__}: {error}"
                return explain(failure)
            finally:
                torch.set_default_device(None)
                sys.modules.pop("tiny", None)
        return None

    return run
