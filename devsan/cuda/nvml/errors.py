"""The errors of ``pynvml``: a class for each code of nvml.h."""

from __future__ import annotations

from typing import NoReturn

# Of nvmlReturn_t those that emulated GPUs return, or that programs catch by name.
_CODES = {
    "Uninitialized": (1, "Uninitialized"),
    "InvalidArgument": (2, "Invalid Argument"),
    "NotSupported": (3, "Not Supported"),
    "NoPermission": (4, "Insufficient Permissions"),
    "AlreadyInitialized": (5, "Already Initialized"),
    "NotFound": (6, "Not Found"),
    "InsufficientSize": (7, "Insufficient Size"),
    "InsufficientPower": (8, "Insufficient External Power"),
    "DriverNotLoaded": (9, "Driver Not Loaded"),
    "Timeout": (10, "Timeout"),
    "LibraryNotFound": (12, "NVML Shared Library Not Found"),
    "FunctionNotFound": (13, "Function Not Found"),
    "GpuIsLost": (15, "GPU is lost"),
    "ResetRequired": (16, "GPU requires restart"),
    "OperatingSystem": (17, "The operating system has blocked the request."),
    "Memory": (20, "Insufficient Memory"),
    "Unknown": (999, "Unknown Error"),
}


class NVMLError(Exception):
    """An error of NVML. ``NVMLError(code)`` is of the code's own class."""

    value: int = 0

    def __new__(cls, value: int | None = None, sentence: str | None = None) -> NVMLError:
        """Chooses the class."""
        return super().__new__(_BY_CODE.get(value, cls) if cls is NVMLError and value is not None else cls)

    def __init__(self, value: int | None = None, sentence: str | None = None) -> None:
        self.value = type(self).value if value is None else value
        super().__init__(self.value)
        self._sentence = sentence or error_string(self.value)

    def __str__(self) -> str:
        return self._sentence

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NVMLError) and self.value == other.value

    __hash__ = Exception.__hash__


CLASSES: dict[str, type[NVMLError]] = {
    f"NVMLError_{name}": type(f"NVMLError_{name}", (NVMLError,), {"value": code, "__module__": "pynvml"})
    for name, (code, _) in _CODES.items()
}
_BY_CODE = {error.value: error for error in CLASSES.values()}
_SENTENCES = dict(_CODES.values())


def error_string(code: int) -> str:
    """NVML's sentence for a code."""
    return _SENTENCES.get(code, f"NVML Error with code {code}")


def codes() -> dict[str, int]:
    """The codes by their names in nvml.h, ``NVML_ERROR_NOT_SUPPORTED``."""
    words = {name: "".join(f"_{c}" if c.isupper() else c.upper() for c in name) for name in _CODES}
    return {"NVML_SUCCESS": 0} | {f"NVML_ERROR{words[name]}": code for name, (code, _) in _CODES.items()}


def fail(name: str, sentence: str | None = None) -> NoReturn:
    """Raises ``NVMLError_<name>``."""
    raise CLASSES[f"NVMLError_{name}"](sentence=sentence)
