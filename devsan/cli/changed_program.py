"""Runs a script whose text is in the overlay (NOTE [The overlay] in devsan/overlay).

python -m devsan.cli.changed_program script.py args...
"""

from __future__ import annotations

import sys

from devsan import overlay
from devsan.cli.program import Script


def main() -> None:
    """Runs the script that the arguments name, as python would."""
    overlay.install()
    program = Script(sys.argv[1], sys.argv[2:])
    program.check()
    sys.exit(program.run())


if __name__ == "__main__":
    main()
