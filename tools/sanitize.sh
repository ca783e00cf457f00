#!/usr/bin/env bash
# Builds the core under AddressSanitizer and UndefinedBehaviorSanitizer, and runs the unit tests and the tests marked
# `stress` on it. Arguments go to pytest.
#
# torch itself is not instrumented. So that nothing of torch raises a false alarm, and nothing of ours is hidden:
# - leaks are not looked for: torch and Python keep much to the end of the process on purpose;
# - alloc_dealloc_mismatch is off: torch's libraries bring their own operator new;
# - nothing is suppressed by name: an error in a header of torch that our objects carry is reported too.
# The first error ends the process, so that no test can pass over it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/environment.sh

folder=build/sanitize
cmake -S . -B $folder -G Ninja -DPython_EXECUTABLE="$(command -v python)" \
  -DDEVSAN_TESTS=ON -DDEVSAN_UNITY=OFF -DDEVSAN_SANITIZE=address,undefined > /dev/null
say "building the core and its tests under ASan and UBSan in $folder"
cmake --build $folder --target all unit_tests -- --quiet

export ASAN_OPTIONS=detect_leaks=0:alloc_dealloc_mismatch=0:strict_init_order=1:detect_stack_use_after_return=1:exitcode=99
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:exitcode=99
ctest --test-dir $folder --output-on-failure --no-tests=error --parallel 2

# A package that holds the instrumented core, which this process and its children take instead of the installed one.
rm -rf $folder/stage
cmake --install $folder --prefix $folder/stage --component python > /dev/null
cp -r devsan $folder/stage/
cp -r codes $folder/stage/devsan/  # where a wheel has them
cat > $folder/stage/sitecustomize.py <<'PY'
"""Take devsan from this folder, whatever else is on the path or hooked into imports."""

import sys
from importlib.machinery import PathFinder
from pathlib import Path


class Stage(PathFinder):
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        return PathFinder.find_spec(fullname, [str(Path(__file__).parent)]) if fullname == "devsan" else None


sys.meta_path.insert(0, Stage)
sys.meta_path[:] = [finder for finder in sys.meta_path if "skbc" not in type(finder).__module__]
PY
runtime() { "${CXX:-c++}" -print-file-name="$1"; }
# The runtimes come first, and libstdc++ with them, so that ASan finds the real __cxa_throw.
preload="$(runtime libasan.so) $(runtime libubsan.so) $(runtime libstdc++.so.6)"
say "running the stress tests on the instrumented core"
# The sanitizers write to the terminal past Python's sys.stderr: capturing files would lose their last words.
exec env LD_PRELOAD="$preload" PYTHONPATH="$PWD/$folder/stage" PYTHONMALLOC=malloc DEVSAN_SANITIZED=1 \
  python -m pytest -m stress --capture=sys "$@"
