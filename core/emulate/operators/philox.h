#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

// Random numbers from a key that the program holds (torch.func's stateless generator), which CUDA alone has
// (aten/src/ATen/native/cuda/PhiloxKeySplit.cu and its neighbors). A key is [seed, offset] as uint64. Here the numbers
// are Philox's, as on a GPU; normal ones agree to the precision of the host's logarithm and sine.

/// aten::_philox_key_split. @return [splits, *key.sizes()]
at::Tensor philox_key_split(const at::Tensor& key, std::int64_t splits);
/// aten::_philox_key_fold_in.
at::Tensor philox_key_fold_in(const at::Tensor& key, std::int64_t data);
/// aten::_philox_normal_ and aten::_philox_uniform_. One key for all, or [*batch, 2]: one for each element of batch, whose
/// last dimensions of size 1 stand for what one key fills.
at::Tensor& philox_normal_(at::Tensor& self, const at::Tensor& key, double mean, double deviation);
at::Tensor& philox_uniform_(at::Tensor& self, const at::Tensor& key, double low, double high);

}  // namespace devsan::emulate
