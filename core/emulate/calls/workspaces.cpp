#include "emulate/calls/workspaces.h"

#include <unordered_map>
#include <unordered_set>

#include "emulate/runtime/cublas.h"
#include "emulate/runtime/kernel_memory.h"

namespace devsan::emulate {
namespace {

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

using Bytes = decltype(Workspace::bytes);

const std::unordered_map<std::string, Bytes>& table() {
  static const std::unordered_map<std::string, Bytes> rows{};
  return rows;
}

}  // namespace

Workspace workspace_of(const std::string& name) {
  const auto row = table().find(name);
  return {row == table().end() ? nullptr : row->second, uses_cublas(name)};
}

void take_workspace(const Workspace& workspace, std::size_t bytes, c10::Device device) {
  if (KernelMemory::current() != nullptr) return;
  if (workspace.uses_cublas) use_cublas(device.index());
  if (bytes != 0) KernelMemory(device.index()).scratch(bytes);
}

}  // namespace devsan::emulate
