#include <array>
#include <cstddef>

#include <pybind11/stl.h>
#include <torch/csrc/utils/pythoncapi_compat.h>

#include "bindings/bindings.h"
#include "emulate/origin.h"
#include "record/recorder.h"

namespace devsan::bindings {

namespace py = pybind11;
using record::PlacementRecord;
using record::Recorder;

namespace {

// The innermost frames say who placed a tensor; a program nested deeper loses its outermost ones.
constexpr std::size_t kMaxDepth = 128;

bool is_python_ending() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

void keep(const void* code) { Py_INCREF(static_cast<PyObject*>(const_cast<void*>(code))); }

/// Nothing for a thread that Python does not know: it has no stack, and must not wait for the lock of the others.
record::StackId capture_stack(record::StackDepot& depot) {
  if (Py_IsInitialized() == 0 || is_python_ending() || PyGILState_GetThisThreadState() == nullptr) {
    return record::kNoStack;
  }
  const py::gil_scoped_acquire gil;
  std::array<record::Frame, kMaxDepth> frames;
  std::size_t depth = 0;
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  while (frame != nullptr) {
    if (depth < kMaxDepth) {
      PyCodeObject* code = PyFrame_GetCode(frame);
      frames[depth++] = {code, PyFrame_GetLasti(frame)};
      Py_DECREF(code);  // the frame has one
    }
    PyFrameObject* caller = depth < kMaxDepth ? PyFrame_GetBack(frame) : nullptr;
    Py_DECREF(frame);
    frame = caller;
  }
  return depot.put({frames.data(), depth}, &keep);
}

/// (code object, offset) pairs, innermost first.
py::list frames_of(record::StackId id) {
  py::list found;
  for (const record::Frame& frame : Recorder::instance().stack(id)) {
    auto* code = static_cast<PyObject*>(const_cast<void*>(frame.code));
    found.append(py::make_tuple(py::reinterpret_borrow<py::object>(code), frame.offset));
  }
  return found;
}

std::string device_name(std::int8_t device) {
  return device == record::kHost ? "cpu" : "cuda:" + std::to_string(static_cast<int>(device));
}

}  // namespace

void bind_trails(py::module_& module) {
  py::class_<PlacementRecord>(module, "Placement")
      .def_property_readonly(
          "is_move", [](const PlacementRecord& self) { return self.placement.kind == record::PlacementKind::kMoved; })
      .def_property_readonly("device", [](const PlacementRecord& self) { return device_name(self.placement.device); })
      .def_property_readonly("from_device",
                             [](const PlacementRecord& self) { return device_name(self.placement.from); })
      .def_property_readonly(
          "op", [](const PlacementRecord& self) { return Recorder::instance().operator_name(self.placement.op); })
      .def_property_readonly("source", [](const PlacementRecord& self) { return self.placement.source; })
      .def_property_readonly("frames", [](const PlacementRecord& self) { return frames_of(self.placement.stack); })
      .def_readonly("times", &PlacementRecord::times)
      .def_readonly("bytes", &PlacementRecord::bytes);
  module.def("start_recording", [] { Recorder::instance().start(&capture_stack); });
  module.def("stop_recording", [] { Recorder::instance().stop(); });
  module.def("is_recording", [] { return Recorder::instance().is_on(); });
  module.def("placement", [](record::PlacementId id) { return Recorder::instance().find(id); });
  module.def("origin_of", [](const at::Tensor& tensor) {
    const record::Origin origin = emulate::origin_of(tensor);
    return py::make_tuple(origin.placement, Recorder::instance().operator_name(origin.computed_by));
  });
}

}  // namespace devsan::bindings
