#!/usr/bin/env bash
# Compares every operator of torch's own lists on an emulated GPU with the CPU and prints counts. Arguments are those of
# the runner: tools/ops.sh 'op_db/cat/*' --jobs 1; --help lists them.
#   tools/ops.sh dtypes [operator]...    the dtypes that operators take, beside torch's lists for CUDA
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/environment.sh
runner=conformance
if [ "${1:-}" = dtypes ]; then
  runner=dtypes
  shift
fi
PYTHONPATH=tests/ops exec "$VENV/bin/python" -W ignore -m "$runner" "$@"
