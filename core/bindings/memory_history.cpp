#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/held_memory.h"
#include "emulate/runtime/origin.h"

namespace devsan::bindings {

namespace py = pybind11;

namespace {

// The layout of torch.cuda.memory._snapshot() (torch/csrc/cuda/Module.cpp, THCPModule_memorySnapshot). Who allocated a
// block is told by DevSan's reports, so that "frames" is empty here.

py::tuple default_pool() { return py::make_tuple(0, 0); }

py::dict as_dict(const memory::SegmentBlock& block) {
  py::dict dict;
  dict["address"] = block.address;
  dict["size"] = block.size;
  dict["requested_size"] = block.requested_size;
  dict["state"] = memory::name(block.state);
  dict["frames"] = py::list();
  return dict;
}

py::dict as_dict(const memory::Segment& segment) {
  py::dict dict;
  dict["device"] = segment.device;
  dict["address"] = segment.address;
  dict["total_size"] = segment.total_size;
  dict["allocated_size"] = segment.allocated_size;
  dict["active_size"] = segment.active_size;
  dict["requested_size"] = segment.requested_size;
  dict["stream"] = segment.stream;
  dict["segment_type"] = segment.type();
  dict["segment_pool_id"] = default_pool();
  dict["is_expandable"] = segment.is_expandable;
  dict["frames"] = py::list();
  py::list blocks;
  for (const memory::SegmentBlock& block : segment.blocks) blocks.append(as_dict(block));
  dict["blocks"] = blocks;
  return dict;
}

py::dict as_dict(const memory::TraceEvent& event) {
  py::dict dict;
  dict["action"] = memory::name(event.action);
  dict[event.action == memory::TraceAction::kOutOfMemory ? "device_free" : "addr"] = event.address;
  dict["size"] = event.size;
  dict["stream"] = event.stream;
  dict["time_us"] = event.time_us;
  dict["compile_context"] = "N/A";
  dict["user_metadata"] = "";
  dict["pool_id"] = default_pool();
  dict["frames"] = py::list();
  return dict;
}

template <typename Items>
py::list as_list(const Items& items) {
  py::list list;
  for (const auto& item : items) list.append(as_dict(item));
  return list;
}

py::dict allocator_settings() {
  const memory::Settings settings = emulate::device(0).allocator.settings();
  const bool limited = settings.max_split_size() != memory::Settings::kUnlimited;
  py::dict dict;
  dict["PYTORCH_CUDA_ALLOC_CONF"] = settings.text();
  dict["max_split_size"] = limited ? static_cast<std::int64_t>(settings.max_split_size()) : -1;
  dict["garbage_collection_threshold"] = settings.garbage_collection_threshold();
  dict["expandable_segments"] = settings.expandable_segments();
  return dict;
}

void for_each_allocator(const std::function<void(memory::CachingAllocator&)>& visit) {
  for (c10::DeviceIndex i = 0; i < emulate::device_count(); ++i) visit(emulate::device(i).allocator);
}

void record_memory_history(bool enabled, std::size_t max_entries) {
  for_each_allocator([&](memory::CachingAllocator& allocator) { allocator.record_history(enabled, max_entries); });
}

void update_allocator_settings(const std::string& text) {
  memory::Settings().update(text);  // a text that is refused must change nothing, on no device
  for_each_allocator([&](memory::CachingAllocator& allocator) { allocator.update_settings(text); });
}

using Named = std::tuple<at::Tensor, model::HolderKind, std::string>;

std::vector<emulate::NamedTensor> as_named(const std::vector<Named>& named) {
  std::vector<emulate::NamedTensor> tensors;
  tensors.reserve(named.size());
  for (const auto& [tensor, kind, name] : named) tensors.push_back({tensor, kind, name});
  return tensors;
}

std::optional<model::HeldMemory> held_memory(const std::string& message, const std::vector<Named>& named) {
  return emulate::held_memory(message, as_named(named));
}

}  // namespace

void bind_memory_history(py::module_& module) {
  module.def(
      "memory_segments", [](c10::DeviceIndex device) { return as_list(emulate::device(device).allocator.snapshot()); },
      py::arg("device"));
  module.def(
      "memory_trace", [](c10::DeviceIndex device) { return as_list(emulate::device(device).allocator.trace()); },
      py::arg("device"));
  module.def("held_memory", &held_memory, py::arg("message"), py::arg("named"));
  module.def("watch_peaks", &memory::PeakWatch::watch, py::arg("wanted"));
  module.def("has_new_peak", &emulate::has_new_peak);
  module.def(
      "peaks",
      [](const std::vector<Named>& named, const emulate::ScopeNames& modules) {
        return emulate::peaks(as_named(named), modules);
      },
      py::arg("named"), py::arg("modules"));
  module.def(
      "mark_cache", [](const at::Tensor& tensor) { emulate::set_use(tensor, memory::Use::kCache); }, py::arg("tensor"));
  module.def("record_memory_history", &record_memory_history, py::arg("enabled"), py::arg("max_entries"));
  module.def("is_memory_history_recorded",
             [] { return emulate::device_count() > 0 && emulate::device(0).allocator.is_history_recorded(); });
  module.def("allocator_settings", &allocator_settings);
  module.def("update_allocator_settings", &update_allocator_settings, py::arg("text"));
}

}  // namespace devsan::bindings
