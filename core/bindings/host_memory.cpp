#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "emulate/runtime/pinned_memory.h"
#include "memory/host_room.h"

namespace devsan::bindings {

namespace py = pybind11;

namespace {

template <typename Stat>
py::dict as_dict(const Stat& stat) {
  py::dict dict;
  dict["current"] = stat.current;
  dict["peak"] = stat.peak;
  dict["allocated"] = stat.allocated;
  dict["freed"] = stat.freed;
  return dict;
}

py::dict no_time() {
  py::dict dict;
  for (const char* name : {"total", "max", "min", "count", "avg"}) dict[name] = 0;
  return dict;
}

/// The layout of torch.cuda.host_memory_stats_as_nested_dict (torch/csrc/cuda/Module.cpp, THCPModule_hostMemoryStats).
py::dict host_memory_stats() {
  const at::HostStats stats = emulate::pinned_allocator().get_stats();
  py::dict dict;
  dict["num_host_alloc"] = stats.num_host_alloc;
  dict["num_host_free"] = stats.num_host_free;
  dict["allocations"] = as_dict(stats.allocations);
  dict["active_requests"] = as_dict(stats.active_requests);
  dict["allocated_bytes"] = as_dict(stats.allocated_bytes);
  dict["active_bytes"] = as_dict(stats.active_bytes);
  dict["host_alloc_time"] = no_time();
  dict["host_free_time"] = no_time();
  return dict;
}

/// Bytes left, bytes in all (0 where nothing is known), and what bounds them.
std::tuple<std::uint64_t, std::uint64_t, std::string> host_room() {
  const memory::HostRoom room = memory::read_host_room();
  return {room.left, room.total, std::string(memory::name(room.by))};
}

}  // namespace

void bind_host_memory(py::module_& module) {
  module.def("host_room", &host_room);
  module.def("host_memory_stats", &host_memory_stats);
  module.def("reset_peak_host_memory_stats", [] { emulate::pinned_allocator().reset_peak_stats(); });
  module.def("reset_accumulated_host_memory_stats", [] { emulate::pinned_allocator().reset_accumulated_stats(); });
  module.def("host_allocator",
             [] { return reinterpret_cast<std::uintptr_t>(&emulate::pinned_allocator()); });  // NOLINT
}

}  // namespace devsan::bindings
