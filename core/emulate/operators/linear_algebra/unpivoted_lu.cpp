#include "emulate/operators/linear_algebra/unpivoted_lu.h"

#include <algorithm>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/native/Resize.h>

namespace devsan::emulate {

std::tuple<at::Tensor, at::Tensor, at::Tensor> unpivoted_lu_factor(const at::Tensor& matrix, bool check_errors) {
  TORCH_CHECK(matrix.dim() >= 2,
              "torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: ", matrix.sizes(), " instead");
  const std::int64_t rows = matrix.size(-2);
  const std::int64_t columns = matrix.size(-1);
  const std::int64_t steps = std::min(rows, columns);
  const at::IntArrayRef batch = matrix.sizes().slice(0, matrix.dim() - 2);
  at::Tensor factors = matrix.mT().clone(at::MemoryFormat::Contiguous).mT();
  at::Tensor info = at::zeros(batch, matrix.options().dtype(at::kInt));
  for (std::int64_t step = 0; step < steps; ++step) {
    const at::Tensor pivot = factors.select(-1, step).select(-1, step);
    const at::Tensor zero = pivot == 0;
    info.masked_fill_(zero.logical_and(info == 0), step + 1);
    const at::Tensor below = factors.select(-1, step).narrow(-1, step + 1, rows - step - 1);
    const at::Tensor right = factors.select(-2, step).narrow(-1, step + 1, columns - step - 1);
    // As LAPACK's getf2: what stands below a zero pivot is not divided.
    below.div_(pivot.masked_fill(zero, 1).unsqueeze(-1));
    factors.narrow(-2, step + 1, rows - step - 1)
        .narrow(-1, step + 1, columns - step - 1)
        .sub_(below.unsqueeze(-1) * right.unsqueeze(-2));
  }
  if (check_errors) at::_linalg_check_errors(info, "torch.linalg.lu_factor_ex", matrix.dim() == 2);
  std::vector<std::int64_t> sizes = batch.vec();
  sizes.push_back(steps);
  at::Tensor pivots = at::arange(1, steps + 1, info.options()).expand(sizes).contiguous();
  return {std::move(factors), std::move(pivots), std::move(info)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> unpivoted_lu(const at::Tensor& matrix) {
  const auto [factors, pivots, info] = unpivoted_lu_factor(matrix, /*check_errors=*/false);
  return at::lu_unpack(factors, pivots, /*unpack_data=*/true, /*unpack_pivots=*/false);
}

void write_factor(const at::Tensor& result, const at::Tensor& out) {
  if (at::native::resize_output(out, result.sizes())) out.as_strided_(result.sizes(), result.strides());
  out.copy_(result);
}

}  // namespace devsan::emulate
