#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "bindings/message.h"
#include "diagnose/codes.h"
#include "diagnose/diagnose.h"

namespace devsan::bindings {

namespace py = pybind11;
using diagnose::Code;
using namespace devsan::model;

void bind_findings(py::module_& module) {
  py::enum_<Severity>(module, "Severity").value("ERROR", Severity::kError).value("WARNING", Severity::kWarning);
  py::enum_<Confidence>(module, "Confidence")
      .value("POSSIBLE", Confidence::kPossible)
      .value("LIKELY", Confidence::kLikely)
      .value("CERTAIN", Confidence::kCertain);
  py::enum_<FixKind>(module, "FixKind")
      .value("CONFIGURATION", FixKind::kConfiguration)
      .value("MAP", FixKind::kMap)
      .value("CREATION_SITE", FixKind::kCreationSite)
      .value("USE_SITE", FixKind::kUseSite);
  py::class_<Edit>(module, "Edit")
      .def_readonly("file", &Edit::file)
      .def_readonly("line", &Edit::line)
      .def_readonly("before", &Edit::before)
      .def_readonly("after", &Edit::after);
  py::class_<Fix>(module, "Fix")
      .def_readonly("kind", &Fix::kind)
      .def_readonly("text", &Fix::text)
      .def_readwrite("edit", &Fix::edit)
      .def_readonly("confidence", &Fix::confidence);
  py::class_<Site>(module, "Site")
      .def_readonly("frame", &Site::frame)
      .def_readonly("op", &Site::op)
      .def_readonly("sentence", &Site::sentence)
      .def_readonly("count", &Site::count);
  py::class_<Finding>(module, "Finding")
      .def_readonly("code", &Finding::code)
      .def_readonly("name", &Finding::name)
      .def_readonly("title", &Finding::title)
      .def_readonly("severity", &Finding::severity)
      .def_readonly("confidence", &Finding::confidence)
      .def_readonly("operands", &Finding::operands)
      .def_readonly("evidence", &Finding::evidence)
      .def_readwrite("fixes", &Finding::fixes)
      .def_readonly("naive_fix", &Finding::naive_fix)
      .def_readonly("candidates", &Finding::candidates)
      .def_readonly("sites", &Finding::sites)
      .def_readonly("id", &Finding::id)
      .def_readonly("cause", &Finding::cause);
  py::class_<Code>(module, "Code")
      .def_readonly("code", &Code::code)
      .def_readonly("name", &Code::name)
      .def_readonly("summary", &Code::summary)
      .def_readonly("naive_fix", &Code::naive_fix);
  module.def("codes", [] { return std::vector<Code>(diagnose::codes().begin(), diagnose::codes().end()); });
  module.def("diagnose", &diagnose::diagnose);
  module.def("merge_findings", &diagnose::merge);
}

}  // namespace devsan::bindings
