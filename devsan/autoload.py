"""Entry point ``torch.backends``: torch calls ``load`` at the end of ``import torch`` (torch/__init__.py).

It is called in every program that imports torch where DevSan is installed, so it looks at one variable and returns.
``TORCH_DEVICE_BACKEND_AUTOLOAD=0`` keeps torch from calling it at all.
"""

import os


def load() -> None:
    """Starts emulation if ``DEVSAN_OPTIONS`` is set. Never raises: on failure it says so and steps aside."""
    text = os.environ.get("DEVSAN_OPTIONS", "")
    if not text.strip():
        return
    try:
        # Only here: a program without DEVSAN_OPTIONS pays for nothing but the lines above.
        from devsan import session

        session.begin_by_variable(text)
    except Exception as error:
        _step_aside(error)


def _step_aside(error: Exception) -> None:
    try:
        from devsan.errors import one_line, tell

        said = one_line(error)
        joined = f"{said} The" if said.endswith("?") else f"{said}; the"
        tell(f"{joined} program continues without emulation (DEVSAN_OPTIONS)")
    except Exception:  # not even that: import torch comes first
        return
