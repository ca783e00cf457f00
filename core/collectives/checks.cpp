#include "collectives/checks.h"

#include <c10/util/Exception.h>

namespace devsan::collectives {

void expect_tensor(const at::Tensor& tensor, bool point_to_point) {
  if (!tensor.is_cuda() || tensor.is_sparse()) C10_THROW_ERROR(ValueError, "Tensors must be CUDA and dense");
  if (tensor.is_contiguous(tensor.suggest_memory_format())) return;
  if (!point_to_point) C10_THROW_ERROR(ValueError, "Tensors must be contiguous");
  if (!tensor.is_non_overlapping_and_dense()) {
    C10_THROW_ERROR(ValueError, "Tensors for P2P must be non-overlapping and dense");
  }
  TORCH_WARN_ONCE(
      "Detected non-contiguous tensor in P2P operations. It is user responsibility to guarantee that source and "
      "destination tensors have the same contiguity format.");
}

const at::Tensor& expect_single(const std::vector<at::Tensor>& tensors) {
  TORCH_CHECK(tensors.size() == 1,
              "Expecting one tensor only but got multiple. You are probably using multiple devices under one thread. "
              "The support for such usage has been deprecated. For details, please refer to "
              "https://pytorch.org/docs/stable/distributed.html#multi-gpu-collective-functions. ProcessGroupNCCL "
              "continues supporting multi-process and multi-thread modes.");
  return tensors.front();
}

std::int64_t expect_on_one_device(const std::vector<at::Tensor>& tensors) {
  if (tensors.empty()) C10_THROW_ERROR(ValueError, "Tensor list must be nonempty");
  std::int64_t numel = 0;
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.is_cuda() || tensor.is_sparse()) C10_THROW_ERROR(ValueError, "Tensors must be CUDA and dense");
    if (tensor.scalar_type() != tensors.front().scalar_type()) {
      C10_THROW_ERROR(TypeError, "Tensors must have identical type");
    }
    if (!tensor.is_non_overlapping_and_dense()) {
      C10_THROW_ERROR(ValueError, "Tensors must be non-overlapping and dense");
    }
    // ProcessGroupNCCL says what is wrong with the second tensor's place against the first one's.
    TORCH_CHECK_WITH(ValueError, tensor.get_device() == tensors.front().get_device(),
                     "Expected list of tensors on the same device");
    numel += tensor.numel();
  }
  return numel;
}

const std::vector<at::Tensor>& expect_list(const char* function, const char* what,
                                           const std::vector<std::vector<at::Tensor>>& lists, int ranks) {
  TORCH_CHECK_WITH(ValueError, lists.size() == 1, "ProcessGroupNCCL::", function, ": requires a single-element ", what,
                   " list containing a list with ", ranks, " tensors.");
  const std::vector<at::Tensor>& list = lists.front();
  const std::string capital = what[0] == 'o' ? "Output" : "Input";
  TORCH_CHECK_WITH(ValueError, list.size() == static_cast<std::size_t>(ranks), "ProcessGroupNCCL::", function,
                   ": Incorrect ", what, " list size ", list.size(), ". ", capital, " list size should be ", ranks,
                   ", same as size of the process group.");
  expect_on_one_device(list);
  return list;
}

void expect_root(std::int64_t root, int ranks) {
  TORCH_CHECK_WITH(ValueError, root >= 0 && root < ranks, "Invalid root rank: ", root);
}

void expect_type(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kChar:
    case at::kByte:
    case at::kFloat:
    case at::kDouble:
    case at::kInt:
    case at::kLong:
    case at::kHalf:
    case at::kBool:
    case at::kBFloat16:
    case at::kFloat8_e5m2:
    case at::kFloat8_e4m3fn:
    case at::kFloat8_e4m3fnuz:
    case at::kFloat8_e5m2fnuz:
      return;
    default:
      C10_THROW_ERROR(TypeError, c10::str("Input tensor data type is not supported for NCCL process group: ",
                                          tensor.scalar_type()));
  }
}

}  // namespace devsan::collectives
