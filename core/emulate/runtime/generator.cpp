#include "emulate/runtime/generator.h"

#include <atomic>
#include <cstring>
#include <mutex>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/Utils.h>

#include "emulate/runtime/device.h"

namespace devsan::emulate {
namespace {

std::atomic<bool> g_from_host{false};
std::atomic<bool> g_any{false};

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;

/// splitmix64's finalizer: neighbors give unrelated numbers.
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

/// A Mersenne Twister in the state that (seed, offset) names. torch's own way from a seed to a state takes longer than a
/// small operator; here the words come from splitmix64, and are the twister's first numbers as they are.
at::mt19937_data_pod state_at(std::uint64_t seed, std::uint64_t offset) {
  at::mt19937_data_pod data{};
  data.seed_ = mix(seed + offset * kGolden);
  data.left_ = at::MERSENNE_STATE_N;
  data.seeded_ = true;
  static_assert(at::MERSENNE_STATE_N % 2 == 0);
  std::uint64_t counter = data.seed_;
  for (std::size_t i = 0; i < data.state_.size(); i += 2) {
    const std::uint64_t words = mix(counter += kGolden);
    data.state_[i] = static_cast<std::uint32_t>(words);
    data.state_[i + 1] = static_cast<std::uint32_t>(words >> 32U);
  }
  return data;
}

/// Puts `generator` where (seed, offset) says.
void place(at::CPUGeneratorImpl& generator, std::uint64_t seed, std::uint64_t offset) {
  if (offset == 0) {
    // The seed itself: the first random operator after `manual_seed(s)` draws what the CPU draws after the same seed.
    generator.set_current_seed(seed);
    return;
  }
  at::mt19937 engine = generator.engine();  // a new one would be seeded
  engine.set_data(state_at(seed, offset));
  generator.set_engine(engine);
  generator.set_next_float_normal_sample(std::nullopt);
  generator.set_next_double_normal_sample(std::nullopt);
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
  host_ = {};
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
  if (g_from_host.load(std::memory_order_relaxed) && offset_ != 0 && host_.defined()) {
    offset_ += kOffsetStep;
    return host_;  // goes on, as a generator of the CPU does
  }
  // Made anew only while another call, or one inside this, still draws from the last one.
  if (!host_.defined() || host_.getIntrusivePtr().use_count() != 1) host_ = at::detail::createCPUGenerator();
  place(*static_cast<at::CPUGeneratorImpl*>(host_.unsafeGetGeneratorImpl()), seed_, offset_);
  offset_ += kOffsetStep;
  return host_;
}

DeviceGenerator* DeviceGenerator::clone_impl() const {
  auto* copy = new DeviceGenerator(device().index());
  copy->seed_ = seed_;
  copy->offset_ = offset_;
  return copy;
}

at::Generator generator_at(std::uint64_t seed, std::uint64_t offset) {
  at::Generator generator = at::detail::createCPUGenerator();
  place(*static_cast<at::CPUGeneratorImpl*>(generator.unsafeGetGeneratorImpl()), seed, offset);
  return generator;
}

at::Generator make_generator(c10::DeviceIndex index) {
  return at::Generator(c10::make_intrusive<DeviceGenerator>(index));
}

at::Generator make_default_generator(c10::DeviceIndex index) {
  at::Generator generator = make_generator(index);
  generator.seed();
  return generator;
}

void draw_from_host(bool wanted) { g_from_host.store(wanted, std::memory_order_relaxed); }

bool draws_from_host() noexcept { return g_from_host.load(std::memory_order_relaxed); }

void take_any_generator(bool wanted) { g_any.store(wanted, std::memory_order_relaxed); }

bool takes_any_generator() noexcept { return g_any.load(std::memory_order_relaxed); }

at::Generator host_generator(const at::Generator& given, c10::DeviceIndex index) {
  if (C10_UNLIKELY(g_from_host.load(std::memory_order_relaxed)) && !given.defined()) {
    return at::detail::getDefaultCPUGenerator();
  }
  const at::Generator& chosen = given.defined() ? given : device(index).generator;
  if (C10_UNLIKELY(takes_any_generator()) && chosen.device().is_cpu()) return chosen;
  TORCH_CHECK(chosen.device().type() == c10::DeviceType::CUDA,
              "Expected a 'cuda' device type for generator but found '", chosen.device().type(), "'");
  auto* generator = dynamic_cast<DeviceGenerator*>(chosen.unsafeGetGeneratorImpl());
  TORCH_CHECK(generator != nullptr, "devsan: expected a generator of an emulated GPU, got one of a real GPU");
  return generator->next_host_generator();
}

}  // namespace devsan::emulate
