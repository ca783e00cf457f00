#pragma once

#include <cstddef>
#include <vector>

#include <pybind11/pybind11.h>

#include "record/recorder.h"

namespace devsan::bindings {

/// Calls `use` with the calling thread's Python stack: see record::Callbacks.
void with_python_stack(const record::Callbacks::UseStack& use);

/// Takes a reference to a code object. @return the bytes that this keeps
std::size_t keep_code(const void* code);

/// (code object, offset) pairs, innermost first.
pybind11::list python_frames(const std::vector<record::Frame>& frames);

}  // namespace devsan::bindings
