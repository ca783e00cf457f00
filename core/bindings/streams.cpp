#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/Event.h>

#include "bindings/bindings.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/stream.h"

namespace devsan::bindings {

namespace py = pybind11;

namespace {

/// torch.Event.elapsed_time refuses events of a derived class, which torch.cuda.Event is.
double elapsed_time(const py::handle& start, const py::handle& end) {
  for (const auto& event : {start, end}) {
    TORCH_CHECK_TYPE(THPEvent_Check(event.ptr()), "expected other to be a torch.Event object");
  }
  const c10::Event& from = reinterpret_cast<THPEvent*>(start.ptr())->event;
  const c10::Event& to = reinterpret_cast<THPEvent*>(end.ptr())->event;
  // What cudaEventElapsedTime says of events of two devices (c10/cuda/CUDAException.cpp).
  TORCH_CHECK(!from.was_marked_for_recording() || !to.was_marked_for_recording() || from.device() == to.device(),
              "CUDA error: invalid resource handle");
  return from.elapsedTime(to);
}

}  // namespace

void bind_streams(py::module_& module) {
  module.def(
      "current_stream",
      [](c10::DeviceIndex device) {
        emulate::device(device);
        return emulate::current_stream_id(device);
      },
      py::arg("device"));
  module.def(
      "set_stream",
      [](c10::StreamId stream, c10::DeviceIndex device) {
        emulate::device(device);
        emulate::exchange_stream(c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::DeviceType::CUDA, device), stream));
      },
      py::arg("stream"), py::arg("device"));
  module.def(
      "current_raw_stream",
      [](c10::DeviceIndex device) {
        emulate::device(device);
        return emulate::native_handle(emulate::current_stream_id(device));
      },
      py::arg("device"));
  // As THCPModule_cudaSynchronize: the current device.
  module.def("synchronize",
             [] { c10::impl::VirtualGuardImpl(c10::kCUDA).synchronizeDevice(emulate::current_device()); });
  module.def("elapsed_time", &elapsed_time, py::arg("start"), py::arg("end"));
  module.def("stream_handle", &emulate::native_handle, py::arg("stream"));
  module.def("stream_of_handle", &emulate::stream_of_handle, py::arg("handle"));
  module.def("stream_priority", &emulate::stream_priority, py::arg("stream"));
}

}  // namespace devsan::bindings
