#include "emulate/calls/workspaces.h"

#include <unordered_map>
#include <unordered_set>

#include <ATen/ExpandUtils.h>
#include <ATen/native/Resize.h>

#include "emulate/calls/convolution_copies.h"
#include "emulate/calls/workspace_rows.h"
#include "emulate/runtime/cublas.h"
#include "emulate/runtime/full_size/unknown.h"
#include "emulate/runtime/kernel_memory.h"

namespace devsan::emulate {
namespace {

using Bytes = decltype(Workspace::bytes);

const std::unordered_map<std::string, Bytes>& rows() {
  static const std::unordered_map<std::string, Bytes> all = [] {
    std::unordered_map<std::string, Bytes> table{
        {"aten::convolution", &convolution_copies},
        {"aten::convolution_backward", &convolution_backward_copies},
    };
    for (const auto& family : {intermediate_workspaces(), sort_workspaces(), choice_workspaces(), scan_workspaces(),
                               reduction_workspaces(), index_workspaces()})
      table.insert(family.begin(), family.end());
    return table;
  }();
  return all;
}

/// aten/src/ATen/native/Loss.cpp and cuda/Loss.cu, binary_cross_entropy_out_cuda: the losses of all elements are reduced
/// into their own memory.
std::size_t kept_by_loss(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  const at::Tensor& target = arguments[1].toTensor();
  const auto sizes = at::infer_size_dimvector(self.sizes(), target.sizes());
  const at::ScalarType type = at::promoteTypes(self.scalar_type(), target.scalar_type());
  return static_cast<std::size_t>(c10::multiply_integers(sizes)) * c10::elementSize(type);
}

/// aten/src/ATen/native/cuda/UniqueCub.cu, compute_unique: the result is made as long as the operand, then shorter.
std::size_t kept_by_unique(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  return self.scalar_type() == at::kBool ? 0 : count_of(self) * self.itemsize();
}

Bytes kept_by(const std::string& name) {
  static const std::unordered_map<std::string, Bytes> rows{{"aten::mse_loss", &kept_by_loss},
                                                           {"aten::smooth_l1_loss", &kept_by_loss},
                                                           {"aten::binary_cross_entropy", &kept_by_loss},
                                                           {"aten::_unique2", &kept_by_unique},
                                                           {"aten::_unique", &kept_by_unique}};
  const auto row = rows.find(name);
  return row == rows.end() ? nullptr : row->second;
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
  return {row == rows().end() ? nullptr : row->second, kept_by(name), uses_cublas(name)};
}

void take_workspace(const Workspace& workspace, std::size_t bytes, c10::Device device) {
  if (KernelMemory::current() != nullptr) return;
  if (workspace.uses_cublas) use_cublas(device.index());
  if (bytes != 0) KernelMemory(device.index()).scratch(bytes);
}

void keep_memory(const at::Tensor& result, std::size_t bytes) {
  if (!result.defined() || result.storage().nbytes() >= bytes) return;
  if (is_unknown_on_host(result)) {
    resize_unknown(result, bytes);
  } else {
    at::native::resize_bytes_cpu(result.storage().unsafeGetStorageImpl(), bytes);
  }
}

}  // namespace devsan::emulate
