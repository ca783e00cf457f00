#!/usr/bin/env bash
# Runs the tests of accelerate, PEFT, Lightning and PyTorch on emulated GPUs: tools/suites.sh --help. What only their
# tests import is installed into a folder of its own, so that the environment stays as it is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/environment.sh
packages=build/suites/packages
if [ ! "$packages" -nt tools/suites/requirements.txt ]; then
  pip install --quiet --upgrade --no-deps --target "$packages" -r tools/suites/requirements.txt
  touch "$packages"
fi
exec "$VENV/bin/python" tools/suites "$@"
