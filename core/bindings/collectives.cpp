#include <pybind11/chrono.h>

#include <memory>

#include "bindings/bindings.h"
#include "collectives/attendance.h"
#include "collectives/communicator.h"
#include "collectives/failures.h"
#include "collectives/nccl_backend.h"
#include "collectives/payload.h"
#include "collectives/sampled_gloo.h"
#include "collectives/traffic.h"

namespace devsan::bindings {
namespace {

namespace py = pybind11;
using collectives::NcclBackend;
using collectives::NcclConfig;
using collectives::NcclOptions;
using collectives::SampledGloo;

/// As torch holds its backends (torch/csrc/distributed/c10d/init.cpp): their destructors join threads, which may be
/// waiting for Python's lock.
template <typename T>
class NoGilHolder {
 public:
  NoGilHolder() = default;
  NoGilHolder(c10::intrusive_ptr<T> held) : held_(std::move(held)) {}
  explicit NoGilHolder(T* held) : held_(held, c10::raw::DontIncreaseRefcount{}) {}
  NoGilHolder(const NoGilHolder&) = default;
  NoGilHolder(NoGilHolder&&) noexcept = default;
  NoGilHolder& operator=(const NoGilHolder&) = default;
  NoGilHolder& operator=(NoGilHolder&&) noexcept = default;
  ~NoGilHolder() {
    if (held_ && PyGILState_Check()) {
      const py::gil_scoped_release released;
      held_.reset();
    } else {
      held_.reset();
    }
  }
  T* get() const noexcept { return held_.get(); }
  T& operator*() const noexcept { return *held_; }
  T* operator->() const noexcept { return held_.get(); }

 private:
  c10::intrusive_ptr<T> held_;
};

/// gloo's headers are not shipped with every torch; its Python class is.
c10::intrusive_ptr<c10d::Backend> make_gloo(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                            std::chrono::milliseconds timeout) {
  const py::gil_scoped_acquire locked;
  const py::object make = py::module_::import("devsan.cuda.collectives").attr("make_gloo");
  return make(store, rank, size, timeout).cast<c10::intrusive_ptr<c10d::Backend>>();
}

}  // namespace
}  // namespace devsan::bindings

PYBIND11_DECLARE_HOLDER_TYPE(T, devsan::bindings::NoGilHolder<T>, true)

namespace devsan::bindings {

void bind_collectives(py::module_& module) {
  module.def("bytes_sent", &collectives::bytes_sent);
  module.def("share_gpus", &collectives::share_gpus, py::arg("wanted"));
  module.def("set_sample", &collectives::set_sample, py::arg("ranks"), py::arg("world_size"));
  const auto stand_in = [](int rank, const std::vector<std::uint64_t>& global_ranks) {
    return collectives::Attendance(static_cast<int>(global_ranks.size()), global_ranks).stand_in(rank);
  };
  module.def("stand_in", stand_in, py::arg("rank"), py::arg("global_ranks"));
  // torch's own classes are the bases; without them (a torch built without distributed) there is no nccl.
  py::object c10d;
  try {
    c10d = py::module_::import("torch._C._distributed_c10d");
  } catch (py::error_already_set&) {
    return;
  }
  module.def("set_nccl_version", &collectives::set_nccl_version);
  py::class_<NcclBackend, NoGilHolder<NcclBackend>> backend(module, "ProcessGroupNCCL", c10d.attr("Backend"));

  py::class_<NcclConfig>(backend, "NCCLConfig")
      .def(py::init<>())
      .def_readwrite("blocking", &NcclConfig::blocking)
      .def_readwrite("cga_cluster_size", &NcclConfig::cga_cluster_size)
      .def_readwrite("min_ctas", &NcclConfig::min_ctas)
      .def_readwrite("max_ctas", &NcclConfig::max_ctas)
      .def_readwrite("split_share", &NcclConfig::split_share)
      .def_readwrite("traffic_class", &NcclConfig::traffic_class)
      .def_readwrite("collnet_enable", &NcclConfig::collnet_enable)
      .def_readwrite("cta_policy", &NcclConfig::cta_policy)
      .def_readwrite("shrink_share", &NcclConfig::shrink_share)
      .def_readwrite("nvls_ctas", &NcclConfig::nvls_ctas)
      .def_readwrite("net_name", &NcclConfig::net_name)
      .def("__copy__", [](const NcclConfig& self) { return NcclConfig(self); })
      .def("__deepcopy__", [](const NcclConfig& self, const py::dict&) { return NcclConfig(self); });

  py::class_<NcclOptions, c10::intrusive_ptr<NcclOptions>>(backend, "Options", c10d.attr("Backend").attr("Options"))
      .def(py::init([](bool high_priority) { return c10::make_intrusive<NcclOptions>(high_priority); }),
           py::arg("is_high_priority_stream") = false)
      .def_readwrite("config", &NcclOptions::config)
      .def_readwrite("is_high_priority_stream", &NcclOptions::is_high_priority_stream)
      .def_property(
          "split_from", [](const NcclOptions& self) { return NoGilHolder<NcclBackend>(self.split_from); },
          [](NcclOptions& self, const py::object& parent) {
            self.split_from =
                parent.is_none()
                    ? c10::intrusive_ptr<NcclBackend>()
                    : c10::intrusive_ptr<NcclBackend>::unsafe_reclaim_from_nonowning(parent.cast<NcclBackend*>());
          })
      .def_readwrite("split_color", &NcclOptions::split_color)
      .def("__copy__", [](const NcclOptions& self) { return c10::make_intrusive<NcclOptions>(self); })
      .def("__deepcopy__",
           [](const NcclOptions& self, const py::dict&) { return c10::make_intrusive<NcclOptions>(self); });

  const auto make = [](const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                       c10::intrusive_ptr<NcclOptions> options) {
    const py::gil_scoped_release released;
    return NoGilHolder<NcclBackend>(
        c10::make_intrusive<NcclBackend>(store, rank, size, std::move(options), &make_gloo));
  };
  backend.def(py::init(make), py::arg("store"), py::arg("rank"), py::arg("size"), py::arg("options"))
      .def(py::init([make](const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                           std::chrono::milliseconds timeout) {
             auto options = c10::make_intrusive<NcclOptions>();
             options->timeout = timeout;
             return make(store, rank, size, std::move(options));
           }),
           py::arg("store"), py::arg("rank"), py::arg("size"), py::arg("timeout") = NcclOptions::kDefaultTimeout)
      .def_property_readonly("uid", &NcclBackend::id)
      .def_property_readonly("options", &NcclBackend::nccl_options)
      .def_property("bound_device_id", &NcclBackend::getBoundDeviceId, &NcclBackend::setBoundDeviceId)
      .def("_set_default_timeout", &NcclBackend::setTimeout, py::arg("timeout"))
      .def("_is_initialized", &NcclBackend::is_initialized)
      .def("perform_nocolor_split", &NcclBackend::perform_nocolor_split)
      .def("comm_split_count", &NcclBackend::split_count)
      .def("get_error", &NcclBackend::getError)
      .def("abort", &NcclBackend::abort, py::call_guard<py::gil_scoped_release>())
      .def("_shutdown", &NcclBackend::shutdown, py::call_guard<py::gil_scoped_release>())
      .def("_group_start", &NcclBackend::startCoalescing)
      .def("_group_end", [](NcclBackend& self) { self.endCoalescing(); })
      .def("_verify_work_timeout", [](NcclBackend&, const py::object&, const py::object&) { return true; })
      .def("_add_ephemeral_timeout", [](NcclBackend&, std::chrono::milliseconds) {})
      .def("_set_enable_nan_check", [](NcclBackend&, bool) {});

  using BackendOptions = c10::intrusive_ptr<c10d::Backend::Options>;
  const auto make_sampled = [](const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                               BackendOptions options) {
    return NoGilHolder<SampledGloo>(
        c10::make_intrusive<SampledGloo>(store, rank, size, std::move(options), &make_gloo));
  };
  py::class_<SampledGloo, NoGilHolder<SampledGloo>>(module, "SampledGloo", c10d.attr("Backend"))
      .def(py::init(make_sampled), py::arg("store"), py::arg("rank"), py::arg("size"), py::arg("options"))
      .def(py::init([make_sampled](const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                   std::chrono::milliseconds timeout) {
             return make_sampled(store, rank, size, c10::make_intrusive<c10d::Backend::Options>("gloo", timeout));
           }),
           py::arg("store"), py::arg("rank"), py::arg("size"), py::arg("timeout") = kBackendDefaultTimeout)
      .def_property_readonly("options", &SampledGloo::options)
      .def("_set_default_timeout", &SampledGloo::setTimeout, py::arg("timeout"));
  module.def("hash_tensors", &collectives::hash_of, py::arg("tensors"), py::call_guard<py::gil_scoped_release>());
}

}  // namespace devsan::bindings
