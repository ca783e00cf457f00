#include "emulate/operators/networks/ctc_loss.h"

namespace devsan::emulate {

bool use_no_ctc_library(const at::Tensor& /*log_probs*/, const at::Tensor& /*targets*/,
                        at::IntArrayRef /*input_lengths*/, at::IntArrayRef /*target_lengths*/, std::int64_t /*blank*/) {
  return false;
}

bool use_no_ctc_library_for_lengths(const at::Tensor& /*log_probs*/, const at::Tensor& /*targets*/,
                                    const at::Tensor& /*input_lengths*/, const at::Tensor& /*target_lengths*/,
                                    std::int64_t /*blank*/) {
  return false;
}

}  // namespace devsan::emulate
