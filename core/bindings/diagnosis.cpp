#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "bindings/message.h"
#include "diagnose/codes.h"
#include "diagnose/diagnose.h"
#include "diagnose/ranks/diagnose_ranks.h"
#include "diagnose/ranks/job.h"

namespace devsan::bindings {

namespace py = pybind11;
using diagnose::Code;

void bind_diagnosis(py::module_& module) {
  py::class_<Code>(module, "Code")
      .def_readonly("code", &Code::code)
      .def_readonly("name", &Code::name)
      .def_readonly("summary", &Code::summary)
      .def_readonly("naive_fix", &Code::naive_fix);
  module.def("codes", [] { return std::vector<Code>(diagnose::codes().begin(), diagnose::codes().end()); });
  module.def("diagnose", &diagnose::diagnose);
  module.def("merge_findings", &diagnose::merge);
  module.def("ranks_text", &diagnose::ranks::ranks_text);
  module.def("diagnose_ranks", &diagnose::ranks::diagnose_ranks);
}

}  // namespace devsan::bindings
