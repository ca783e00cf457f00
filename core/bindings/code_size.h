#pragma once

#include <cstddef>

#include <Python.h>

namespace devsan::bindings {

/// The bytes that a reference to `code` keeps: its instructions, tables, names and constants, the code of the functions in
/// it too. Nothing of Python's runs meanwhile, so that any lock may be held.
std::size_t code_size(const PyCodeObject& code);

}  // namespace devsan::bindings
