#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <pybind11/stl.h>
#include <torch/csrc/utils/pythoncapi_compat.h>

#include "bindings/bindings.h"
#include "bindings/main_thread.h"
#include "bindings/python_ending.h"
#include "collectives/call.h"
#include "collectives/flight_recorder.h"

namespace devsan::bindings {

namespace py = pybind11;
using collectives::CallSite;
using collectives::CallState;

namespace {

/// "/.../site-packages/torch/" and DevSan's own: files below them are not the program's.
std::array<std::string, 2>& machinery() {
  static std::array<std::string, 2> folders;
  return folders;
}

std::string folder_of(const char* package) {
  const auto file = py::module_::import(package).attr("__file__").cast<std::string>();
  return file.substr(0, file.rfind('/') + 1);
}

template <std::size_t N>
void put(collectives::Text<N>& text, PyObject* value, bool keep_end) {
  Py_ssize_t length = 0;
  const char* bytes = value == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(value, &length);
  if (bytes == nullptr) {
    PyErr_Clear();
    return;
  }
  std::string_view view(bytes, static_cast<std::size_t>(length));
  // Of a long path its end tells more.
  if (view.size() >= N) view = keep_end ? view.substr(view.size() - (N - 1)) : view.substr(0, N - 1);
  std::copy(view.begin(), view.end(), text.begin());
  text[view.size()] = '\0';
}

/// Files whose functions stand between these and whoever calls: decorators and contexts.
constexpr std::array<std::string_view, 3> kBetween = {"/typing_extensions.py", "/contextlib.py", "/functools.py"};

bool is_machinery(const PyCodeObject* code) {
  Py_ssize_t length = 0;
  const char* file = PyUnicode_AsUTF8AndSize(code->co_filename, &length);
  if (file == nullptr) {
    PyErr_Clear();
    return false;
  }
  const std::string_view path(file, static_cast<std::size_t>(length));
  return std::ranges::any_of(machinery(), [&](const std::string& folder) { return path.starts_with(folder); }) ||
         std::any_of(kBetween.begin(), kBetween.end(), [&](std::string_view name) { return path.ends_with(name); });
}

/// The innermost frame of `thread` that is the program's; false where there is none.
bool locate_in(PyThreadState* thread, CallSite& site) {
  PyFrameObject* frame = thread == nullptr ? nullptr : PyThreadState_GetFrame(thread);
  while (frame != nullptr) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const bool found = !is_machinery(code);
    if (found) {
      site.line = PyFrame_GetLineNumber(frame);
      put(site.file, code->co_filename, true);
      put(site.function, code->co_name, false);
    }
    Py_DECREF(code);
    PyFrameObject* caller = found ? nullptr : PyFrame_GetBack(frame);
    Py_DECREF(frame);
    if (found) return true;
    frame = caller;
  }
  return false;
}

/// A backward pass calls from a thread without frames: then the main thread tells where the program is.
void locate(CallSite& site) {
  if (!has_python()) return;
  const py::gil_scoped_acquire locked;
  PyThreadState* self = PyThreadState_Get();
  if (locate_in(self, site)) return;
  if (PyThreadState* main = main_thread(); main != self) locate_in(main, site);
}

bool holds_lock() { return has_python() && PyGILState_Check() == 1; }

void without_lock(const std::function<void()>& long_one) {
  const py::gil_scoped_release released;
  long_one();
}

const char* name_of(CallState state) {
  switch (state) {
    case CallState::kRunning:
      return "running";
    case CallState::kDone:
      return "done";
    case CallState::kFailed:
      return "failed";
    case CallState::kUnused:
      break;
  }
  return "";
}

py::object read_flight_recorder(const std::string& path) {
  const auto recording = collectives::read_flight_recorder(path);
  if (!recording.has_value()) return py::none();
  py::list groups;
  for (const auto& group : recording->groups) {
    py::dict item;
    item["group"] = group.name;
    item["description"] = group.description;
    item["rank"] = group.rank;
    item["size"] = group.size;
    item["ranks"] = group.ranks;
    groups.append(item);
  }
  py::list calls;
  for (const auto& call : recording->calls) {
    py::dict item;
    item["number"] = call.number;
    item["group"] = call.group;
    item["sequence"] = call.sequence;
    item["name"] = call.name;
    item["shape"] = call.shape;
    item["elements"] = call.elements;
    item["bytes"] = call.bytes;
    item["dtype"] = call.dtype;
    item["device"] = call.device < 0 ? std::string() : "cuda:" + std::to_string(call.device);
    item["peer"] = call.peer;
    item["started"] = call.started;
    item["finished"] = call.finished;
    item["state"] = name_of(call.state);
    item["waited"] = call.waited;
    item["file"] = call.file;
    item["line"] = call.line;
    item["function"] = call.function;
    item["error"] = call.error;
    calls.append(item);
  }
  py::dict all;
  all["pid"] = recording->process;
  all["rank"] = recording->rank;
  all["world_size"] = recording->world_size;
  all["started"] = recording->started;
  all["groups"] = groups;
  all["collectives"] = calls;
  return all;
}

}  // namespace

void bind_flight_recorder(py::module_& module) {
  module.def("read_flight_recorder", &read_flight_recorder, py::arg("path"));
  // torch has been imported: this module needs its libraries.
  machinery() = {folder_of("torch"), folder_of("devsan")};
  collectives::python() = {&holds_lock, &without_lock, &locate};
}

}  // namespace devsan::bindings
