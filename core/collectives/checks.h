#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace devsan::collectives {

// What ProcessGroupNCCL refuses before it calls NCCL, in its words
// (torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, check_gpu_single_tensor and its neighbors).

/// One dense, contiguous tensor on a GPU. Raises ValueError.
void expect_tensor(const at::Tensor& tensor, bool point_to_point = false);

/// The list of a collective that takes one tensor. Raises ValueError for more than one.
const at::Tensor& expect_single(const std::vector<at::Tensor>& tensors);

/// Tensors of one call: on one GPU, dense, with one data type. Returns how many elements they have together.
std::int64_t expect_on_one_device(const std::vector<at::Tensor>& tensors);

/// The root's list of a gather or scatter: one tensor for each rank, on one GPU. Raises ValueError.
/// @param function "gather"
/// @param what "output"
const std::vector<at::Tensor>& expect_list(const char* function, const char* what,
                                           const std::vector<std::vector<at::Tensor>>& lists, int ranks);

/// A rank of a group. Raises ValueError.
void expect_root(std::int64_t root, int ranks);

/// A type that NCCL has. Raises TypeError.
void expect_type(const at::Tensor& tensor);

}  // namespace devsan::collectives
