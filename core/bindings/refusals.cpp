#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "bindings/python_ending.h"
#include "emulate/runtime/origin.h"
#include "guard/device_check.h"
#include "guard/meta_mixes.h"
#include "record/recorder.h"

namespace devsan::bindings {

namespace py = pybind11;
using guard::MetaMix;
using guard::Operand;
using guard::Refusal;

namespace {

/// "train.py:12": the innermost line of Python that is not torch's.
std::string python_site() {
  if (!has_python()) return {};
  const py::gil_scoped_acquire gil;
  auto frame = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame.ptr() != nullptr && !frame.is_none()) {
    const auto file = frame.attr("f_code").attr("co_filename").cast<std::string>();
    if (file.find("/torch/") == std::string::npos) {
      return file + ":" + std::to_string(frame.attr("f_lineno").cast<int>());
    }
    frame = frame.attr("f_back");
  }
  return {};
}

std::optional<Refusal> known(Refusal refusal) {
  if (refusal.op.empty()) return std::nullopt;
  return refusal;
}

/// Has `told()` called for every refusal; None for nothing.
void listen_to_refusals(std::optional<py::function> told) {
  if (!told) return guard::set_refusal_listener({});
  // Leaked: the last thread that has it may not hold the GIL, or may be there when Python is not.
  auto* kept = new py::function(std::move(*told));
  guard::set_refusal_listener([kept] {
    if (!has_python()) return;
    const py::gil_scoped_acquire gil;
    try {
      (*kept)();
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("the listener to refusals");
    }
  });
}

}  // namespace

void bind_refusals(py::module_& module) {
  py::class_<Operand>(module, "RefusedOperand")
      .def_readonly("name", &Operand::name)
      .def_readonly("device", &Operand::device)
      .def_readonly("dtype", &Operand::dtype)
      .def_readonly("shape", &Operand::shape)
      .def_readonly("storage", &Operand::storage)
      .def_property_readonly("origin", [](const Operand& self) {
        return py::make_tuple(self.origin.placement,
                              record::Recorder::instance().operator_name(self.origin.computed_by));
      });
  py::class_<Refusal>(module, "Refusal")
      .def_readonly("op", &Refusal::op)
      .def_readonly("message", &Refusal::message)
      .def_readonly("operands", &Refusal::operands)
      .def_readonly("number", &Refusal::number);
  guard::set_site_source(&python_site);
  guard::set_origin_source(&emulate::origin_of);
  py::class_<MetaMix>(module, "MetaMix")
      .def_readonly("op", &MetaMix::op)
      .def_readonly("operand", &MetaMix::operand)
      .def_readonly("site", &MetaMix::site)
      .def_readonly("calls", &MetaMix::calls);
  module.def("meta_mixes", &guard::meta_mixes);
  module.def("forget_meta_mixes", &guard::forget_meta_mixes);
  module.def("listen_to_refusals", &listen_to_refusals, py::arg("told").none(true));
  module.def("last_refusal", [] { return known(guard::last_refusal_of_process()); });
  module.def(
      "refusal_in", [](const std::string& text) { return known(guard::refusal_in(text)); }, py::arg("text"));
}

}  // namespace devsan::bindings
