#include <pybind11/stl.h>

#include "bindings/bindings.h"
#include "emulate/device.h"
#include "emulate/tensor.h"
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

}  // namespace

void bind_operators(py::module_& module) {
  py::class_<intercept::FollowedKernel>(module, "FollowedKernel")
      .def(py::init([](const std::string& name, const std::string& key) {
             return intercept::FollowedKernel(name, c10::parseDispatchKey(key));
           }),
           py::arg("name"), py::arg("key"));
  module.def("take_over", &take_over, py::arg("tensor"));
}

}  // namespace devsan::bindings
