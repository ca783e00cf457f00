#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "bindings/record.h"
#include "model/facts.h"

namespace devsan::bindings {

namespace py = pybind11;
using namespace devsan::model;

namespace {

void bind_enums(py::module_& module) {
  py::enum_<EventKind>(module, "EventKind")
      .value("MADE", EventKind::kMade)
      .value("MOVED", EventKind::kMoved)
      .value("LOADED", EventKind::kLoaded)
      .value("COMPUTED", EventKind::kComputed)
      .value("SHARED", EventKind::kShared);
  py::enum_<DeviceSource>(module, "DeviceSource")
      .value("UNKNOWN", DeviceSource::kUnknown)
      .value("DEFAULT", DeviceSource::kDefault)
      .value("CURRENT", DeviceSource::kCurrent)
      .value("LITERAL", DeviceSource::kLiteral)
      .value("SCALAR", DeviceSource::kScalar)
      .value("PEER", DeviceSource::kPeer)
      .value("MAP", DeviceSource::kMap);
  py::enum_<OperandKind>(module, "OperandKind")
      .value("UNKNOWN", OperandKind::kUnknown)
      .value("PARAMETER", OperandKind::kParameter)
      .value("BUFFER", OperandKind::kBuffer)
      .value("ATTRIBUTE", OperandKind::kAttribute)
      .value("LOCAL", OperandKind::kLocal)
      .value("TEMPORARY", OperandKind::kTemporary)
      .value("INPUT", OperandKind::kInput)
      .value("OPTIMIZER_STATE", OperandKind::kOptimizerState)
      .value("CACHE", OperandKind::kCache)
      .value("GLOBAL", OperandKind::kGlobal)
      .value("GENERATOR", OperandKind::kGenerator)
      .value("NUMBER", OperandKind::kNumber);
  py::enum_<SentenceKind>(module, "SentenceKind")
      .value("NONE", SentenceKind::kNone)
      .value("MIXED", SentenceKind::kMixed)
      .value("INDEX", SentenceKind::kIndex)
      .value("GRADIENT", SentenceKind::kGradient)
      .value("MODULE", SentenceKind::kModule)
      .value("NUMPY", SentenceKind::kNumpy)
      .value("GENERATOR", SentenceKind::kGenerator)
      .value("ORDINAL", SentenceKind::kOrdinal)
      .value("MEMORY", SentenceKind::kMemory)
      .value("META", SentenceKind::kMeta)
      .value("POINTER", SentenceKind::kPointer)
      .value("GROUP", SentenceKind::kGroup)
      .value("LOAD", SentenceKind::kLoad)
      .value("PLACEMENT", SentenceKind::kPlacement);
  py::enum_<Phase>(module, "Phase")
      .value("NONE", Phase::kNone)
      .value("LOAD", Phase::kLoad)
      .value("DATA", Phase::kData)
      .value("FORWARD", Phase::kForward)
      .value("LOSS", Phase::kLoss)
      .value("BACKWARD", Phase::kBackward)
      .value("OPTIMIZER", Phase::kOptimizer)
      .value("GENERATE", Phase::kGenerate);
}

void bind_places(py::module_& module) {
  py::class_<Device>(module, "Device")
      .def(py::init([](const std::string& text) { return Device(text); }), py::arg("text") = "")
      .def_readonly("type", &Device::type)
      .def_readonly("index", &Device::index)
      .def("__str__", &Device::str)
      .def("__eq__", [](const Device& self, const Device& other) { return self == other; })
      .def("__hash__", [](const Device& self) { return py::hash(py::str(self.str())); });
  py::implicitly_convertible<py::str, Device>();
  bind_record<Span>(module, "Span")
      .def_readwrite("line", &Span::line)
      .def_readwrite("column", &Span::column)
      .def_readwrite("end_line", &Span::end_line)
      .def_readwrite("end_column", &Span::end_column);
  bind_record<Frame>(module, "Frame")
      .def_readwrite("file", &Frame::file)
      .def_readwrite("span", &Frame::span)
      .def_readwrite("function", &Frame::function)
      .def_readwrite("source", &Frame::source)
      .def_readwrite("package", &Frame::package)
      .def_readwrite("module", &Frame::module);
  bind_record<Owner>(module, "Owner")
      .def_readwrite("name", &Owner::name)
      .def_readwrite("mechanism", &Owner::mechanism)
      .def_readwrite("setting", &Owner::setting)
      .def_readwrite("where", &Owner::where);
}

void bind_events(py::module_& module) {
  bind_record<Event>(module, "Event")
      .def_readwrite("kind", &Event::kind)
      .def_readwrite("device", &Event::device)
      .def_readwrite("from_device", &Event::from)
      .def_readwrite("op", &Event::op)
      .def_readwrite("bytes", &Event::bytes)
      .def_readwrite("owner", &Event::owner)
      .def_readwrite("stack", &Event::stack)
      .def_readwrite("source", &Event::source)
      .def_readwrite("device_text", &Event::device_text)
      .def_readwrite("followed", &Event::followed)
      .def_readwrite("subject", &Event::subject)
      .def_readwrite("sequence", &Event::sequence)
      .def_readwrite("step", &Event::step)
      .def_readwrite("discarded", &Event::discarded)
      .def_property_readonly("site", &Event::site, py::return_value_policy::copy);
}

void bind_failure(py::module_& module) {
  bind_record<Operand>(module, "Operand")
      .def_readwrite("role", &Operand::role)
      .def_readwrite("name", &Operand::name)
      .def_readwrite("qualified_name", &Operand::qualified_name)
      .def_readwrite("output_of", &Operand::output_of)
      .def_readwrite("kind", &Operand::kind)
      .def_readwrite("device", &Operand::device)
      .def_readwrite("dtype", &Operand::dtype)
      .def_readwrite("shape", &Operand::shape)
      .def_readwrite("bytes", &Operand::bytes)
      .def_readwrite("offending", &Operand::offending)
      .def_readwrite("span", &Operand::span)
      .def_readwrite("provenance", &Operand::provenance)
      .def_readwrite("copies", &Operand::copies)
      .def_readwrite("holder", &Operand::holder)
      .def_readwrite("beside", &Operand::beside)
      .def_readwrite("beside_device", &Operand::beside_device)
      .def_readwrite("registered", &Operand::registered)
      .def_readwrite("requires_grad", &Operand::requires_grad)
      .def_readwrite("is_leaf", &Operand::is_leaf)
      .def_property_readonly("best_name", &Operand::best_name)
      .def_property_readonly(
          "placement", [](const Operand& self) { return placement_of(self.provenance); },
          py::return_value_policy::copy);
  bind_record<Failure>(module, "Failure")
      .def_readwrite("op", &Failure::op)
      .def_readwrite("sentence", &Failure::sentence)
      .def_readwrite("kind", &Failure::kind)
      .def_readwrite("figures", &Failure::figures)
      .def_readwrite("operands", &Failure::operands)
      .def_readwrite("frames", &Failure::frames)
      .def_readwrite("phase", &Failure::phase)
      .def_readwrite("step", &Failure::step)
      .def_property_readonly("site", &Failure::site, py::return_value_policy::copy);
}

void bind_models(py::module_& module) {
  bind_record<ModuleTensor>(module, "ModuleTensor")
      .def_readwrite("name", &ModuleTensor::name)
      .def_readwrite("is_buffer", &ModuleTensor::is_buffer)
      .def_readwrite("is_persistent", &ModuleTensor::is_persistent)
      .def_readwrite("device", &ModuleTensor::device)
      .def_readwrite("dtype", &ModuleTensor::dtype)
      .def_readwrite("bytes", &ModuleTensor::bytes);
  bind_record<Hook>(module, "Hook")
      .def_readwrite("owner", &Hook::owner)
      .def_readwrite("type", &Hook::type)
      .def_readwrite("execution_device", &Hook::execution_device)
      .def_readwrite("offload", &Hook::offload)
      .def_readwrite("io_same_device", &Hook::io_same_device)
      .def_readwrite("skip_keys", &Hook::skip_keys);
  bind_record<Module>(module, "Module")
      .def_readwrite("path", &Module::path)
      .def_readwrite("type", &Module::type)
      .def_readwrite("package", &Module::package)
      .def_readwrite("is_container", &Module::is_container)
      .def_readwrite("no_split", &Module::no_split)
      .def_readwrite("tensors", &Module::tensors)
      .def_readwrite("hooks", &Module::hooks);
  bind_record<MapEntry>(module, "MapEntry")
      .def_readwrite("key", &MapEntry::key)
      .def_readwrite("device", &MapEntry::device);
  bind_record<Model>(module, "Model")
      .def_readwrite("expression", &Model::expression)
      .def_readwrite("type", &Model::type)
      .def_readwrite("device_map", &Model::device_map)
      .def_readwrite("device_map_text", &Model::device_map_text)
      .def_readwrite("wrappers", &Model::wrappers)
      .def_readwrite("quantization", &Model::quantization)
      .def_readwrite("skip_keys", &Model::skip_keys)
      .def_readwrite("no_split", &Model::no_split)
      .def_readwrite("modules", &Model::modules)
      .def_readwrite("placements", &Model::placements);
}

void bind_surroundings(py::module_& module) {
  bind_record<OptimizerState>(module, "OptimizerState")
      .def_readwrite("key", &OptimizerState::key)
      .def_readwrite("parameter", &OptimizerState::parameter)
      .def_readwrite("device", &OptimizerState::device)
      .def_readwrite("parameter_device", &OptimizerState::parameter_device);
  bind_record<Optimizer>(module, "Optimizer")
      .def_readwrite("type", &Optimizer::type)
      .def_readwrite("built", &Optimizer::built)
      .def_readwrite("loaded", &Optimizer::loaded)
      .def_readwrite("states", &Optimizer::states);
  bind_record<Setting>(module, "Setting")
      .def_readwrite("name", &Setting::name)
      .def_readwrite("value", &Setting::value)
      .def_readwrite("where", &Setting::where);
  bind_record<Link>(module, "Link")
      .def_readwrite("from_device", &Link::from)
      .def_readwrite("to_device", &Link::to)
      .def_readwrite("tested", &Link::tested)
      .def_readwrite("damaged", &Link::damaged)
      .def_readwrite("peer_access", &Link::peer_access)
      .def_readwrite("bytes", &Link::bytes);
  bind_record<Process>(module, "Process")
      .def_readwrite("rank", &Process::rank)
      .def_readwrite("local_rank", &Process::local_rank)
      .def_readwrite("world_size", &Process::world_size)
      .def_readwrite("current_device", &Process::current_device)
      .def_readwrite("set_device_called", &Process::set_device_called)
      .def_readwrite("device_count", &Process::device_count)
      .def_readwrite("visible_devices", &Process::visible_devices)
      .def_readwrite("default_device", &Process::default_device)
      .def_readwrite("default_set", &Process::default_set)
      .def_readwrite("versions", &Process::versions)
      .def_readwrite("environment", &Process::environment);
  bind_record<Facts>(module, "Facts")
      .def_readwrite("failure", &Facts::failure)
      .def_readwrite("models", &Facts::models)
      .def_readwrite("optimizers", &Facts::optimizers)
      .def_readwrite("settings", &Facts::settings)
      .def_readwrite("links", &Facts::links)
      .def_readwrite("process", &Facts::process);
}

}  // namespace

void bind_facts(py::module_& module) {
  bind_enums(module);
  bind_places(module);
  bind_events(module);
  bind_failure(module);
  bind_models(module);
  bind_surroundings(module);
}

}  // namespace devsan::bindings
