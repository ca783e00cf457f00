"""``python -m devsan``: the command line, where the ``devsan`` script is not on PATH."""

import sys

from devsan.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
