#include "emulate/operators/linear_algebra/products.h"

#include <array>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "emulate/runtime/tensor.h"

namespace devsan::emulate {
namespace {

at::Tensor dense(const at::Tensor& tensor) { return tensor.layout() == at::kStrided ? tensor : tensor.to_dense(); }

constexpr std::int64_t kRows = 8;      // weights' rows in a tile
constexpr std::int64_t kColumns = 16;  // and columns
constexpr std::int64_t kLanes = 32;

/// Where the eight weights of one packed word come from.
struct Word {
  std::int64_t row;
  std::array<std::int64_t, 4> bytes;  ///< columns of the row, counted in pairs of weights
};

/// @param tile_row, tile_column, lane, pair the word's indices in the packed tensor
Word word_at(std::int64_t tile_row, std::int64_t tile_column, std::int64_t lane, std::int64_t pair,
             std::int64_t pairs) {
  const std::int64_t first = (tile_column * pairs + pair) * kColumns + lane % 4;
  return {tile_row * kRows + lane / 4, {first, first + 4, first + 8, first + 12}};
}

/// Calls `visit` with each word's place and its index in the packed tensor of `sizes`.
template <typename Visit>
void for_each_word(at::IntArrayRef sizes, const Visit& visit) {
  std::int64_t index = 0;
  for (std::int64_t tile_row = 0; tile_row < sizes[0]; ++tile_row) {
    for (std::int64_t tile_column = 0; tile_column < sizes[1]; ++tile_column) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        for (std::int64_t pair = 0; pair < sizes[3]; ++pair) {
          visit(word_at(tile_row, tile_column, lane, pair, sizes[3]), index++);
        }
      }
    }
  }
}

/// The weights as numbers from 0 to 15: float32 [n, k] on the CPU.
at::Tensor unpack(const at::Tensor& packed) {
  const std::int64_t columns = packed.size(1) * packed.size(3) * 2 * kColumns;
  at::Tensor weights = at::empty({packed.size(0) * kRows, columns}, at::dtype(at::kFloat));
  const at::Tensor host = on_host(packed);
  const auto* words = host.const_data_ptr<std::int32_t>();
  float* out = weights.mutable_data_ptr<float>();
  for_each_word(packed.sizes(), [&](const Word& word, std::int64_t index) {
    const auto bits = static_cast<std::uint32_t>(words[index]);
    for (std::size_t i = 0; i < word.bytes.size(); ++i) {
      float* pair = out + word.row * columns + word.bytes[i] * 2;
      pair[0] = static_cast<float>((bits >> (4 * i)) & 0xF);
      pair[1] = static_cast<float>((bits >> (16 + 4 * i)) & 0xF);
    }
  });
  return weights;
}

}  // namespace

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

at::Tensor pack_int4(const at::Tensor& weight, std::int64_t inner_tiles) {
  TORCH_CHECK(weight.dim() == 2);
  TORCH_CHECK(weight.dtype() == at::kByte);
  TORCH_CHECK(weight.is_contiguous());
  TORCH_CHECK(inner_tiles == 2 || inner_tiles == 4 || inner_tiles == 8);
  TORCH_CHECK(weight.size(1) * 2 % (inner_tiles * kColumns) == 0);
  const std::int64_t rows = weight.size(0);
  const std::int64_t bytes = weight.size(1);
  at::Tensor packed = at::empty(
      {(rows + kRows - 1) / kRows, bytes * 2 / (inner_tiles * kColumns), kLanes, inner_tiles / 2}, at::dtype(at::kInt));
  const at::Tensor host = on_host(weight);
  const auto* in = host.const_data_ptr<std::uint8_t>();
  auto* words = packed.mutable_data_ptr<std::int32_t>();
  for_each_word(packed.sizes(), [&](const Word& word, std::int64_t index) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < word.bytes.size() && word.row < rows; ++i) {
      const std::uint32_t pair = in[word.row * bytes + word.bytes[i]];
      bits |= (pair >> 4) << (4 * i) | (pair & 0xF) << (16 + 4 * i);
    }
    words[index] = static_cast<std::int32_t>(bits);
  });
  return packed.to(weight.device());
}

at::Tensor int4_mm(const at::Tensor& input, const at::Tensor& packed, std::int64_t group,
                   const at::Tensor& scales_and_zeros) {
  TORCH_CHECK(input.dtype() == at::kBFloat16);
  TORCH_CHECK(input.is_contiguous());
  TORCH_CHECK(input.dim() == 2);
  TORCH_CHECK(packed.dtype() == at::kInt);
  TORCH_CHECK(packed.is_contiguous());
  TORCH_CHECK(packed.dim() == 4);
  TORCH_CHECK(packed.size(1) == input.size(1) / (packed.size(3) * 2 * kColumns));
  TORCH_CHECK(packed.size(2) == kLanes);
  TORCH_CHECK(group == 32 || group == 64 || group == 128 || group == 256);
  const std::int64_t rows = packed.size(0) * kRows;
  TORCH_CHECK(scales_and_zeros.dim() == 3);
  TORCH_CHECK(input.size(1) % group == 0);
  TORCH_CHECK(scales_and_zeros.size(1) == rows);
  TORCH_CHECK(scales_and_zeros.size(2) == 2);
  const at::Tensor per_row = scales_and_zeros.to(at::kCPU, at::kFloat).permute({2, 1, 0});
  const at::Tensor scales = per_row[0].repeat_interleave(group, 1);
  const at::Tensor zeros = per_row[1].repeat_interleave(group, 1);
  const at::Tensor weights = ((unpack(packed) - 8) * scales + zeros).to(at::kBFloat16);
  return at::mm(input.to(at::kFloat), weights.to(at::kFloat).t().to(input.device())).to(at::kBFloat16);
}

}  // namespace devsan::emulate
