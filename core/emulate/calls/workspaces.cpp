#include "emulate/calls/workspaces.h"

#include <unordered_map>
#include <unordered_set>

#include "emulate/calls/convolution_copies.h"
#include "emulate/calls/workspace_rows.h"
#include "emulate/runtime/cublas.h"
#include "emulate/runtime/kernel_memory.h"

namespace devsan::emulate {
namespace {

using Bytes = decltype(Workspace::bytes);

/// aten/src/ATen/native/cuda/SoftMax.cu, softmax_backward_cuda_out: the product of gradient and result, which that of the
/// logarithm does without.
std::size_t softmax_backward(Workspace::Arguments arguments) {
  const at::Tensor& grad = arguments[0].toTensor();
  return count_of(grad) * grad.itemsize();
}

const std::unordered_map<std::string, Bytes>& rows() {
  static const std::unordered_map<std::string, Bytes> all = [] {
    std::unordered_map<std::string, Bytes> table{
        {"aten::_softmax_backward_data", &softmax_backward},
        {"aten::convolution", &convolution_copies},
        {"aten::convolution_backward", &convolution_backward_copies},
    };
    for (const auto& family : {sort_workspaces(), reduction_workspaces()}) table.insert(family.begin(), family.end());
    return table;
  }();
  return all;
}

/// aten/src/ATen/native/cuda/Blas.cpp and LinearAlgebra.cpp: what calls at::cuda::blas.
bool uses_cublas(const std::string& name) {
  static const std::unordered_set<std::string> names{
      "_addmm_activation", "_int_mm", "_scaled_mm", "addbmm", "addmm", "addmv",
      "baddbmm",           "bmm",     "dot",        "mm",     "mv",    "vdot"};
  if (name.rfind("aten::", 0) != 0) return false;
  std::string base = name.substr(6, name.find('.') - 6);
  if (!base.empty() && base.back() == '_') base.pop_back();
  return names.count(base) != 0;
}

}  // namespace

Workspace workspace_of(const std::string& name) {
  const auto row = rows().find(name);
  return {row == rows().end() ? nullptr : row->second, uses_cublas(name)};
}

void take_workspace(const Workspace& workspace, std::size_t bytes, c10::Device device) {
  if (KernelMemory::current() != nullptr) return;
  if (workspace.uses_cublas) use_cublas(device.index());
  if (bytes != 0) KernelMemory(device.index()).scratch(bytes);
}

}  // namespace devsan::emulate
