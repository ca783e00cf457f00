#!/usr/bin/env bash
# Brings the installed DevSan up to date with the sources. The first call, and one after pyproject.toml has changed or a
# module has gone, installs the package (editable); every other call compiles what changed and replaces the core where
# it lies.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/environment.sh

# An editable install lists its modules: one that has become a package is looked for where it was.
a_module_has_gone() {
  ! cat "$VENV"/lib/python*/site-packages/_editable_skbc_devsan.py 2> /dev/null |
    grep -o "'$PWD/devsan/[^']*\.py'" | tr -d "'" | xargs -r ls > /dev/null 2>&1
}

stamp="$VENV/.devsan/installed"
if [ "$(cat "$stamp" 2> /dev/null)" != "$PWD" ] || [ pyproject.toml -nt "$stamp" ] ||
  ! [ -e "$DEVSAN_BUILD_DIR/build.ninja" ] || a_module_has_gone; then
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
