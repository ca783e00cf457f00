"""CUDA_VISIBLE_DEVICES, as CUDA reads it."""

from __future__ import annotations

from collections.abc import Callable
from subprocess import CompletedProcess

import pytest
import torch

from devsan.cuda.visible_devices import visible_devices

Run = Callable[..., CompletedProcess[str]]
UUIDS = ["GPU-aa11", "GPU-aa22", "GPU-bb33", "GPU-cc44"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, [0, 1, 2, 3]),
        ("", []),
        ("-1", []),
        ("0", [0]),
        ("3,1", [3, 1]),
        (" 2 , 0 ", [2, 0]),
        ("0,1,9,2", [0, 1]),
        ("0,-1,2", [0]),
        ("9", []),
        ("1,1", []),
        ("0,1,0", []),
        ("1gpu2,2ampere", [1, 2]),
        ("0,x,1", [0]),
        ("none", []),
        ("NoDevFiles", []),
        ("GPU-bb33", [2]),
        ("GPU-bb", [2]),
        ("GPU-cc44,GPU-aa1", [3, 0]),
        ("GPU-aa", []),
        ("GPU-bb33,GPU-aa,GPU-cc44", [2]),
        ("GPU-bb,GPU-bb33", []),
        ("GPU-zz,GPU-bb33", []),
        ("GPU-bb33,1", [2]),
        ("MIG-bb33", []),
    ],
)
def test_reading(text: str | None, expected: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    assert visible_devices(text, UUIDS) == expected
    if text is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", text)
    # torch has a reading of its own, for counting by NVML; a MIG device it leaves to CUDA.
    parsed = torch.cuda._parse_visible_devices()
    if parsed and isinstance(parsed[0], str):
        parsed = torch.cuda._transform_uuid_to_ordinals(parsed, UUIDS)
    until_invalid = []
    for ordinal in parsed:
        if ordinal >= len(UUIDS):
            break
        until_invalid.append(ordinal)
    assert until_invalid == expected


SHOW = """
    from devsan import emulate
    emulate(gpus="a100-80g,l4-24g,t4-16g,h100-80g").start()
    import torch
    print(torch.cuda.device_count(), [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())])
    print(torch.cuda.is_available(), torch.accelerator.is_available(), torch.accelerator.device_count())
"""


def test_a_subset_is_renumbered(run: Run) -> None:
    lines = run(SHOW, CUDA_VISIBLE_DEVICES="3,1", CUDA_DEVICE_ORDER="PCI_BUS_ID").stdout.splitlines()
    assert lines == ["2 ['NVIDIA H100 80GB HBM3', 'NVIDIA L4']", "True True 2"]


@pytest.mark.parametrize("nothing", ["", "-1"])
def test_none_is_visible(run: Run, nothing: str) -> None:
    program = """
    for use in (lambda: torch.ones(1).cuda(), lambda: torch.nn.Linear(1, 1).to("cuda"), torch.cuda.current_device):
        try:
            use()
        except RuntimeError as error:
            print(error)
    """
    lines = run(SHOW + program, CUDA_VISIBLE_DEVICES=nothing).stdout.splitlines()
    assert lines[:2] == ["0 []", "False False 0"]
    assert lines[2:] == ["No CUDA GPUs are available"] * 3


def test_the_variable_counts_until_the_first_use(run: Run) -> None:
    lines = run("""
        import os
        from devsan import emulate
        emulate(gpus=4).start()
        import torch
        print(torch.cuda.device_count())
        os.environ["CUDA_VISIBLE_DEVICES"] = "1,2"
        print(torch.cuda.device_count())
        first = torch.ones(1, device="cuda:1")
        os.environ["CUDA_VISIBLE_DEVICES"] = "0"
        # Not device_count: before torch 2.12 it asks NVML once more, here as on a real machine.
        print(torch._C._cuda_getDeviceCount(), torch.cuda.get_device_properties(0).pci_bus_id)
        print((first + 1).device)
    """).stdout.splitlines()
    assert lines == ["4", "2", "2 18", "cuda:1"]


def test_an_ordinal_that_is_hidden_does_not_exist(run: Run) -> None:
    result = run(
        """
        from devsan import emulate
        emulate(gpus=4).start()
        import torch
        torch.ones(1, device="cuda:2")
        """,
        check=False,
        CUDA_VISIBLE_DEVICES="0,1",
    )
    assert "CUDA error: invalid device ordinal" in result.stderr
