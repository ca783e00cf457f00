#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

/// aten::_use_cudnn_ctc_loss, aten::_use_miopen_ctc_loss, and their overloads with lengths in tensors: neither library is
/// there, torch's own kernel is used.
bool use_no_ctc_library(const at::Tensor& log_probs, const at::Tensor& targets, at::IntArrayRef input_lengths,
                        at::IntArrayRef target_lengths, std::int64_t blank);
bool use_no_ctc_library_for_lengths(const at::Tensor& log_probs, const at::Tensor& targets,
                                    const at::Tensor& input_lengths, const at::Tensor& target_lengths,
                                    std::int64_t blank);

}  // namespace devsan::emulate
