"""While Python ends, a thread of torch may still compute: DevSan does not wait for Python's lock then."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

PROGRAM = """
import sys
import time

import devsan

devsan.emulate(gpus=2, policy="warn").start()

import torch

@torch.jit.script
def work(a: torch.Tensor, b: torch.Tensor, begin: torch.Tensor, done: torch.Tensor):
    while int(begin) == 0:
        pass
    result = a + b
    done.fill_(1)
    return result

@torch.jit.script
def start(a: torch.Tensor, b: torch.Tensor, begin: torch.Tensor, done: torch.Tensor):
    return torch.jit._fork(work, a, b, begin, done)

class Last:
    '''Has a thread of torch's own compute while the modules are torn down.'''

    def __init__(self):
        self.begin, self.done = bytearray(1), bytearray(1)
        flags = [torch.frombuffer(flag, dtype=torch.uint8) for flag in (self.begin, self.done)]
        self.future = start(torch.ones(2, device="cuda:0"), torch.ones(2, device="cuda:1"), *flags)
        self.sleep, self.is_finalizing, self.output = time.sleep, sys.is_finalizing, sys.__stdout__

    def __del__(self):
        self.begin[0] = self.is_finalizing()
        for _ in range(1500):
            if self.done[0]:
                self.output.write("computed")
                self.output.flush()
                break
            self.sleep(0.01)

last = Last()
"""


def test_a_mismatch_is_computed_on_without_being_told(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "computed"), done.stderr
