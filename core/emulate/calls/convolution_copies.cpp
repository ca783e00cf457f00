#include "emulate/calls/convolution_copies.h"

#include <algorithm>
#include <vector>

#include <ATen/Context.h>
#include <ATen/ceil_div.h>
#include <ATen/native/ConvUtils.h>

#include "emulate/calls/reduction_buffers.h"
#include "emulate/runtime/device.h"

namespace devsan::emulate {
namespace {

constexpr std::int64_t kChannels = 1;  // their dimension, of an operand as of a weight

/// A convolution, as cuDNN is asked for it.
struct Convolved {
  const at::Tensor& input;
  const at::Tensor& weight;
  bool transposed;
  std::int64_t groups;

  [[nodiscard]] bool is_low() const { return input.scalar_type() == at::kHalf || input.scalar_type() == at::kBFloat16; }

  /// Whether tensor cores carry it out: float32 by TF32, which torch allows cuDNN unless told otherwise.
  [[nodiscard]] bool uses_tensor_cores() const {
    if (!input.is_cuda() || !at::globalContext().userEnabledCuDNN()) return false;
    if (input.dim() != weight.dim() || input.dim() < 3) return false;
    const int major = device(input.device().index()).spec.major;
    return is_low() ? major >= 7
                    : input.scalar_type() == at::kFloat && major >= 8 && at::globalContext().allowTF32CuDNN();
  }

  [[nodiscard]] bool is_pointwise() const {
    return std::ranges::all_of(weight.sizes().slice(2), [](std::int64_t size) { return size == 1; });
  }

  /// torch has kernels of its own for these.
  [[nodiscard]] bool is_depthwise() const {
    return !transposed && groups > 1 && input.size(kChannels) == groups && weight.size(0) % groups == 0;
  }

  /// aten/src/ATen/native/ConvUtils.h, cudnn_conv_suggest_memory_format, which asks for cuDNN first.
  [[nodiscard]] bool is_channels_last() const {
    const auto is_last = [](const at::Tensor& tensor) {
      const at::MemoryFormat format = tensor.suggest_memory_format();
      return format == at::MemoryFormat::ChannelsLast || format == at::MemoryFormat::ChannelsLast3d;
    };
    return is_last(input) || is_last(weight);
  }

  [[nodiscard]] bool is_filled_up() const { return is_low() && input.size(kChannels) % kStep != 0; }

  /// A copy of `tensor` with channels last.
  [[nodiscard]] std::size_t copy_of(const at::Tensor& tensor) const {
    const std::int64_t channels = tensor.size(kChannels);
    const std::int64_t filled = is_filled_up() && groups == 1 ? at::round_up(channels, kStep) : channels;
    return static_cast<std::size_t>(tensor.numel() / std::max<std::int64_t>(channels, 1) * filled) * tensor.itemsize();
  }

 private:
  static constexpr std::int64_t kStep = 8;
};

/// @param result the bytes of the output
std::size_t copies(const Convolved& convolved, std::size_t result) {
  if (!convolved.uses_tensor_cores() || convolved.is_pointwise() || convolved.is_depthwise()) return 0;
  const std::size_t operands = convolved.copy_of(convolved.input) + convolved.copy_of(convolved.weight);
  if (convolved.is_channels_last()) return convolved.is_filled_up() ? operands : 0;
  return operands + result;
}

}  // namespace

std::size_t convolution_copies(c10::ArrayRef<c10::IValue> arguments) {
  const at::Tensor& input = arguments[0].toTensor();
  const at::Tensor& weight = arguments[1].toTensor();
  const bool transposed = arguments[6].toBool();
  const Convolved convolved{input, weight, transposed, arguments[8].toInt()};
  if (input.numel() == 0 || !convolved.uses_tensor_cores()) return 0;
  const std::vector<std::int64_t> stride = arguments[3].toIntVector();
  const std::vector<std::int64_t> padding = arguments[4].toIntVector();
  const std::vector<std::int64_t> dilation = arguments[5].toIntVector();
  const std::vector<std::int64_t> output_padding = arguments[7].toIntVector();
  const auto dims = static_cast<std::size_t>(input.dim() - 2);
  for (const auto* given : {&stride, &padding, &dilation, &output_padding}) {
    if (given->size() != dims) return 0;  // one number for all: the kernel spreads it
  }
  const auto sizes = transposed
                         ? at::native::conv_input_size(input.sizes(), weight.sizes(), padding, output_padding, stride,
                                                       dilation, convolved.groups)
                         : at::native::conv_output_size(input.sizes(), weight.sizes(), padding, stride, dilation);
  return copies(convolved, static_cast<std::size_t>(c10::multiply_integers(sizes)) * input.itemsize());
}

std::size_t convolution_backward_copies(c10::ArrayRef<c10::IValue> arguments) {
  const at::Tensor& grad = arguments[0].toTensor();
  const at::Tensor& input = arguments[1].toTensor();
  const Convolved convolved{input, arguments[2].toTensor(), arguments[7].toBool(), arguments[9].toInt()};
  if (grad.numel() == 0 || input.numel() == 0) return 0;
  std::size_t sums = 0;
  if (arguments[10].toBoolList().get(2)) {
    std::vector<std::int64_t> dims;
    for (std::int64_t dim = 0; dim < grad.dim(); ++dim) {
      if (dim != kChannels) dims.push_back(dim);
    }
    sums = sum_buffers(grad, dims, grad.scalar_type());
  }
  return std::max(copies(convolved, static_cast<std::size_t>(grad.numel()) * grad.itemsize()), sums);
}

}  // namespace devsan::emulate
