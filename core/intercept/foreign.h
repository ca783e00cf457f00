#pragma once

#include <memory>
#include <vector>

#include <torch/library.h>

namespace devsan::intercept {

// What reaches the dispatcher past aten's own kernels: memory and libraries that are not torch's.

/// Whether this torch was built with CUDA, whose kernels then stand on the CUDA key.
bool has_cuda_kernels();

/// Takes tensors on the CUDA key, which torch makes over memory that it does not own (from_blob), for emulated ones at
/// their first operator. Only in a torch without CUDA's kernels.
void take_over_foreign_memory(std::vector<std::unique_ptr<torch::Library>>& libraries);

/// The same for a tensor made from a `__cuda_array_interface__`, in every torch: whatever makes one (as_tensor, tensor,
/// asarray) has it converted by aten::to.device at once (torch/csrc/utils/tensor_new.cpp, internal_new_from_data).
void take_over_array_interfaces(std::vector<std::unique_ptr<torch::Library>>& libraries);

/// torch.distributed's operators (c10d) on emulated tensors: carried out by the backend that the process group has for
/// CUDA (see core/collectives); where that is gloo, in host memory by the one for the CPU.
void register_collectives();

}  // namespace devsan::intercept
