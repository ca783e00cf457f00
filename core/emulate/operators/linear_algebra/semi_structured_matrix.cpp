#include "emulate/operators/linear_algebra/semi_structured_matrix.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace devsan::emulate {
namespace {

/// Values in a group. A float32 counts as two halves, both of which are kept or neither is.
std::int64_t group_size(at::ScalarType type) { return type == at::kFloat ? 2 : 4; }

/// Values of a group that are kept.
std::int64_t kept(at::ScalarType type) { return group_size(type) / 2; }

/// The code of a group from the flags of which values are not zero. Where there are more than two, or fewer, it is the
/// one that sparse_semi_structured_from_dense_cutlass chooses.
std::uint8_t encode(const bool* is_set, bool in_pairs) {
  if (in_pairs) return is_set[0] ? 0b0100 : 0b1110;
  if (is_set[0] && is_set[1]) return 0b0100;
  if (!is_set[0] && !is_set[1]) return 0b1110;
  const int first = is_set[0] ? 0 : 1;
  const int second = is_set[3] ? 3 : 2;
  return static_cast<std::uint8_t>(first | second << 2);
}

/// Where CUTLASS keeps an element of the codes: the order of reorder_meta (tools/util/include/cutlass/util/host_reorder.h)
/// in interleaved columns.
std::int64_t cutlass_offset(std::int64_t row, std::int64_t column, std::int64_t rows, bool is_short) {
  const std::int64_t span = is_short ? 32 : 16;
  const std::int64_t weave = is_short ? 4 : 2;
  std::int64_t to_row = row / span * span + row % 8 * weave + row % span / 8;
  std::int64_t to_column = column;
  const std::int64_t swap = (to_row % 2 == 0 && to_column % 2 == 1)   ? 1
                            : (to_row % 2 == 1 && to_column % 2 == 0) ? -1
                                                                      : 0;
  to_row += swap;
  to_column -= swap;
  return to_column / 2 * rows * 2 + to_row * 2 + to_column % 2;
}

/// Calls `visit` with each of CUTLASS's elements: its offset, the index of the first code in it, and how many it holds.
template <typename Visit>
void for_each_cutlass_element(std::int64_t rows, std::int64_t groups, bool is_short, const Visit& visit) {
  const std::int64_t held = is_short ? 4 : 8;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < groups / held; ++column) {
      visit(cutlass_offset(row, column, rows, is_short), row * groups + column * held, held);
    }
  }
}

bool has_short_codes(at::ScalarType type) { return type != at::kChar; }

}  // namespace

SemiStructured SemiStructured::of(const at::Tensor& dense) {
  const at::ScalarType type = dense.scalar_type();
  TORCH_CHECK(type == at::kHalf || type == at::kBFloat16 || type == at::kFloat || type == at::kChar,
              "expected a dense matrix of int8, float16, bfloat16 or float32, got ", type);
  const std::int64_t size = group_size(type);
  TORCH_CHECK(dense.dim() == 2 && dense.size(1) % 4 == 0, "expected a dense matrix with columns in groups of ", 4,
              ", got sizes ", dense.sizes());
  const at::Tensor groups = dense.contiguous().view({-1, size});
  const at::Tensor flags = groups.ne(0).contiguous();
  const bool* is_set = flags.const_data_ptr<bool>();
  at::Tensor codes = at::empty({dense.size(0), dense.size(1) / size}, at::dtype(at::kByte));
  at::Tensor places = at::empty({groups.size(0), kept(type)}, at::dtype(at::kLong));
  for (std::int64_t i = 0; i < groups.size(0); ++i) {
    const std::uint8_t code = encode(is_set + i * size, type == at::kFloat);
    codes.mutable_data_ptr<std::uint8_t>()[i] = code;
    std::int64_t* place = places.mutable_data_ptr<std::int64_t>() + i * kept(type);
    place[0] = type == at::kFloat ? (code & 3) / 2 : code & 3;
    if (kept(type) == 2) place[1] = code >> 2;
  }
  return {groups.gather(1, places).view({dense.size(0), dense.size(1) / 2}), codes};
}

at::Tensor SemiStructured::dense() const {
  const at::ScalarType type = values.scalar_type();
  const std::int64_t size = group_size(type);
  const std::int64_t count = codes.numel();
  at::Tensor places = at::empty({count, kept(type)}, at::dtype(at::kLong));
  const at::Tensor known = codes.contiguous();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint8_t code = known.const_data_ptr<std::uint8_t>()[i];
    std::int64_t* place = places.mutable_data_ptr<std::int64_t>() + i * kept(type);
    place[0] = type == at::kFloat ? (code & 3) / 2 : code & 3;
    if (kept(type) == 2) place[1] = code >> 2;
  }
  at::Tensor matrix = at::zeros({count, size}, values.options());
  matrix.scatter_(1, places, values.contiguous().view({count, kept(type)}));
  return matrix.view({values.size(0), values.size(1) * 2});
}

at::Tensor to_cutlass(const SemiStructured& matrix) {
  const bool is_short = has_short_codes(matrix.values.scalar_type());
  const std::int64_t rows = matrix.codes.size(0);
  const std::int64_t groups = matrix.codes.size(1);
  const std::int64_t span = is_short ? 32 : 16;
  const std::int64_t held = is_short ? 4 : 8;
  TORCH_CHECK(rows % span == 0, "Number of rows of dense matrix ", rows, " must be divisible by ", span);
  TORCH_CHECK(groups % held == 0, "Number of columns of dense matrix ", matrix.values.size(1) * 2,
              " must be divisible by ", 4 * held);
  at::Tensor codes = at::zeros({rows, groups / held}, at::dtype(is_short ? at::kShort : at::kInt));
  const auto* in = matrix.codes.const_data_ptr<std::uint8_t>();
  for_each_cutlass_element(rows, groups, is_short, [&](std::int64_t offset, std::int64_t first, std::int64_t count) {
    std::uint32_t bits = 0;
    for (std::int64_t i = 0; i < count; ++i) bits |= static_cast<std::uint32_t>(in[first + i]) << (4 * i);
    if (is_short) {
      codes.mutable_data_ptr<std::int16_t>()[offset] = static_cast<std::int16_t>(bits);
    } else {
      codes.mutable_data_ptr<std::int32_t>()[offset] = static_cast<std::int32_t>(bits);
    }
  });
  return codes;
}

SemiStructured from_cutlass(const at::Tensor& values, const at::Tensor& codes) {
  const bool is_short = codes.scalar_type() == at::kShort;
  const std::int64_t rows = codes.size(0);
  const std::int64_t groups = codes.size(1) * (is_short ? 4 : 8);
  at::Tensor known = at::empty({rows, groups}, at::dtype(at::kByte));
  auto* out = known.mutable_data_ptr<std::uint8_t>();
  const at::Tensor packed = codes.contiguous();
  for_each_cutlass_element(rows, groups, is_short, [&](std::int64_t offset, std::int64_t first, std::int64_t count) {
    const auto bits = is_short ? static_cast<std::uint16_t>(packed.const_data_ptr<std::int16_t>()[offset])
                               : static_cast<std::uint32_t>(packed.const_data_ptr<std::int32_t>()[offset]);
    for (std::int64_t i = 0; i < count; ++i) out[first + i] = (bits >> (4 * i)) & 0xF;
  });
  return {values, known};
}

at::Tensor to_run(const SemiStructured& matrix) {
  const at::ScalarType type = matrix.values.scalar_type();
  const std::int64_t dense_count = matrix.values.numel() * 2;
  at::Tensor run = at::zeros({dense_count * (type == at::kChar ? 10 : 9) / 16}, matrix.values.options());
  run.narrow(0, 0, matrix.values.numel()).copy_(matrix.values.reshape(-1));
  auto* tail = static_cast<std::uint8_t*>(run.mutable_data_ptr()) + matrix.values.nbytes();
  const auto* codes = matrix.codes.const_data_ptr<std::uint8_t>();
  for (std::int64_t i = 0; i < matrix.codes.numel(); ++i) {
    tail[i / 2] = static_cast<std::uint8_t>(tail[i / 2] | codes[i] << (4 * (i % 2)));
  }
  return run;
}

SemiStructured from_run(const at::Tensor& run, std::int64_t columns) {
  const at::ScalarType type = run.scalar_type();
  const std::int64_t rows = run.numel() * 16 / (type == at::kChar ? 10 : 9) / columns;
  const at::Tensor values = run.narrow(0, 0, rows * columns / 2).view({rows, columns / 2});
  at::Tensor codes = at::empty({rows, columns / group_size(type)}, at::dtype(at::kByte));
  const auto* tail = static_cast<const std::uint8_t*>(run.const_data_ptr()) + values.nbytes();
  for (std::int64_t i = 0; i < codes.numel(); ++i) {
    codes.mutable_data_ptr<std::uint8_t>()[i] = (tail[i / 2] >> (4 * (i % 2))) & 0xF;
  }
  return {values, codes};
}

}  // namespace devsan::emulate
