#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "bindings/message.h"
#include "bindings/record.h"
#include "diagnose/ranks/diagnose_ranks.h"
#include "diagnose/ranks/job.h"
#include "model/rank.h"

namespace devsan::bindings {

namespace py = pybind11;
using namespace devsan::model;

void bind_ranks(py::module_& module) {
  py::enum_<RankEnd>(module, "RankEnd")
      .value("UNKNOWN", RankEnd::kUnknown)
      .value("RUNNING", RankEnd::kRunning)
      .value("FINISHED", RankEnd::kFinished)
      .value("RAISED", RankEnd::kRaised)
      .value("EXITED", RankEnd::kExited)
      .value("KILLED", RankEnd::kKilled)
      .value("TERMINATED", RankEnd::kTerminated);
  bind_record<RankTensor>(module, "RankTensor")
      .def_readwrite("name", &RankTensor::name)
      .def_readwrite("is_buffer", &RankTensor::is_buffer)
      .def_readwrite("requires_grad", &RankTensor::requires_grad)
      .def_readwrite("device", &RankTensor::device)
      .def_readwrite("dtype", &RankTensor::dtype)
      .def_readwrite("shape", &RankTensor::shape);
  bind_record<RankModel>(module, "RankModel")
      .def_readwrite("expression", &RankModel::expression)
      .def_readwrite("type", &RankModel::type)
      .def_readwrite("wrappers", &RankModel::wrappers)
      .def_readwrite("tensors", &RankModel::tensors)
      .def_readwrite("count", &RankModel::count)
      .def_readwrite("digest", &RankModel::digest)
      .def_readwrite("device_map", &RankModel::device_map)
      .def_readwrite("device_map_text", &RankModel::device_map_text)
      .def_readwrite("mapped_at", &RankModel::mapped_at)
      .def_readwrite("hook_devices", &RankModel::hook_devices);
  bind_record<RankMemory>(module, "RankMemory")
      .def_readwrite("device", &RankMemory::device)
      .def_readwrite("bytes", &RankMemory::bytes)
      .def_readwrite("peak", &RankMemory::peak)
      .def_readwrite("placed", &RankMemory::placed);
  bind_record<Collective>(module, "Collective")
      .def_readwrite("group", &Collective::group)
      .def_readwrite("members", &Collective::members)
      .def_readwrite("sequence", &Collective::sequence)
      .def_readwrite("name", &Collective::name)
      .def_readwrite("shapes", &Collective::shapes)
      .def_readwrite("bytes", &Collective::bytes)
      .def_readwrite("dtype", &Collective::dtype)
      .def_readwrite("device", &Collective::device)
      .def_readwrite("since", &Collective::since)
      .def_readwrite("finished", &Collective::finished)
      .def_readwrite("where", &Collective::where)
      .def_readwrite("through", &Collective::through)
      .def_readwrite("condition", &Collective::condition);
  bind_record<OwnFinding>(module, "OwnFinding")
      .def_readwrite("code", &OwnFinding::code)
      .def_readwrite("cause", &OwnFinding::cause)
      .def_readwrite("title", &OwnFinding::title)
      .def_readwrite("kind", &OwnFinding::kind)
      .def_readwrite("sentence", &OwnFinding::sentence)
      .def_readwrite("severity", &OwnFinding::severity)
      .def_readwrite("placed", &OwnFinding::placed)
      .def_readwrite("devices", &OwnFinding::devices);
  bind_record<RankFacts>(module, "RankFacts")
      .def_readwrite("process", &RankFacts::process)
      .def_readwrite("host", &RankFacts::host)
      .def_readwrite("gpus", &RankFacts::gpus)
      .def_readwrite("backend", &RankFacts::backend)
      .def_readwrite("group_made", &RankFacts::group_made)
      .def_readwrite("models", &RankFacts::models)
      .def_readwrite("memory", &RankFacts::memory)
      .def_readwrite("collectives", &RankFacts::collectives)
      .def_readwrite("end", &RankFacts::end)
      .def_readwrite("exit_code", &RankFacts::exit_code)
      .def_readwrite("signal", &RankFacts::signal)
      .def_readwrite("ended", &RankFacts::ended)
      .def_readwrite("error", &RankFacts::error)
      .def_readwrite("sentence", &RankFacts::sentence)
      .def_readwrite("where", &RankFacts::where)
      .def_readwrite("in_collective", &RankFacts::in_collective)
      .def_readwrite("findings", &RankFacts::findings);
  py::class_<RankFinding>(module, "RankFinding")
      .def_readonly("finding", &RankFinding::finding)
      .def_readonly("ranks", &RankFinding::ranks)
      .def_readonly("victims", &RankFinding::victims)
      .def_readonly("of_rank", &RankFinding::of_rank)
      .def_readonly("of_finding", &RankFinding::of_finding)
      .def_readonly("shown_rank", &RankFinding::shown_rank)
      .def_readonly("shown_finding", &RankFinding::shown_finding);
  module.def("ranks_text", &diagnose::ranks::ranks_text);
  module.def("diagnose_ranks", &diagnose::ranks::diagnose_ranks);
}

}  // namespace devsan::bindings
