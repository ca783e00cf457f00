#!/usr/bin/env bash
# Checks formatting, types and layers; with --fix it rewrites what can be rewritten. Every check runs, then it fails.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/environment.sh

cpp_files() {
  find core include tests/unit tests/cpp \( -name '*.h' -o -name '*.cpp' \) -print0
}

if [ "${1:-}" = --fix ]; then
  left=0 # what ruff cannot mend is told, and keeps nothing from being formatted
  ruff check --quiet --fix . || left=1
  ruff format --quiet . || left=1
  cpp_files | xargs -0 --no-run-if-empty clang-format -i || left=1
  exit $left
fi

failed=""
check() {
  local name=$1
  shift
  "$@" || failed="$failed $name"
}
check_cpp_format() {
  cpp_files | xargs -0 --no-run-if-empty clang-format --dry-run -Werror
}

check_floors() { # says something only where a contract is broken
  local said
  said=$(lint-imports --no-cache --no-logo) || { printf '%s\n' "$said" && return 1; }
}

check ruff ruff check --quiet .
check format ruff format --check --quiet .
check mypy mypy --no-error-summary
check clang-format check_cpp_format
check layers python tools/check_layers.py
check imports python tools/check_imports.py
check floors check_floors
if [ -n "$failed" ]; then
  say "these checks failed:$failed (make format fixes formatting)"
  exit 1
fi
say "formatting, types and layers are in order"
