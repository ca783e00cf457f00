#include "bindings/bindings.h"

PYBIND11_MODULE(_core, module) {
  module.doc() = "DevSan's core. Private: devsan's Python modules are its interface.";
  devsan::bindings::bind_emulation(module);
  devsan::bindings::bind_memory(module);
  devsan::bindings::bind_memory_history(module);
  devsan::bindings::bind_module_calls(module);
  devsan::bindings::bind_module_names(module);
  devsan::bindings::bind_host_memory(module);
  devsan::bindings::bind_storages(module);
  devsan::bindings::bind_cuda(module);
  devsan::bindings::bind_attention(module);
  devsan::bindings::bind_streams(module);
  devsan::bindings::bind_forks(module);
  devsan::bindings::bind_records(module);
  devsan::bindings::bind_diagnosis(module);
  devsan::bindings::bind_refusals(module);
  devsan::bindings::bind_provenance(module);
  devsan::bindings::bind_operators(module);
  devsan::bindings::bind_order(module);
  devsan::bindings::bind_plan(module);
  devsan::bindings::bind_collectives(module);
  devsan::bindings::bind_flight_recorder(module);
}
