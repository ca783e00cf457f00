#!/usr/bin/env bash
# Runs the Python tests side by side; pytest's summary is the last thing printed. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/environment.sh

# The tests take from a moment to minutes: a process that is through takes what another one still has to do.
exec "$VENV/bin/python" -m pytest -n 2 --dist worksteal "$@"
