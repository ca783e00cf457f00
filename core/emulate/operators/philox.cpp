#include "emulate/operators/philox.h"

#include <array>
#include <cmath>
#include <numbers>

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/core/PhiloxRNGEngine.h>
#include <ATen/core/TransformationHelper.h>

#include "emulate/runtime/tensor.h"

namespace devsan::emulate {
namespace {

using Four = std::array<std::uint32_t, 4>;

/// The four numbers at `offset` of the stream of `seed`.
Four numbers_at(std::uint64_t seed, std::uint64_t offset) {
  at::Philox4_32 engine(seed, /*subsequence=*/0, offset);
  return {engine(), engine(), engine(), engine()};
}

void check_key(const char* name, const at::Tensor& key, const char* shape) {
  TORCH_CHECK(key.dim() >= 1 && key.size(-1) == 2, name, ": key must have shape ", shape, ", got shape ", key.sizes());
  TORCH_CHECK(key.scalar_type() == at::kUInt64, name, ": key must have dtype uint64, got ", key.scalar_type());
}

/// Two numbers of 53 bits' worth out of four of 32.
std::array<std::uint64_t, 2> packed(const Four& four) {
  return {std::uint64_t{four[0]} << 32 | four[1], std::uint64_t{four[2]} << 32 | four[3]};
}

/// Writes the key that `key` gives at `step`.
void derive(const std::uint64_t* key, std::uint64_t step, std::uint64_t* out) {
  const Four four = numbers_at(key[0], key[1] + step);
  out[0] = four[0] | std::uint64_t{four[1]} << 32;
  out[1] = four[2] | std::uint64_t{four[3]} << 32;
}

/// curand's transformation of two uniform numbers in (0, 1] into two normal ones.
template <typename Real>
std::array<Real, 2> box_muller(Real radius, Real turn) {
  const Real length = std::sqrt(Real(-2) * std::log(radius));
  const Real angle = turn * Real(2) * std::numbers::pi_v<Real>;
  return {std::sin(angle) * length, std::cos(angle) * length};
}

std::array<float, 4> normal_floats(const Four& four) {
  const auto unit = [](std::uint32_t bits) { return static_cast<float>(bits) * 0x1p-32F + 0x1p-33F; };
  const auto first = box_muller(unit(four[0]), unit(four[1]));
  const auto second = box_muller(unit(four[2]), unit(four[3]));
  return {first[0], first[1], second[0], second[1]};
}

std::array<double, 2> normal_doubles(const Four& four) {
  const auto unit = [](std::uint32_t low, std::uint32_t high) {
    const std::uint64_t bits = std::uint64_t{low} ^ (std::uint64_t{high} << 21);
    return static_cast<double>(bits) * 0x1p-53 + 0x1p-54;
  };
  return box_muller(unit(four[0], four[1]), unit(four[2], four[3]));
}

/// Fills `self`, key by key. `draw(four, index)` gives element `index` of those that one step of the generator gives.
template <typename Scalar, int per_step, typename Draw>
void fill(at::Tensor& self, const at::Tensor& key, const Draw& draw) {
  const at::Tensor keys = on_host(key).contiguous();
  std::int64_t count = 1;
  for (std::int64_t dim = 0; dim + 1 < key.dim(); ++dim) count *= key.size(dim);
  at::Tensor values = at::empty(self.sizes(), self.options().device(at::kCPU));
  auto* out = values.mutable_data_ptr<Scalar>();
  const std::int64_t each = count == 0 ? 0 : self.numel() / count;
  const auto* known = keys.const_data_ptr<std::uint64_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t element = 0; element < each; element += per_step) {
      const Four four = numbers_at(known[2 * i], known[2 * i + 1] + static_cast<std::uint64_t>(element / per_step));
      for (int j = 0; j < per_step && element + j < each; ++j) out[i * each + element + j] = draw(four, j);
    }
  }
  self.copy_(values);
}

/// The key of each part of `self`: its batch dimensions broadcast over all but the last ones of size 1.
at::Tensor spread(const char* name, const at::Tensor& self, const at::Tensor& key) {
  TORCH_CHECK(self.is_floating_point(), name, ": self must be a floating point tensor, got ", self.scalar_type());
  check_key(name, key, "(2,) or (*batch, 2)");
  if (key.dim() == 1) return key;
  TORCH_CHECK(key.dim() == self.dim() + 1, name, ": batched key must have ndim == output ndim + 1, got key shape ",
              key.sizes(), " with output shape ", self.sizes());
  std::int64_t batch = key.dim() - 1;
  while (batch > 0 && key.size(batch - 1) == 1) --batch;
  std::vector<std::int64_t> sizes = key.sizes().vec();
  for (std::int64_t dim = 0; dim < batch; ++dim) sizes[static_cast<std::size_t>(dim)] = self.size(dim);
  return key.expand(sizes);
}

}  // namespace

at::Tensor philox_key_split(const at::Tensor& key, std::int64_t splits) {
  check_key("_philox_key_split", key, "(*batch, 2)");
  TORCH_CHECK(splits > 0, "_philox_key_split: num_splits must be positive, got ", splits);
  std::vector<std::int64_t> sizes = key.sizes().vec();
  sizes.insert(sizes.begin(), splits);
  at::Tensor made = at::empty(sizes, key.options().device(at::kCPU));
  const at::Tensor keys = on_host(key).contiguous();
  const std::int64_t count = key.numel() / 2;
  auto* out = made.mutable_data_ptr<std::uint64_t>();
  for (std::int64_t split = 0; split < splits; ++split) {
    for (std::int64_t i = 0; i < count; ++i, out += 2) {
      derive(keys.const_data_ptr<std::uint64_t>() + 2 * i, static_cast<std::uint64_t>(split), out);
    }
  }
  return made.to(key.device());
}

at::Tensor philox_key_fold_in(const at::Tensor& key, std::int64_t data) {
  check_key("_philox_key_fold_in", key, "(*batch, 2)");
  at::Tensor made = at::empty(key.sizes(), key.options().device(at::kCPU));
  const at::Tensor keys = on_host(key).contiguous();
  for (std::int64_t i = 0; i < key.numel() / 2; ++i) {
    derive(keys.const_data_ptr<std::uint64_t>() + 2 * i, static_cast<std::uint64_t>(data),
           made.mutable_data_ptr<std::uint64_t>() + 2 * i);
  }
  return made.to(key.device());
}

at::Tensor& philox_normal_(at::Tensor& self, const at::Tensor& key, double mean, double deviation) {
  const at::Tensor keys = spread("_philox_normal_", self, key);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, self.scalar_type(), "_philox_normal_", [&] {
    if constexpr (std::is_same_v<scalar_t, double>) {
      fill<double, 2>(self, keys, [&](const Four& four, int index) {
        return normal_doubles(four)[static_cast<std::size_t>(index)] * deviation + mean;
      });
    } else {
      fill<scalar_t, 4>(self, keys, [&](const Four& four, int index) {
        return static_cast<scalar_t>(normal_floats(four)[static_cast<std::size_t>(index)] *
                                         static_cast<float>(deviation) +
                                     static_cast<float>(mean));
      });
    }
  });
  return self;
}

at::Tensor& philox_uniform_(at::Tensor& self, const at::Tensor& key, double low, double high) {
  const at::Tensor keys = spread("_philox_uniform_", self, key);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, self.scalar_type(), "_philox_uniform_", [&] {
    const auto from = static_cast<scalar_t>(low);
    const auto to = static_cast<scalar_t>(high);
    if constexpr (std::is_same_v<scalar_t, double>) {
      fill<double, 2>(self, keys, [&](const Four& four, int index) {
        return at::transformation::uniform_real(packed(four)[static_cast<std::size_t>(index)], from, to);
      });
    } else {
      fill<scalar_t, 4>(self, keys, [&](const Four& four, int index) {
        return static_cast<scalar_t>(at::transformation::uniform_real(four[static_cast<std::size_t>(index)], from, to));
      });
    }
  });
  return self;
}

}  // namespace devsan::emulate
