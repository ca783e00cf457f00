#pragma once

#include <cstdint>

#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>

namespace devsan::emulate {

/// The random generator of an emulated GPU.
///
/// As CUDA's (aten/src/ATen/cuda/CUDAGeneratorImpl.cpp) its state is a seed and an offset, 16 bytes, and each random
/// operator takes the stream at (seed, offset) and moves the offset on. CUDA's streams are Philox; here a stream is
/// the CPU's Mersenne Twister seeded from the pair, so the numbers differ from CUDA's, as they differ between GPUs.
class DeviceGenerator final : public c10::GeneratorImpl {
 public:
  explicit DeviceGenerator(c10::DeviceIndex index);

  void set_current_seed(std::uint64_t seed) override;
  void set_offset(std::uint64_t offset) override;
  std::uint64_t get_offset() const override;
  std::uint64_t current_seed() const override;
  std::uint64_t seed() override;
  /// State of 16 bytes: seed, then offset. A state of 8 bytes (seed alone) is taken as CUDA takes it.
  void set_state(const c10::TensorImpl& new_state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;

  /// A CPU generator at this generator's place, for one operator; moves the offset on by `kOffsetStep`.
  at::Generator next_host_generator();

  /// CUDA advances the Philox offset in multiples of 4 (one curand4 call).
  static constexpr std::uint64_t kOffsetStep = 4;

 private:
  DeviceGenerator* clone_impl() const override;

  std::uint64_t seed_ = c10::default_rng_seed_val;
  std::uint64_t offset_ = 0;
  at::Generator host_;  ///< the last one given out
};

/// A generator of the CPU's at the place that (seed, offset) names in the streams of a GPU's generator.
at::Generator generator_at(std::uint64_t seed, std::uint64_t offset);

/// A new generator on `cuda:index`, seeded with torch's default seed.
at::Generator make_generator(c10::DeviceIndex index);

/// The generator of `cuda:index` that every caller gets who names none. Its seed is another one in each process, as that
/// of CUDA is (getDefaultCUDAGenerator in aten/src/ATen/cuda/CUDAGeneratorImpl.cpp): two ranks without a seed differ.
at::Generator make_default_generator(c10::DeviceIndex index);

/// NOTE [One stream of random numbers]
/// Two runs of a program that differ only in where tensors are draw different numbers on a GPU: each device has a stream
/// of its own. To compare their results all devices draw from the CPU's default generator, so that the order of the draws
/// alone decides. A generator that the program makes itself stays its own; it draws what one of the CPU with its seed
/// draws, so that a program may take one for the other.
void draw_from_host(bool wanted);
bool draws_from_host() noexcept;

/// Has a generator of another device taken where CUDA refuses it: what one device would compute.
void take_any_generator(bool wanted);
bool takes_any_generator() noexcept;

/// The CPU generator by which the next random operator on `cuda:index` draws its numbers.
/// @param given the caller's generator, or an undefined one for the device's default.
/// Raises as CUDA's check_generator when `given` belongs to another device type.
at::Generator host_generator(const at::Generator& given, c10::DeviceIndex index);

}  // namespace devsan::emulate
