#!/usr/bin/env bash
# Runs the tests: the C++ unit tests, then pytest, whose summary is the last thing printed. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/environment.sh

# GoogleTest may have come after the build was configured.
if grep -q "^GTest_DIR:PATH=GTest_DIR-NOTFOUND" "$DEVSAN_BUILD_DIR/CMakeCache.txt"; then
  cmake "$DEVSAN_BUILD_DIR" > /dev/null
fi
cmake --build "$DEVSAN_BUILD_DIR" --target unit_tests -- --quiet
ctest --test-dir "$DEVSAN_BUILD_DIR" --output-on-failure --no-tests=error --parallel 2
exec tools/pytest.sh "$@"
