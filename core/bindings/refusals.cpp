#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "guard/verdict.h"

namespace devsan::bindings {

namespace py = pybind11;
using guard::Operand;
using guard::Refusal;

void bind_refusals(py::module_& module) {
  py::class_<Operand>(module, "Operand")
      .def_readonly("name", &Operand::name)
      .def_readonly("device", &Operand::device)
      .def_readonly("dtype", &Operand::dtype)
      .def_readonly("shape", &Operand::shape);
  py::class_<Refusal>(module, "Refusal")
      .def_readonly("op", &Refusal::op)
      .def_readonly("message", &Refusal::message)
      .def_readonly("operands", &Refusal::operands);
  module.def("last_refusal", []() -> std::optional<Refusal> {
    Refusal refusal = guard::last_refusal_of_process();
    if (refusal.op.empty()) return std::nullopt;
    return refusal;
  });
}

}  // namespace devsan::bindings
