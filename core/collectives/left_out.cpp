#include "collectives/left_out.h"

#include <ATen/ops/zeros.h>

#include "emulate/calls/full_size/stand_ins.h"
#include "emulate/runtime/full_size/unknown.h"

namespace devsan::collectives {

using emulate::FullSize;

bool is_left_out(const at::Tensor& part) noexcept { return FullSize::leaves_out(part.nbytes(), part.scalar_type()); }

at::Tensor moved(const at::Tensor& part, std::int64_t elements) {
  if (C10_LIKELY(!is_left_out(part))) return part;
  return at::zeros({elements}, at::TensorOptions(at::kCPU).dtype(part.scalar_type()));
}

std::vector<at::Tensor> moved(const std::vector<at::Tensor>& parts) {
  std::vector<at::Tensor> all;
  all.reserve(parts.size());
  for (const at::Tensor& part : parts) all.push_back(moved(part));
  return all;
}

void note_results(const at::Tensor& part, const std::vector<at::Tensor>& results) {
  if (C10_LIKELY(!FullSize::was_on())) return;
  const bool is_out = is_left_out(part);
  if (!is_out && !emulate::is_unknown_on_host(part)) return;
  for (const at::Tensor& result : results) {
    emulate::set_unknown(result);
    if (is_out) emulate::stand_in_for_written(result, "");
  }
}

}  // namespace devsan::collectives
