#include <pybind11/stl.h>
#include <torch/csrc/utils/device_lazy_init.h>

#include "bindings/bindings.h"
#include "emulate/runtime/autograd_threads.h"
#include "emulate/runtime/cublas.h"
#include "emulate/runtime/device.h"

namespace devsan::bindings {

namespace py = pybind11;

namespace {

void show_devices(const std::vector<model::DeviceSpec>& devices) {
  if (devices.empty()) {
    emulate::retire_devices();
  } else {
    emulate::create_devices(devices);
    emulate::ensure_autograd_threads();
  }
}

}  // namespace

void bind_cuda(py::module_& module) {
  module.def("show_devices", &show_devices, py::arg("devices"));
  module.def("device_count", [] { return static_cast<int>(emulate::device_count()); });
  module.def("current_device", [] { return static_cast<int>(emulate::current_device()); });
  module.def("set_device", &emulate::set_current_device, py::arg("device"));
  module.def(
      "check_device", [](c10::DeviceIndex device) { emulate::device(device); }, py::arg("device"));
  module.def(
      "default_generator", [](c10::DeviceIndex device) { return emulate::device(device).generator; },
      py::arg("device"));
  module.def("use_cublas", [] {
    emulate::use_cublas(emulate::current_device());
    return emulate::cublas_handle(emulate::current_device());
  });
  module.def("clear_cublas_workspaces", &emulate::clear_cublas_workspaces);
  module.def("cublas_workspace_size", [] { return emulate::cublas_workspace_size(emulate::current_device()); });
  module.def("set_cublas_workspace_size", &emulate::set_cublas_workspace_size, py::arg("size"));
  module.def("require_lazy_init", [] { torch::utils::set_requires_device_init(at::kCUDA, true); });
}

}  // namespace devsan::bindings
