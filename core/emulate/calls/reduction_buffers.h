#pragma once

#include <cstddef>

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

namespace devsan::emulate {

/// The size of what CUDA adds numbers of `type` up in, in bytes (aten/src/ATen/AccumulateType.h, which does not know
/// complex numbers of half precision).
std::size_t accumulated_size(at::ScalarType type);

/// What CUDA's reductions take beside their results (aten/src/ATen/native/cuda/Reduce.cuh, setReduceConfig): where many
/// numbers meet in few results, several blocks of threads share a result, and each leaves what it has in global memory.
/// @param self the operand, on an emulated GPU
/// @param dims the reduced dimensions; none for all
/// @param element the size of what a thread sums up in, in bytes (arg_t)
/// @return bytes; 0 where a result is one block's
std::size_t reduction_buffers(const at::Tensor& self, at::OptionalIntArrayRef dims, std::size_t element);

/// The same for a sum or a product, with the copy of an operand that is of another type than the result
/// (aten/src/ATen/native/ReduceOpsUtils.h, make_reduction_from_out_ty).
/// @param type of the result
std::size_t sum_buffers(const at::Tensor& self, at::OptionalIntArrayRef dims, at::ScalarType type);

}  // namespace devsan::emulate
