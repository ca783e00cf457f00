// What every file of core/bindings includes, precompiled for them; see torch_header.h.
#pragma once

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>
