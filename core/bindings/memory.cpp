#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/device_allocator.h"
#include "emulate/runtime/gpu_trace.h"
#include "emulate/runtime/stream.h"
#include "emulate/runtime/torch_release.h"
#include "memory/cuda_context.h"
#include "memory/out_of_memory.h"

namespace devsan::bindings {

namespace py = pybind11;

namespace {

memory::CachingAllocator& allocator_of(c10::DeviceIndex device) { return emulate::device(device).allocator; }

py::dict as_dict(const memory::Stat& stat) {
  py::dict dict;
  dict["current"] = stat.current;
  dict["peak"] = stat.peak;
  dict["allocated"] = stat.allocated;
  dict["freed"] = stat.freed;
  return dict;
}

py::dict memory_stats(c10::DeviceIndex device) {
  const memory::Stats stats = allocator_of(device).stats();
  py::dict dict;
  memory::for_each_counter(stats, [&](const char* name, std::int64_t count) { dict[name] = count; });
  if (emulate::torch_release() < memory::TorchRelease{2, 12}) PyDict_DelItemString(dict.ptr(), "num_oom_rejections");
  memory::for_each_array(stats, [&](const char* name, const memory::StatArray& array) {
    py::dict pools;
    for (std::size_t i = 0; i < array.by_pool.size(); ++i) pools[memory::kStatPoolNames[i]] = as_dict(array.by_pool[i]);
    dict[name] = pools;
  });
  memory::for_each_stat(stats, [&](const char* name, const memory::Stat& stat) { dict[name] = as_dict(stat); });
  return dict;
}

using RawBlocks = std::unordered_map<memory::Address, memory::Block*>;

/// Blocks taken beside any tensor, by their address: caching_allocator_alloc. They carry no bytes, and end with their GPUs,
/// because the next ones give out the same addresses. Python's lock guards them: every function here holds it, and a
/// free-threaded Python turns it on when it imports an extension that does not declare Py_MOD_GIL_NOT_USED.
RawBlocks& raw_blocks() {
  static auto* blocks = new emulate::SinceStart<RawBlocks>();
  return blocks->get([] { return RawBlocks{}; });
}

memory::Address raw_allocate(std::size_t bytes, std::uintptr_t stream) {
  auto& target = emulate::device(emulate::current_device());
  try {
    memory::Block* block =
        target.allocator.allocate(bytes, static_cast<memory::StreamId>(emulate::stream_of_handle(stream)));
    if (block == nullptr) return 0;
    raw_blocks()[block->address] = block;
    emulate::trace(&c10::impl::PyInterpreterVTable::trace_gpu_memory_allocation, block->address);
    return block->address;
  } catch (const memory::OutOfMemory& error) {
    TORCH_CHECK_WITH(OutOfMemoryError, false, error.what());
  }
}

void raw_free(memory::Address address) {
  if (address == 0) return;
  const auto found = raw_blocks().find(address);
  TORCH_CHECK(found != raw_blocks().end(), "invalid device pointer: 0x", std::hex, address);
  memory::Block* block = found->second;
  raw_blocks().erase(found);
  emulate::trace(&c10::impl::PyInterpreterVTable::trace_gpu_memory_deallocation, address);
  block->owner->free(block);
}

}  // namespace

void bind_memory(py::module_& module) {
  module.def("memory_stats", &memory_stats, py::arg("device"));
  module.def(
      "reset_peak_memory_stats", [](c10::DeviceIndex device) { allocator_of(device).reset_peak_stats(); },
      py::arg("device"));
  module.def(
      "reset_accumulated_memory_stats", [](c10::DeviceIndex device) { allocator_of(device).reset_accumulated_stats(); },
      py::arg("device"));
  module.def("empty_cache", [] { emulate::device_allocator().emptyCache({0, 0}); });
  module.def(
      "memory_info", [](c10::DeviceIndex device) { return emulate::device_allocator().getMemoryInfo(device); },
      py::arg("device"));
  module.def("context_bytes", &memory::context_bytes, py::arg("total_bytes"));
  module.def(
      "memory_fraction", [](c10::DeviceIndex device) { return allocator_of(device).memory_fraction(); },
      py::arg("device"));
  module.def(
      "set_memory_fraction",
      [](double fraction, c10::DeviceIndex device) { allocator_of(device).set_memory_fraction(fraction); },
      py::arg("fraction"), py::arg("device"));
  module.def(
      "gpu_processes",
      [](const std::string& uuid) {
        py::list found;
        for (const memory::ProcessUse& use : emulate::gpu_processes(uuid)) {
          found.append(py::make_tuple(use.process_id, use.bytes));
        }
        return found;
      },
      py::arg("uuid"));
  module.def("raw_allocate", &raw_allocate, py::arg("bytes"), py::arg("stream"));
  module.def("raw_free", &raw_free, py::arg("address"));
}

}  // namespace devsan::bindings
