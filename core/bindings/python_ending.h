#pragma once

#include <torch/csrc/utils/pythoncapi_compat.h>

namespace devsan::bindings {

/// Whether a thread may wait for Python's lock. While Python is torn down it must not: it is ended where it waits, and the
/// process is aborted, because torch's functions on its stack are not made for that. Autograd's workers and TorchScript's
/// pool compute on while the main thread ends Python.
inline bool has_python() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsInitialized() != 0 && Py_IsFinalizing() == 0;
#else
  return Py_IsInitialized() != 0 && _Py_IsFinalizing() == 0;
#endif
}

}  // namespace devsan::bindings
