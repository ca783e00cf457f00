"""Stands in for the core in tests of the front: python imports this at its start when the folder is on PYTHONPATH.

The fake emulation imports torch (the fake one beside this file, which calls DevSan's entry point as torch does) and
writes what happens to the file named in FAKE_LOG.
"""

import os
import sys
from types import ModuleType


def log(line: str) -> None:
    with open(os.environ["FAKE_LOG"], "a", encoding="utf-8") as file:
        file.write(line + "\n")


class Emulation:
    def __init__(self, options):
        self.devices = options.devices()

    def start(self):
        import torch

        assert torch.device
        if "FAKE_FAILURE" in os.environ:
            kind, _, text = os.environ["FAKE_FAILURE"].partition(":")
            raise {"ImportError": ImportError, "RuntimeError": RuntimeError}[kind](text)
        log("start " + ",".join(device.profile for device in self.devices))

    def stop(self):
        log("stop")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.stop()


def emulate(gpus=2):
    from devsan.options import from_values

    return Emulation(from_values(gpus=gpus))


def on_exception(kind, error, trace, stream=None, is_shown=False):
    if "FAKE_REPORT_FAILURE" in os.environ:
        raise RuntimeError("no such fact")
    print(f"REPORT {kind.__name__} at {trace.tb_frame.f_code.co_name if trace else None}", file=stream or sys.stderr)


emulation = ModuleType("devsan.emulation")
emulation.Emulation = Emulation
emulation.emulate = emulate
sys.modules["devsan.emulation"] = emulation
report = ModuleType("devsan.error_report")
report.on_exception = on_exception
sys.modules["devsan.error_report"] = report
