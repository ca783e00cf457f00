#pragma once

#include <torch/csrc/utils/pybind.h>

namespace devsan::bindings {

// Each adds one family of functions to devsan._core. Flat, no logic: see devsan/_core.pyi for what they mean.
void bind_emulation(pybind11::module_& module);
void bind_memory(pybind11::module_& module);
void bind_memory_history(pybind11::module_& module);
void bind_module_calls(pybind11::module_& module);
void bind_module_names(pybind11::module_& module);
void bind_host_memory(pybind11::module_& module);
void bind_storages(pybind11::module_& module);
void bind_cuda(pybind11::module_& module);
void bind_attention(pybind11::module_& module);
void bind_streams(pybind11::module_& module);
void bind_forks(pybind11::module_& module);
void bind_provenance(pybind11::module_& module);
void bind_records(pybind11::module_& module);
void bind_diagnosis(pybind11::module_& module);
void bind_refusals(pybind11::module_& module);
void bind_operators(pybind11::module_& module);
void bind_order(pybind11::module_& module);
void bind_plan(pybind11::module_& module);
void bind_collectives(pybind11::module_& module);
void bind_flight_recorder(pybind11::module_& module);

}  // namespace devsan::bindings
