"""torch.cuda._gpu_trace is told what CUDA would tell it, and torch's own sanitizer judges streams by it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import programs
import pytest

HEAD = """
import torch, devsan
devsan.emulate(gpus=2).start()
"""

SANITIZED = (
    HEAD
    + """
import torch.cuda._sanitizer as sanitizer
sanitizer.enable_cuda_sanitizer()
a = torch.ones(64, device="cuda")
side = torch.cuda.Stream()
"""
)

# (what the program does, whether it is ordered)
PROGRAMS = {
    "wait_stream": ("side.wait_stream(torch.cuda.current_stream())\nwith torch.cuda.stream(side): a.mul_(5)", True),
    "no wait": ("with torch.cuda.stream(side): a.mul_(5)", False),
    "event": (
        "e = torch.cuda.Event(); e.record()\nside.wait_event(e)\nwith torch.cuda.stream(side): a.mul_(5)", True),
    "event too early": (
        "e = torch.cuda.Event(); e.record(); a.add_(1)\nside.wait_event(e)\nwith torch.cuda.stream(side): a.mul_(5)",
        False),
    "event synchronized": (
        "e = torch.cuda.Event(); e.record(); e.synchronize()\nwith torch.cuda.stream(side): a.mul_(5)", True),
    "event of another stream": (
        "e = torch.cuda.Event(); e.record(torch.cuda.Stream())\nside.wait_event(e)\n"
        "with torch.cuda.stream(side): a.mul_(5)", False),
    "device synchronized": ("torch.cuda.synchronize()\nwith torch.cuda.stream(side): a.mul_(5)", True),
    "stream synchronized": (
        "torch.cuda.current_stream().synchronize()\nwith torch.cuda.stream(side): a.mul_(5)", True),
    "other stream synchronized": ("side.synchronize()\nwith torch.cuda.stream(side): a.mul_(5)", False),
    "item": ("a.sum().item()\nwith torch.cuda.stream(side): a.mul_(5)", True),
    "to the host later": ("h = torch.empty(64, pin_memory=True)\nh.copy_(a, non_blocking=True)\n"
                          "with torch.cuda.stream(side): a.mul_(5)", False),
    "both read": ("torch.cuda.synchronize(); b = a + 1\nwith torch.cuda.stream(side): c = a + 2", True),
    "record_stream": (
        "side.wait_stream(torch.cuda.current_stream())\nwith torch.cuda.stream(side): b = a * 2; "
        "a.record_stream(side)\ndel a\ntorch.cuda.current_stream().wait_stream(side)\nb.add_(1)", True),
    "used too early": (
        "side.wait_stream(torch.cuda.current_stream())\nwith torch.cuda.stream(side): b = a * 2\nb.add_(1)", False),
    "written while read": (
        "side.wait_stream(torch.cuda.current_stream())\nwith torch.cuda.stream(side): b = a * 2\na.add_(1)", False),
}  # fmt: skip


def run(program: str) -> subprocess.CompletedProcess[str]:
    return programs.run(["-c", textwrap.dedent(program)])


def run_sanitized(program: str) -> subprocess.CompletedProcess[str]:
    """Runs it where torch finds the variable as it is imported."""
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "TORCH_CUDA_SANITIZER": "1"},
    )  # fmt: skip


def test_the_sanitizer_finds_races_and_nothing_else() -> None:
    lines = [SANITIZED, "torch.cuda.synchronize()"]
    for name, (body, _) in PROGRAMS.items():
        lines += [
            "torch.cuda.synchronize(); a = torch.ones(64, device='cuda'); side = torch.cuda.Stream()",
            "try:", textwrap.indent(body, "    "), f"    print({name!r}, 'ordered', sep=': ')",
            f"except sanitizer.CUDASanitizerErrors: print({name!r}, 'race', sep=': ')",
        ]  # fmt: skip
    ran = run("\n".join(lines))
    assert ran.returncode == 0, ran.stderr
    expected = [f"{name}: {'ordered' if ordered else 'race'}" for name, (_, ordered) in PROGRAMS.items()]
    assert ran.stdout.splitlines() == expected
    assert "CSAN detected a possible data race" in ran.stderr


@pytest.mark.long
def test_the_sanitizer_is_switched_on_by_its_variable() -> None:
    program = HEAD + (
        "a = torch.ones(64, device='cuda')\nwith torch.cuda.stream(torch.cuda.Stream()): {}a.mul_(5)\nprint('done')"
    )
    racy = run_sanitized(program.format(""))
    assert racy.returncode != 0 and "CUDASanitizerErrors" in racy.stderr
    waits = "torch.cuda.current_stream().wait_stream(torch.cuda.default_stream()); "
    correct = run_sanitized(program.format(waits))
    assert (correct.returncode, correct.stdout) == (0, "done\n"), correct.stderr


@pytest.fixture(scope="module")
def told() -> list[str]:
    """What the callbacks of every registry were told, in order: a line each."""
    ran = run(
        HEAD
        + """
        from torch.cuda import _gpu_trace as trace
        from torch._utils import CallbackRegistry

        registries = {name: each for name, each in vars(trace).items() if isinstance(each, CallbackRegistry)}
        print(*sorted(registries))
        torch._C._activate_gpu_trace()
        on = False
        def listener(name):
            def told(*given):
                if on or name == "StreamCreationCallbacks":
                    print(name.removesuffix("Callbacks"), *given)
            return told
        for name, each in registries.items():
            each.add_callback(listener(name))

        stream = torch.cuda.Stream()
        stream_again = torch.cuda.Stream()
        on = True
        event = torch.cuda.Event()
        event.record(stream)
        print("is", event.cuda_event, stream.cuda_stream)
        event.record(stream_again)
        event.wait(stream)
        event.synchronize()
        stream.synchronize()
        torch.cuda.synchronize()
        print("is", stream_again.cuda_stream)
        del event
        tensor = torch.empty(8, device="cuda")
        print("is", tensor.data_ptr())
        view = tensor[4:]
        del tensor
        print("view")
        del view
        raw = torch.cuda.caching_allocator_alloc(512)
        print("is", raw)
        torch.cuda.caching_allocator_delete(raw)
        torch.empty(0, device="cuda")
        torch.empty(3)
        torch.cuda.Event()
        on = False
        """.replace("\n        ", "\n")
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def test_every_registry_is_told(told: list[str]) -> None:
    registries = {name.removesuffix("Callbacks") for name in told[0].split()}
    assert len(registries) >= 10
    assert registries == {line.split()[0] for line in told[1:]} - {"is", "view"}


def test_streams_are_told_once_each(told: list[str]) -> None:
    streams = [line for line in told if line.startswith("StreamCreation")]
    assert len(streams) == len(set(streams)) == 128  # 32 of each of four priorities, as c10/cuda/CUDAStream.cpp


def test_what_is_told_comes_in_order_with_the_numbers_that_python_sees(told: list[str]) -> None:
    rest = [line for line in told[1:] if not line.startswith("StreamCreation")]
    event, stream = rest[2].split()[1:]
    other = next(line for line in rest[3:] if line.startswith("is")).split()[1]
    data, raw = (line.split()[1] for line in rest if line.startswith("is") and line not in (rest[2], f"is {other}"))
    assert rest == [
        f"EventCreation {event}", f"EventRecord {event} {stream}", f"is {event} {stream}",
        f"EventRecord {event} {other}", f"EventWait {event} {stream}", f"EventSynchronization {event}",
        f"StreamSynchronization {stream}", "DeviceSynchronization", f"is {other}", f"EventDeletion {event}",
        f"MemoryAllocation {data}", f"is {data}", "view", f"MemoryDeallocation {data}",
        f"MemoryAllocation {raw}", f"is {raw}", f"MemoryDeallocation {raw}",
    ]  # fmt: skip
    assert f"StreamCreation {stream}" in told and f"StreamCreation {other}" in told
