#!/usr/bin/env bash
# Runs the demonstration: a fine-tuning script that dies on four GPUs, rehearsed on a machine without any.
# The script is expected to fail; this one succeeds if it failed for the reason that it is here to show.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/environment.sh

example=${1:-examples/glm4_finetune.py}
echo "\$ devsan run --gpus 4 $example"
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
"$VENV/bin/devsan" run --gpus 4 "$example" 2> >(tee "$errors" >&2)
status=$?
wait
if [ $status = 0 ] || ! grep -q "Expected all tensors to be on the same device" "$errors"; then
  say "expected $example to end with torch's sentence on mixed devices, got exit code $status"
  exit 1
fi
