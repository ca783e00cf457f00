#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include <pybind11/stl.h>
#include <torch/csrc/utils/pythoncapi_compat.h>

#include "bindings/bindings.h"
#include "bindings/code_size.h"
#include "bindings/main_thread.h"
#include "bindings/python_ending.h"
#include "bindings/stacks.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/origin.h"
#include "record/recorder.h"
#include "record/timeline.h"

namespace devsan::bindings {

namespace py = pybind11;
using record::PlacementRecord;
using record::Recorder;
using record::Timeline;

namespace {

// The innermost frames say who placed a tensor; a program nested deeper loses its outermost ones.
constexpr std::size_t kMaxDepth = 128;

PyObject* as_object(const void* code) { return static_cast<PyObject*>(const_cast<void*>(code)); }

/// In a thread that has captured a stack.
void release(std::span<const void* const> codes) {
  if (codes.empty() || !has_python()) return;
  const py::gil_scoped_acquire gil;
  for (const void* code : codes) Py_DECREF(as_object(code));
}

using Frames = std::array<record::Frame, kMaxDepth>;

/// Puts the frames of `frame` (a reference that it takes) and its callers after the first `depth` of `frames`.
/// @return how many there are now
std::size_t add_frames(PyFrameObject* frame, Frames& frames, std::size_t depth) {
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
  return depth;
}

/// Whether a thread with this innermost frame waits for another: a pool's future, a queue, a backward pass.
bool is_waiting(PyFrameObject* frame) {
  PyCodeObject* code = PyFrame_GetCode(frame);
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  if (file == nullptr) PyErr_Clear();
  const std::string_view name = file == nullptr ? "" : file;
  Py_DECREF(code);
  return name.ends_with("/threading.py") || name.ends_with("torch/autograd/graph.py");
}

/// Adds the frames of the main thread while this thread, another one, works for it: it waits, or runs the same file.
/// Libraries load and pin in threads of their own, and what asked for that is on the main thread's stack.
std::size_t add_main_thread(Frames& frames, std::size_t depth) {
  PyThreadState* main = main_thread();
  PyFrameObject* frame = main == PyThreadState_Get() ? nullptr : PyThreadState_GetFrame(main);
  if (frame == nullptr) return depth;
  const bool waits = is_waiting(frame);
  const std::size_t all = add_frames(frame, frames, depth);
  const auto own = std::span(frames).first(depth);
  const auto others = std::span(frames).subspan(depth, all - depth);
  const auto file = [](const record::Frame& each) { return static_cast<const PyCodeObject*>(each.code)->co_filename; };
  const bool shares = waits || std::ranges::any_of(own, [&](const record::Frame& each) {
                        return std::ranges::find(others, file(each), file) != others.end();
                      });
  return shares ? all : depth;
}

/// No garbage is collected meanwhile. Before Python 3.12 an allocation may collect, and making the object of a frame is
/// one: a finalizer would let the main thread run, which leaves the frame that is looked at.
class WithoutCollection {
 public:
  WithoutCollection() : was_on_(PyGC_Disable() != 0) {}
  ~WithoutCollection() {
    if (was_on_) PyGC_Enable();
  }
  WithoutCollection(const WithoutCollection&) = delete;
  WithoutCollection& operator=(const WithoutCollection&) = delete;

 private:
  bool was_on_;
};

}  // namespace

std::size_t keep_code(const void* code) {
  Py_INCREF(as_object(code));
  return code_size(*static_cast<const PyCodeObject*>(code));
}

/// Nothing for a thread that Python does not know: it has no stack, and must not wait for the lock of the others.
void with_python_stack(const record::Callbacks::UseStack& use) {
  if (!has_python() || PyGILState_GetThisThreadState() == nullptr) {
    use({});
    return;
  }
  const py::gil_scoped_acquire gil;
  const WithoutCollection paused;
  Frames frames;
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  std::size_t depth = add_frames(frame, frames, 0);
  if (depth < kMaxDepth) depth = add_main_thread(frames, depth);
  use({frames.data(), depth});
}

py::list python_frames(const std::vector<record::Frame>& frames) {
  // All of them first: making Python's objects may let another thread run, which drops the stack.
  std::vector<py::object> codes;
  codes.reserve(frames.size());
  for (const record::Frame& frame : frames) {
    codes.push_back(py::reinterpret_borrow<py::object>(as_object(frame.code)));
  }
  py::list found;
  for (std::size_t at = 0; at < frames.size(); ++at) found.append(py::make_tuple(codes[at], frames[at].offset));
  return found;
}

namespace {

py::list frames_of(record::StackId id) { return python_frames(Recorder::instance().stack(id)); }

std::string device_name(std::int8_t device) {
  return device == record::kHost ? "cpu" : "cuda:" + std::to_string(static_cast<int>(device));
}

/// (transfers, samples, moves that were dropped); times in ns of the clock of time.monotonic_ns.
py::tuple drain_timeline() {
  const Timeline::Entries entries = Timeline::instance().drain();
  py::list transfers;
  for (const record::Transfer& each : entries.transfers) {
    transfers.append(py::make_tuple(each.placement, each.first, each.last, each.times, each.bytes));
  }
  py::list samples;
  for (const record::MemorySample& each : entries.samples) {
    samples.append(py::make_tuple(each.time, static_cast<int>(each.device), each.allocated, each.reserved, each.held));
  }
  return py::make_tuple(transfers, samples, entries.lost);
}

/// For each GPU (allocated, reserved, most allocated, most reserved, allocated by phase) in bytes.
py::list memory_now() {
  py::list found;
  for (c10::DeviceIndex index = 0; index < emulate::device_count(); ++index) {
    const emulate::EmulatedDevice* device = emulate::find_device(index);
    if (device == nullptr) break;
    const memory::Stats stats = device->allocator.stats();
    const memory::Stat& allocated = stats.allocated_bytes.all();
    const memory::Stat& reserved = stats.reserved_bytes.all();
    found.append(
        py::make_tuple(allocated.current, reserved.current, allocated.peak, reserved.peak, stats.held_by_phase));
  }
  return found;
}

}  // namespace

void bind_provenance(py::module_& module) {
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
  module.def(
      "start_recording",
      [](std::size_t budget) {
        Recorder::instance().start({&with_python_stack, &keep_code, &release, &emulate::collect_live}, budget);
      },
      py::arg("budget") = Recorder::kDefaultBudget);
  module.def("stop_recording", [] { Recorder::instance().stop(); });
  module.def("is_recording", [] { return Recorder::instance().is_on(); });
  module.def("start_timeline", [] { Timeline::instance().start(); });
  module.def("stop_timeline", [] { Timeline::instance().stop(); });
  module.def("drain_timeline", &drain_timeline);
  module.def("memory_now", &memory_now);
  // By its number in NOTE [Memory by phase]; 0 is none.
  module.def("enter_phase", [](std::uint8_t phase) {
    if (phase < memory::kPhases) memory::enter_phase(static_cast<memory::Phase>(phase));
  });
  module.def("recorded_bytes", [] { return Recorder::instance().bytes(); });
  module.def("recording_budget", [] { return Recorder::instance().budget(); });
  module.def("placements", [] { return Recorder::instance().placements(); });
  module.def("placement", [](record::PlacementId id) { return Recorder::instance().find(id); });
  module.def("origin_of", [](const at::Tensor& tensor) {
    const record::Origin origin = emulate::origin_of(tensor);
    return py::make_tuple(origin.placement, Recorder::instance().operator_name(origin.computed_by));
  });
}

}  // namespace devsan::bindings
