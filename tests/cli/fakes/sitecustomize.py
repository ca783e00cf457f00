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
    def __init__(self, devices, *settings):
        self.devices = tuple(devices)

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


def on_exception(kind, error, trace, stream=None):
    if "FAKE_REPORT_FAILURE" in os.environ:
        raise RuntimeError("no such fact")
    print(f"REPORT {kind.__name__} at {trace.tb_frame.f_code.co_name if trace else None}", file=stream or sys.stderr)


emulation = ModuleType("devsan.emulation")
emulation.Emulation = Emulation
sys.modules["devsan.emulation"] = emulation
report = ModuleType("devsan.report")
report.on_exception = on_exception
report.__path__ = [os.path.join(os.path.dirname(__file__), *[os.pardir] * 3, "devsan", "report")]  # the rest of it
sys.modules["devsan.report"] = report
