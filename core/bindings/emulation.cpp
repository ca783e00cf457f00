#include <pybind11/functional.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include "bindings/bindings.h"
#include "emulate/calls/full_size/unknown_reads.h"
#include "emulate/runtime/autograd_threads.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/full_size/offloaded.h"
#include "emulate/runtime/full_size/unknown.h"
#include "emulate/runtime/generator.h"
#include "emulate/runtime/host_allocator.h"
#include "intercept/emulation.h"

namespace devsan::bindings {

namespace py = pybind11;

void bind_emulation(py::module_& module) {
  module.def("share_memory", &emulate::share_memory, py::arg("path"), py::arg("node"));
  module.def("show_memory", &emulate::show_memory, py::arg("path"));
  module.def("count_step", &emulate::count_step);
  module.def("start", &intercept::start_emulation, py::arg("devices"));
  module.def("stop", &intercept::stop_emulation, py::call_guard<py::gil_scoped_release>());
  module.def("draw_from_host", &emulate::draw_from_host, py::arg("wanted"));
  module.def("begin_with_zeros", &emulate::begin_with_zeros, py::arg("wanted"));
  module.def("place_on_first", &emulate::place_on_first, py::arg("wanted"));
  module.def("take_any_generator", &emulate::take_any_generator, py::arg("wanted"));
  module.def("start_full_size", &emulate::FullSize::start, py::arg("real_below"));
  module.def("stop_full_size", &emulate::FullSize::stop);
  module.def("is_unknown", &emulate::is_unknown, py::arg("tensor"));
  module.def("offloaded_peak", &emulate::Offloaded::peak);
  module.def("tell_unknown_reads", &emulate::set_told_of_reads, py::arg("told"));
  module.def("settle", &emulate::settle_autograd_threads, py::call_guard<py::gil_scoped_release>());
}

}  // namespace devsan::bindings
