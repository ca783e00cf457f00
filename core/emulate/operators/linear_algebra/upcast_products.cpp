#include "emulate/operators/linear_algebra/upcast_products.h"

#include <ATen/Functions.h>

namespace devsan::emulate {

at::Tensor mm_to(const at::Tensor& self, const at::Tensor& mat2, at::ScalarType dtype) {
  return at::mm(self.to(dtype), mat2.to(dtype));
}

at::Tensor& mm_to_out(const at::Tensor& self, const at::Tensor& mat2, at::ScalarType dtype, at::Tensor& out) {
  return at::mm_out(out, self.to(dtype), mat2.to(dtype));
}

at::Tensor bmm_to(const at::Tensor& self, const at::Tensor& mat2, at::ScalarType dtype) {
  return at::bmm(self.to(dtype), mat2.to(dtype));
}

at::Tensor& bmm_to_out(const at::Tensor& self, const at::Tensor& mat2, at::ScalarType dtype, at::Tensor& out) {
  return at::bmm_out(out, self.to(dtype), mat2.to(dtype));
}

at::Tensor addmm_to(const at::Tensor& self, const at::Tensor& mat1, const at::Tensor& mat2, at::ScalarType dtype,
                    const at::Scalar& beta, const at::Scalar& alpha) {
  return at::addmm(self.to(dtype), mat1.to(dtype), mat2.to(dtype), beta, alpha);
}

at::Tensor& addmm_to_out(const at::Tensor& self, const at::Tensor& mat1, const at::Tensor& mat2, at::ScalarType dtype,
                         const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out) {
  return at::addmm_out(out, self.to(dtype), mat1.to(dtype), mat2.to(dtype), beta, alpha);
}

at::Tensor baddbmm_to(const at::Tensor& self, const at::Tensor& batch1, const at::Tensor& batch2, at::ScalarType dtype,
                      const at::Scalar& beta, const at::Scalar& alpha) {
  return at::baddbmm(self.to(dtype), batch1.to(dtype), batch2.to(dtype), beta, alpha);
}

at::Tensor& baddbmm_to_out(const at::Tensor& self, const at::Tensor& batch1, const at::Tensor& batch2,
                           at::ScalarType dtype, const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out) {
  return at::baddbmm_out(out, self.to(dtype), batch1.to(dtype), batch2.to(dtype), beta, alpha);
}

}  // namespace devsan::emulate
