#include <ATen/Context.h>
#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/pinned_memory.h"
#include "emulate/runtime/storage.h"

namespace devsan::bindings {

namespace py = pybind11;

namespace {

at::Storage new_storage(std::size_t bytes, c10::DeviceIndex device) {
  emulate::device(device);
  return emulate::allocate_virtual_storage(bytes, c10::Device(c10::DeviceType::CUDA, device));
}

at::Storage host_storage(const at::Storage& storage) {
  return at::Storage(emulate::host_storage(*storage.unsafeGetStorageImpl()));
}

at::Storage wrap_storage(const at::Storage& host, c10::DeviceIndex device) {
  auto* impl = host.unsafeGetStorageImpl();
  return emulate::make_virtual_storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(impl),
                                       c10::Device(c10::DeviceType::CUDA, device));
}

const void* as_pointer(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }  // NOLINT

/// torch asks no hook whether memory is pinned before its context knows CUDA (aten/src/ATen/Context.h, isPinnedPtr).
void pin(std::uintptr_t address, std::size_t bytes) {
  at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
  emulate::register_pinned(as_pointer(address), bytes);
}

}  // namespace

void bind_storages(py::module_& module) {
  module.def("new_storage", &new_storage, py::arg("bytes"), py::arg("device"));
  module.def(
      "resize_storage",
      [](const at::Storage& storage, std::size_t bytes) { emulate::resize(*storage.unsafeGetStorageImpl(), bytes); },
      py::arg("storage"), py::arg("bytes"));
  module.def("host_storage", &host_storage, py::arg("storage"));
  module.def("wrap_storage", &wrap_storage, py::arg("host"), py::arg("device"));
  module.def(
      "move_storage",
      [](const at::Storage& storage, const at::Storage& home) {
        emulate::move_bytes(*storage.unsafeGetStorageImpl(), home);
      },
      py::arg("storage"), py::arg("home"));
  module.def(
      "storage_home", [](const at::Storage& storage) { return emulate::home_of(*storage.unsafeGetStorageImpl()); },
      py::arg("storage"));
  module.def("pin", &pin, py::arg("address"), py::arg("bytes"));
  module.def(
      "unpin", [](std::uintptr_t address) { emulate::unregister_pinned(as_pointer(address)); }, py::arg("address"));
}

}  // namespace devsan::bindings
