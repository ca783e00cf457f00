#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "emulate/runtime/autograd_threads.h"
#include "emulate/runtime/device.h"
#include "intercept/emulation.h"

namespace devsan::bindings {

namespace py = pybind11;
using model::DeviceSpec;

void bind_emulation(py::module_& module) {
  py::class_<DeviceSpec>(module, "DeviceSpec")
      .def(py::init<>())
      .def_readwrite("name", &DeviceSpec::name)
      .def_readwrite("profile", &DeviceSpec::profile)
      .def_readwrite("uuid", &DeviceSpec::uuid)
      .def_readwrite("total_memory", &DeviceSpec::total_memory)
      .def_readwrite("busy", &DeviceSpec::busy)
      .def_readwrite("major", &DeviceSpec::major)
      .def_readwrite("minor", &DeviceSpec::minor)
      .def_readwrite("multi_processor_count", &DeviceSpec::multi_processor_count)
      .def_readwrite("max_threads_per_multi_processor", &DeviceSpec::max_threads_per_multi_processor)
      .def_readwrite("max_threads_per_block", &DeviceSpec::max_threads_per_block)
      .def_readwrite("warp_size", &DeviceSpec::warp_size)
      .def_readwrite("regs_per_multiprocessor", &DeviceSpec::regs_per_multiprocessor)
      .def_readwrite("shared_memory_per_block", &DeviceSpec::shared_memory_per_block)
      .def_readwrite("shared_memory_per_block_optin", &DeviceSpec::shared_memory_per_block_optin)
      .def_readwrite("shared_memory_per_multiprocessor", &DeviceSpec::shared_memory_per_multiprocessor)
      .def_readwrite("l2_cache_size", &DeviceSpec::l2_cache_size)
      .def_readwrite("memory_bus_width", &DeviceSpec::memory_bus_width)
      .def_readwrite("memory_clock_rate", &DeviceSpec::memory_clock_rate)
      .def_readwrite("clock_rate", &DeviceSpec::clock_rate)
      .def_readwrite("pci_bus_id", &DeviceSpec::pci_bus_id)
      .def_readwrite("pci_device_id", &DeviceSpec::pci_device_id)
      .def_readwrite("pci_domain_id", &DeviceSpec::pci_domain_id)
      .def_readwrite("is_integrated", &DeviceSpec::is_integrated)
      .def_readwrite("is_multi_gpu_board", &DeviceSpec::is_multi_gpu_board);

  module.def("share_memory", &emulate::share_memory, py::arg("path"), py::arg("node"));
  module.def("start", &intercept::start_emulation, py::arg("devices"));
  module.def("stop", &intercept::stop_emulation, py::call_guard<py::gil_scoped_release>());
  module.def("settle", &emulate::settle_autograd_threads, py::call_guard<py::gil_scoped_release>());
}

}  // namespace devsan::bindings
