#include "emulate/operators/linear_algebra/sparse_products.h"

#include <ATen/Functions.h>

namespace devsan::emulate {
namespace {

at::Tensor dense(const at::Tensor& tensor) { return tensor.layout() == at::kStrided ? tensor : tensor.to_dense(); }

}  // namespace

at::Tensor& bmm_compressed_out(const at::Tensor& self, const at::Tensor& mat2, at::Tensor& out) {
  return at::bmm_out(out, dense(self), dense(mat2));
}

at::Tensor& baddbmm_compressed_out(const at::Tensor& self, const at::Tensor& batch1, const at::Tensor& batch2,
                                   const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out) {
  return at::baddbmm_out(out, self, dense(batch1), dense(batch2), beta, alpha);
}

at::Tensor solve_compressed(const at::Tensor& matrix, const at::Tensor& right, bool is_left) {
  return at::linalg_solve(dense(matrix), right, is_left);
}

}  // namespace devsan::emulate
