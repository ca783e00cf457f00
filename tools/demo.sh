#!/usr/bin/env bash
# Runs the demonstration: a fine-tuning script that dies on four GPUs, rehearsed on a machine without any; the search for
# a fix of it; and the same script fixed. Succeeds if the first ended with torch's sentence on mixed devices, a fix was
# verified, and the last trained through.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/environment.sh
export HF_HUB_OFFLINE=1

example=examples/glm4_finetune.py
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT

echo "\$ devsan run --gpus 4 $example"
"$VENV/bin/devsan" run --gpus 4 "$example" 2> >(tee "$errors" >&2)
status=$?
wait
if [ $status = 0 ] || ! grep -q "^RuntimeError: Expected all tensors to be on the same device" "$errors"; then
  say "expected $example to end with torch's sentence on mixed devices, got exit code $status"
  exit 1
fi

echo
echo "\$ devsan fix --gpus 4 $example"
if ! "$VENV/bin/devsan" fix --gpus 4 "$example"; then
  say "expected a verified fix of $example, got none"
  exit 1
fi

echo
echo "The labels are where the batch was put, the logits where the last layer is. With the labels moved to the logits:"
echo "\$ devsan run --gpus 4 $example --fix"
"$VENV/bin/devsan" run --gpus 4 "$example" --fix
