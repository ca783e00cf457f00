#!/usr/bin/env bash
# Builds DevSan against each supported torch, runs a selection of the tests, and renews its rows of docs/reference/matrix.md.
#   tools/matrix.sh [version]...     a version with "+cpu" is torch's CPU build, one without is the registry's default
# DEVSAN_MATRIX_DIR  where environments and builds go (build/matrix); a CUDA build of torch takes several GB
# DEVSAN_VENVS       a folder with environments to use as they are, named after the versions
# DEVSAN_MATRIX_TESTS  what pytest runs (tests/python tests/cli)
# CMAKE_BUILD_PARALLEL_LEVEL  how many compilers at once; each takes up to 1.2 GB
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

versions=("$@")
[ $# -gt 0 ] || versions=(2.11.0 2.12.1 2.13.0 2.13.0+cpu 2.14.1 2.15.0)
: "${DEVSAN_MATRIX_DIR:=build/matrix}"
read -r -a tests <<< "${DEVSAN_MATRIX_TESTS:-tests/python tests/cli}"
page=docs/reference/matrix.md
mkdir -p "$DEVSAN_MATRIX_DIR"

say() { echo "devsan: $*" >&2; }

# Prints one row of the table: torch, build, Python, tests, result.
row() { printf '| %s | %s | %s | %s | %s |\n' "$@"; }

# check <version>: prepares, builds and tests; leaves its row in <version>.row
check() {
  local version=$1 log="$DEVSAN_MATRIX_DIR/$1.log" row_file="$DEVSAN_MATRIX_DIR/$1.row"
  export VENV="$DEVSAN_MATRIX_DIR/$version"
  [ -x "${DEVSAN_VENVS:-}/$version/bin/python" ] && VENV="$DEVSAN_VENVS/$version"
  export DEVSAN_BUILD_DIR="$DEVSAN_MATRIX_DIR/build-$version"
  # Three equal signs ask for exactly this text: a local version such as 2.13.0+cpu does not stand in for 2.13.0.
  local spec="torch===$version"
  [ "$("$VENV/bin/python" -c 'from importlib import metadata; print(metadata.version("torch"))' 2> /dev/null)" = "$version" ] && spec=""

  say "torch $version: preparing $VENV"
  if ! TORCH_SPEC=$spec tools/setup.sh test > "$log" 2>&1; then
    row "${version%+cpu}" "-" "-" "-" "not installed" > "$row_file"
    return
  fi
  local build python
  build=$("$VENV/bin/python" -c 'import torch; print("CUDA " + torch.version.cuda if torch.version.cuda else "CPU")' 2>> "$log")
  python=$("$VENV/bin/python" -c 'import platform; print(platform.python_version())')
  say "torch $version: building"
  if ! tools/build.sh >> "$log" 2>&1; then
    row "${version%+cpu}" "$build" "$python" "-" "not built" > "$row_file"
    return
  fi
  say "torch $version: testing"
  # One thread an operator: the workers, and the ranks that tests launch, share the processors. Launchers are found by name.
  OMP_NUM_THREADS=1 PATH="$VENV/bin:$PATH" "$VENV/bin/python" -m pytest -n 2 "${tests[@]}" >> "$log" 2>&1 < /dev/null
  local summary
  summary=$(grep -E '^(=+ )?.*[0-9]+ (passed|failed|error)' "$log" | tail -n 1 | sed -e 's/^=* *//' -e 's/ in [0-9.]*s.*//' -e 's/, [0-9]* warnings\?//')
  row "${version%+cpu}" "$build" "$python" "${tests[*]}" "${summary:-no summary, see the log}" > "$row_file"
}

for version in "${versions[@]}"; do
  (check "$version")
  cat "$DEVSAN_MATRIX_DIR/$version.row"
done

# The page keeps its text, and the rows of the builds that were not checked now.
{
  sed '/^| ---/q' "$page"
  {
    for version in "${versions[@]}"; do cat "$DEVSAN_MATRIX_DIR/$version.row"; done
    grep -E '^\| [0-9]' "$page"
  } | awk -F '|' '!seen[$2 $3]++' | sort --version-sort
  sed '1,/^| ---/d' "$page" | grep -vE '^\| [0-9]'
} > "$DEVSAN_MATRIX_DIR/matrix.md"
cp "$DEVSAN_MATRIX_DIR/matrix.md" "$page"
say "renewed $page; the logs are in $DEVSAN_MATRIX_DIR"
# A version that could not be built, or with a test that failed, fails the whole.
for version in "${versions[@]}"; do
  grep -q ' passed' "$DEVSAN_MATRIX_DIR/$version.row" && ! grep -qE 'failed|error' "$DEVSAN_MATRIX_DIR/$version.row" || exit 1
done
