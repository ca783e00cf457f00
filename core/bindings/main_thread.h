#pragma once

#include <torch/csrc/python_headers.h>

namespace devsan::bindings {

/// The thread that Python began with. The caller holds Python's lock.
PyThreadState* main_thread() noexcept;

}  // namespace devsan::bindings
