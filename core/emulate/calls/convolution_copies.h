#pragma once

#include <cstddef>

#include <ATen/core/ivalue.h>
#include <c10/util/ArrayRef.h>

namespace devsan::emulate {

// NOTE [cuDNN's layouts]
// The kernels of cuDNN that use tensor cores read and write channels last. Of operands with channels first it makes copies
// in its workspace, of a result likewise, and in 16 bits it fills channels up to a multiple of eight. Neither cuDNN's
// documents nor torch say so: it was measured on an H100 (docs/reference/gpu-parity.md). Of 34 convolutions 24 take what this
// says, within 1 KiB; three in float32 take less. In backward passes a heuristic of cuDNN adds some MiB, partial sums of a
// weight's gradient, which are not known here.

/// The workspace of aten::convolution, by its arguments.
std::size_t convolution_copies(c10::ArrayRef<c10::IValue> arguments);

/// That of aten::convolution_backward, which is freed between the gradients of the input and of the weight; or the buffers
/// of the bias's gradient, whichever is more.
std::size_t convolution_backward_copies(c10::ArrayRef<c10::IValue> arguments);

}  // namespace devsan::emulate
