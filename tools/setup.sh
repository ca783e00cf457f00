#!/usr/bin/env bash
# Prepares the environment of the Makefile's targets:  tools/setup.sh base|test
#   base   a virtual environment with torch and the build tools; the compiler, if it is missing
#   test   the same, GoogleTest, and the real libraries that the tests drive
# VENV        the environment, .venv unless told; one that has a torch keeps it
# PYTHON      the interpreter that a new environment is made with, python3 unless told
# TORCH_SPEC  which torch to install, e.g. torch==2.14.1
# Done once and remembered in the environment; a second call returns at once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/environment.sh

stage=${1:-base}
default_torch_spec=torch==2.13.0

# Succeeds if the stage was prepared from these very files for this choice of torch.
is_prepared() {
  [ -x "$VENV/bin/python" ] && [ "$(cat "$VENV/.devsan/$1" 2>/dev/null)" = "$(fingerprint "$1")" ]
}

fingerprint() {
  { echo "${TORCH_SPEC:-}"; cat tools/setup.sh tools/requirements-dev.txt; [ "$1" = base ] || cat tools/requirements-test.txt tools/seeds.txt; } | cksum
}

remember() {
  mkdir -p "$VENV/.devsan"
  fingerprint "$1" > "$VENV/.devsan/$1"
}

# debian_packages <what needs them> <package>...: installs them where that can be done without asking anybody.
debian_packages() {
  local purpose=$1
  shift
  if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then
    say "$purpose: please install the Debian packages $* (or their equals), for example: sudo apt-get install $*"
    return 1
  fi
  say "installing the Debian packages $*"
  DEBIAN_FRONTEND=noninteractive apt-get update -qq < /dev/null > /dev/null
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" < /dev/null > /dev/null
}

prepare_system() {
  local python=$1
  if ! "$python" -c 'import ensurepip, venv' 2> /dev/null; then
    debian_packages "A virtual environment needs Python's venv module" python3-venv
  fi
  if ! [ -e "$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')/Python.h" ]; then
    debian_packages "Building DevSan needs Python's headers" python3-dev
  fi
  if ! command -v c++ > /dev/null; then
    debian_packages "Building DevSan needs a C++20 compiler" g++
  fi
  command -v ccache > /dev/null || debian_packages "Building again is faster with ccache" ccache || true
}

# The torch to hold on to, as a constraint for pip.
installed_torch() {
  "$VENV/bin/python" - <<'PY'
from importlib import metadata

try:
    print("torch===" + metadata.version("torch"))
except metadata.PackageNotFoundError:
    pass
PY
}

pip_install() {
  "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --no-input "$@" < /dev/null
}

prepare_base() {
  local python=${PYTHON:-python3}
  prepare_system "$python"
  if ! [ -x "$VENV/bin/python" ]; then
    say "creating $VENV"
    "$python" -m venv "$VENV"
  fi
  if [ -n "${TORCH_SPEC:-}" ] || [ -z "$(installed_torch)" ]; then
    say "installing ${TORCH_SPEC:-$default_torch_spec}"
    pip_install "${TORCH_SPEC:-$default_torch_spec}"
  fi
  say "installing the build tools"
  pip_install --constraint <(installed_torch) --requirement tools/requirements-dev.txt
  remember base
}

# Releases that nobody runs any more, beside the environment: tests/stories skips what could not be had.
prepare_seeds() {
  local requirement folder
  for requirement in $(grep -v '^#' tools/seeds.txt); do
    folder=$VENV/seeds/${requirement/==/-}
    [ -d "$folder" ] && continue
    rm -rf "$folder.part"
    if pip_install --no-deps --no-build-isolation --target "$folder.part" "$requirement"; then
      mv "$folder.part" "$folder"
    else
      say "$requirement could not be installed; its tests will be skipped"
    fi
  done
}

prepare_test() {
  if ! [ -e /usr/include/gtest/gtest.h ] && ! [ -e /usr/local/include/gtest/gtest.h ]; then
    debian_packages "The C++ unit tests need GoogleTest" libgtest-dev || true
  fi
  # The tests of the HTML report look at it in a browser, and are skipped without one.
  if [ -z "${CHROMIUM:-}" ] && ! command -v chromium chromium-browser google-chrome chrome headless_shell > /dev/null; then
    debian_packages "The tests of the HTML report look at it in a browser" chromium fonts-noto-cjk || true
  fi
  say "installing the libraries that the tests drive"
  pip_install --constraint <(installed_torch) --requirement tools/requirements-test.txt
  prepare_seeds
  remember test
}

is_prepared base || prepare_base
case $stage in
  base) ;;
  test) is_prepared test || prepare_test ;;
  *) say "expected base or test, got $stage"; exit 2 ;;
esac
