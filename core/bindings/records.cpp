#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "bindings/message.h"
#include "bindings/record.h"
#include "bindings/record_headers.inc"

// NOTE [The border]
// What goes into a diagnosis and what comes out is declared once, as the structs of core/model. Their bindings are
// written by tools/generate_border.py when the core is built; the types that Python's checker sees, and what run files
// hold of the records, are written by the same and lie in the tree. By hand are only the two leaves that are values of
// another kind in Python: a device, below, and a message (bindings/message.h).

namespace devsan::bindings {

namespace py = pybind11;
using namespace devsan::model;

void bind_records(py::module_& module) {
  py::class_<Device>(module, "Device")
      .def(py::init([](const std::string& text) { return Device(text); }), py::arg("text") = "")
      .def_readonly("type", &Device::type)
      .def_readonly("index", &Device::index)
      .def("__str__", &Device::str)
      .def("__eq__", [](const Device& self, const Device& other) { return self == other; })
      .def("__hash__", [](const Device& self) { return py::hash(py::str(self.str())); });
  py::implicitly_convertible<py::str, Device>();
#include "bindings/record_bindings.inc"
  // devsan.findings() hands them to programs, which print them.
  const py::object finding = module.attr("Finding");
  finding.attr("__repr__") = py::cpp_function(
      [](const model::Finding& self) {
        std::string text = "<devsan finding " + self.code + ": " + self.title.text();
        if (!self.sites.empty() && self.sites.front().frame.is_known()) {
          const model::Frame& frame = self.sites.front().frame;
          text += ", at " + frame.file + ":" + std::to_string(frame.span.line);
        }
        return text + ">";
      },
      py::is_method(finding));
}

}  // namespace devsan::bindings
