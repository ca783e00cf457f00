#!/usr/bin/env bash
# Trains with real libraries in several ranks on emulated GPUs, compares with the CPU, and writes what was compared into
# docs/reference/frameworks.md. With the part that `make test` runs, and the stories that are launched in ranks.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/environment.sh
exec "$VENV/bin/python" -m pytest -n 2 -m "frameworks or not frameworks" --bless tests/frameworks \
  tests/stories/test_001_qwen_ranks.py tests/stories/test_004_lightning.py tests/stories/test_fix.py "$@"
