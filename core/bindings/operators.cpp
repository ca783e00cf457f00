#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "bindings/python_ending.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/tensor.h"
#include "intercept/alignment.h"
#include "intercept/python_operators.h"

namespace devsan::bindings {

namespace py = pybind11;

namespace {

at::Tensor take_over(const at::Tensor& tensor) {
  if (tensor.is_cuda() && !emulate::is_virtual(tensor) && tensor.has_storage()) {
    emulate::device(tensor.device().index());
    emulate::take_over(tensor);
  }
  return tensor;
}

/// Has `told(sentence)` called where the calling thread goes on after a mismatch.
void start_alignment(py::function told) {
  // Leaked: the last thread that has it may not hold the GIL, or may be there when Python is not.
  auto* kept = new py::function(std::move(told));
  intercept::start_alignment([kept](const char* sentence) {
    if (!has_python()) return;
    const py::gil_scoped_acquire gil;
    (*kept)(sentence);
  });
}

}  // namespace

void bind_operators(py::module_& module) {
  py::class_<intercept::FollowedKernel>(module, "FollowedKernel")
      .def(py::init([](const std::string& name, const std::string& key) {
             return intercept::FollowedKernel(name, c10::parseDispatchKey(key));
           }),
           py::arg("name"), py::arg("key"));
  module.def("start_alignment", &start_alignment, py::arg("told"));
  module.def("join_alignment", &intercept::join_alignment);
  module.def("stop_alignment", &intercept::stop_alignment);
  module.def("take_over", &take_over, py::arg("tensor"));
}

}  // namespace devsan::bindings
