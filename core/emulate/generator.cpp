#include "emulate/generator.h"

#include <cstring>
#include <mutex>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/Utils.h>

#include "emulate/device.h"

namespace devsan::emulate {
namespace {

/// splitmix64's finaliser: neighbouring offsets give unrelated seeds. Offset 0 keeps the seed itself, so that the first
/// random operator after `manual_seed(s)` draws what the CPU draws after the same seed.
std::uint64_t mix(std::uint64_t seed, std::uint64_t offset) {
  if (offset == 0) return seed;
  std::uint64_t z = seed + offset * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

constexpr std::size_t kSeedBytes = sizeof(std::uint64_t);
constexpr std::size_t kStateBytes = 2 * kSeedBytes;

}  // namespace

// The key sends an operator that gets this generator with a CPU tensor to DevSan's kernel, which refuses it.
DeviceGenerator::DeviceGenerator(c10::DeviceIndex index)
    : c10::GeneratorImpl(c10::Device(c10::DeviceType::CUDA, index),
                         c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)) {}

void DeviceGenerator::set_current_seed(std::uint64_t seed) {
  seed_ = seed;
  offset_ = 0;
}

void DeviceGenerator::set_offset(std::uint64_t offset) {
  TORCH_CHECK(offset % kOffsetStep == 0, "offset must be a multiple of 4");
  offset_ = offset;
}

std::uint64_t DeviceGenerator::get_offset() const { return offset_; }

std::uint64_t DeviceGenerator::current_seed() const { return seed_; }

std::uint64_t DeviceGenerator::seed() {
  set_current_seed(c10::detail::getNonDeterministicRandom(true));
  return seed_;
}

void DeviceGenerator::set_state(const c10::TensorImpl& new_state) {
  at::detail::check_rng_state(new_state);
  const auto bytes = static_cast<std::size_t>(new_state.numel());
  TORCH_CHECK(bytes == kStateBytes || bytes == kSeedBytes, "RNG state is wrong size");
  const auto* data = new_state.data_dtype_initialized<std::uint8_t>();
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  std::memcpy(&seed, data, kSeedBytes);
  if (bytes == kStateBytes) std::memcpy(&offset, data + kSeedBytes, kSeedBytes);
  set_current_seed(seed);
  set_offset(offset);
}

c10::intrusive_ptr<c10::TensorImpl> DeviceGenerator::get_state() const {
  at::Tensor state = at::empty({static_cast<std::int64_t>(kStateBytes)}, at::TensorOptions(at::kByte).device(at::kCPU));
  auto* data = state.mutable_data_ptr<std::uint8_t>();
  std::memcpy(data, &seed_, kSeedBytes);
  std::memcpy(data + kSeedBytes, &offset_, kSeedBytes);
  return state.getIntrusivePtr();
}

at::Generator DeviceGenerator::next_host_generator() {
  const std::lock_guard<std::mutex> lock(mutex_);
  at::Generator host = at::detail::createCPUGenerator(mix(seed_, offset_));
  offset_ += kOffsetStep;
  return host;
}

DeviceGenerator* DeviceGenerator::clone_impl() const {
  auto* copy = new DeviceGenerator(device().index());
  copy->seed_ = seed_;
  copy->offset_ = offset_;
  return copy;
}

at::Generator make_generator(c10::DeviceIndex index) {
  return at::Generator(c10::make_intrusive<DeviceGenerator>(index));
}

at::Generator host_generator(const at::Generator& given, c10::DeviceIndex index) {
  const at::Generator& chosen = given.defined() ? given : device(index).generator;
  TORCH_CHECK(chosen.device().type() == c10::DeviceType::CUDA,
              "Expected a 'cuda' device type for generator but found '", chosen.device().type(), "'");
  auto* generator = dynamic_cast<DeviceGenerator*>(chosen.unsafeGetGeneratorImpl());
  TORCH_CHECK(generator != nullptr, "devsan: expected a generator of an emulated GPU, got one of a real GPU");
  return generator->next_host_generator();
}

}  // namespace devsan::emulate
