#include <pybind11/stl.h>
#include <torch/csrc/Exceptions.h>

#include "bindings/bindings.h"
#include "emulate/operators/attention/attention_choice.h"

namespace devsan::bindings {

namespace py = pybind11;

namespace {

bool can_use_attention(const std::string& kernel, const at::Tensor& query, const at::Tensor& key,
                       const at::Tensor& value, const std::optional<at::Tensor>& mask, double dropout, bool is_causal,
                       bool enable_gqa, bool explain) {
  const torch::PyWarningHandler to_python;
  const emulate::AttentionCall call{query, key, value, mask, dropout, is_causal, enable_gqa};
  if (kernel == "flash") return emulate::can_use_flash_attention(call, explain);
  if (kernel == "efficient") return emulate::can_use_efficient_attention(call, explain);
  return emulate::can_use_cudnn_attention(call, explain);
}

}  // namespace

void bind_attention(py::module_& module) {
  module.def("can_use_attention", &can_use_attention, py::arg("kernel"), py::arg("query"), py::arg("key"),
             py::arg("value"), py::arg("mask"), py::arg("dropout"), py::arg("is_causal"), py::arg("enable_gqa"),
             py::arg("explain"));
}

}  // namespace devsan::bindings
