#include "collectives/payload.h"

#include <algorithm>

#include <ATen/Functions.h>
#include <c10/util/hash.h>

#include "emulate/runtime/tensor.h"

namespace devsan::collectives {
namespace {

/// The types of GENERATE_ALL_TYPES (torch/csrc/distributed/c10d/ProcessGroupGloo.cpp).
bool gloo_moves(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
    case at::kDouble:
    case at::kHalf:
    case at::kBFloat16:
    case at::kChar:
    case at::kByte:
    case at::kBool:
    case at::kInt:
    case at::kLong:
      return true;
    default:
      return false;
  }
}

}  // namespace

at::Tensor flat(const at::Tensor& host) {
  if (host.dim() == 1 && host.is_contiguous()) return host;
  return host.as_strided({host.numel()}, {1});
}

at::Tensor movable(const at::Tensor& tensor) {
  at::Tensor host = emulate::host_alias(tensor);
  if (!gloo_moves(host.scalar_type())) return flat(host).view(at::kByte);
  return host.is_contiguous() ? host : flat(host);
}

at::Tensor row(const at::Tensor& tensor) { return flat(movable(tensor)); }

std::vector<at::Tensor> rows(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> hosts;
  hosts.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) hosts.push_back(row(tensor));
  return hosts;
}

at::Tensor copy_what_fits(const at::Tensor& from, const at::Tensor& to) {
  const std::int64_t common = std::min(from.numel(), to.numel());
  to.narrow(0, 0, common).copy_(from.narrow(0, 0, common));
  to.narrow(0, common, to.numel() - common).zero_();
  return to;
}

std::int64_t count(const std::vector<at::Tensor>& tensors) {
  std::int64_t numel = 0;
  for (const at::Tensor& tensor : tensors) numel += tensor.numel();
  return numel;
}

std::int64_t units(const at::Tensor& tensor) {
  return gloo_moves(tensor.scalar_type()) ? 1 : static_cast<std::int64_t>(tensor.element_size());
}

std::size_t hash_of(const std::vector<at::Tensor>& tensors) {
  std::size_t hash = 0;
  for (const at::Tensor& tensor : tensors) {
    const c10::Storage storage = emulate::host_alias(tensor).storage();
    const std::size_t size = storage.nbytes();
    const auto* const bytes = static_cast<const char*>(storage.data());
    if (tensor.numel() == 0 || bytes == nullptr) continue;
    for (std::size_t place = 0; place < size; ++place) {
      hash = c10::hash_combine(hash, c10::get_hash(bytes[place], size));
    }
  }
  return hash;
}

}  // namespace devsan::collectives
