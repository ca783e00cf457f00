#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/python_ending.h"
#include "bindings/stacks.h"
#include "intercept/stream_watch.h"
#include "order/monitor.h"

namespace devsan::bindings {

namespace py = pybind11;

namespace {

using order::Monitor;

/// As Python has an access: (operator, whether it writes, device, stream, bytes, frames).
py::tuple tuple_of(const order::Access& access) {
  return py::make_tuple(*access.op, access.writes, access.lane.device, access.lane.stream, access.bytes.size(),
                        python_frames(Monitor::instance().stack(access.stack)));
}

const char* name_of(order::Race::Kind kind) {
  switch (kind) {
    case order::Race::Kind::kFreed:
      return "freed";
    case order::Race::Kind::kPinned:
      return "pinned";
    default:
      return "unordered";
  }
}

/// That the host has got at pinned memory which a copy still fills.
class HostRead {
 public:
  explicit HostRead(std::vector<order::Race> met) : met_(std::move(met)) {}

  /// The host has read it by now.
  void end() { Monitor::instance().tell_unknown(std::exchange(met_, {})); }

 private:
  std::vector<order::Race> met_;
};

std::optional<HostRead> begin_host_read(const at::Tensor& tensor, const std::string& method) {
  const std::optional<order::Touch> touch = intercept::host_read_of(tensor);
  if (!touch) return std::nullopt;
  static auto* names = new std::unordered_set<std::string>();  // never forgotten: accesses name what they are by
  std::vector<order::Race> met = Monitor::instance().under_way(*touch, &*names->insert(method).first);
  return met.empty() ? std::nullopt : std::optional<HostRead>(std::move(met));
}

/// Has `told(kind, earlier, later, frames of the free)` called for each race, once for a pair of places.
void start_order(py::function told) {
  // Leaked: the last thread that has it may not hold the GIL, or may be there when Python is not.
  auto* kept = new py::function(std::move(told));
  Monitor::instance().start(
      [kept](const order::Race& race) {
        if (!has_python()) return;
        const py::gil_scoped_acquire gil;
        (*kept)(name_of(race.kind), tuple_of(race.earlier), tuple_of(race.later),
                python_frames(Monitor::instance().stack(race.freed)));
      },
      &with_python_stack, &keep_code);
  intercept::start_stream_watch();
}

void stop_order() {
  intercept::stop_stream_watch();
  Monitor::stop_watching();
}

}  // namespace

void bind_order(py::module_& module) {
  py::class_<HostRead>(module, "HostRead").def("end", &HostRead::end);
  module.def("begin_host_read", &begin_host_read, py::arg("tensor"), py::arg("method"));
  module.def("start_order", &start_order, py::arg("told"));
  module.def("join_order", &intercept::join_stream_watch);
  module.def("leave_order", &intercept::stop_stream_watch);
  module.def("stop_order", &stop_order);
}

}  // namespace devsan::bindings
