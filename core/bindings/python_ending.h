#pragma once

#include <torch/csrc/utils/pythoncapi_compat.h>

namespace devsan::bindings {

/// Python is being torn down: a thread that takes its lock now is ended, and with it the process.
inline bool is_python_ending() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

}  // namespace devsan::bindings
