#!/usr/bin/env bash
# Brings the installed DevSan up to date with the sources. The first call, and one after pyproject.toml has changed,
# installs the package (editable); every other call compiles what changed and replaces the core where it lies.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/environment.sh

stamp="$VENV/.devsan/installed"
if [ "$(cat "$stamp" 2> /dev/null)" != "$PWD" ] || [ pyproject.toml -nt "$stamp" ] ||
  ! [ -e "$DEVSAN_BUILD_DIR/build.ninja" ]; then
  say "building the core in $DEVSAN_BUILD_DIR"
  "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
    --no-build-isolation --no-deps --config-settings=build-dir="$DEVSAN_BUILD_DIR" --editable . < /dev/null
  mkdir -p "$VENV/.devsan"
  echo "$PWD" > "$stamp"
  exit 0
fi

cmake --build "$DEVSAN_BUILD_DIR" -- --quiet
site=$("$VENV/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["platlib"])')
cmake --install "$DEVSAN_BUILD_DIR" --prefix "$DEVSAN_BUILD_DIR/stage" --component python > /dev/null
# A running process keeps the file that it has mapped: the new one takes its name, it does not overwrite it.
for file in "$DEVSAN_BUILD_DIR"/stage/devsan/*; do
  installed="$site/devsan/$(basename "$file")"
  if ! cmp --silent "$file" "$installed"; then
    cp "$file" "$installed.new"
    mv "$installed.new" "$installed"
  fi
done
