#include "emulate/runtime/device.h"

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

#include <c10/util/Exception.h>
#include <c10/util/thread_name.h>
#include <torch/headeronly/version.h>

#include "emulate/runtime/generator.h"
#include "emulate/runtime/stream_progress.h"
#include "emulate/runtime/torch_release.h"
#include "memory/cuda_context.h"
#include "memory/gauges.h"
#include "memory/shared_table.h"

namespace devsan::emulate {
namespace {

std::atomic<bool> g_on_first{false};

// NOTE [Devices are never freed]
// A tensor may outlive the emulation that made it (`stop()` while the user still holds it), and its block
// then returns to its device's allocator. A set of devices is a few kilobytes, so it is kept for good.
using DeviceSet = std::vector<std::unique_ptr<EmulatedDevice>>;

std::mutex g_mutex;
std::vector<std::unique_ptr<DeviceSet>>& all_sets() {
  static auto* sets = new std::vector<std::unique_ptr<DeviceSet>>();
  return *sets;
}
std::atomic<DeviceSet*> g_devices{nullptr};

std::atomic<unsigned> g_generation{0};
thread_local SinceStart<c10::DeviceIndex> t_current_device;

/// cuda:0; for autograd's worker of `cuda:k` that device, which Engine::thread_init sets once for the life of the thread
/// (torch/csrc/autograd/engine.cpp). It also names the thread so.
c10::DeviceIndex first_device_of_thread() {
  constexpr std::string_view kWorker = "pt_autograd_";
  const std::string name = c10::getThreadName();
  int index = 0;
  if (name.starts_with(kWorker)) std::from_chars(name.data() + kWorker.size(), name.data() + name.size(), index);
  return index < device_count() ? static_cast<c10::DeviceIndex>(index) : c10::DeviceIndex{0};
}

std::shared_ptr<memory::SharedTable> g_table;  // under g_mutex
std::uint64_t g_node = 0;
std::shared_ptr<memory::Gauges> g_gauges;

/// The same number for the same GPU in every process: FNV-1a over its uuid and its node.
std::uint64_t key_of(const std::string& uuid, std::uint64_t node) {
  std::uint64_t key = 14695981039346656037ULL;
  for (const char byte : uuid + '/' + std::to_string(node)) {
    key = (key ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
  }
  return key | 1U;
}

memory::DeviceBudget budget_of(const model::DeviceSpec& spec, bool shared) {
  memory::DeviceBudget budget;
  budget.total_bytes = spec.total_memory;
  budget.busy_bytes = spec.used_memory;
  budget.context_bytes = memory::context_bytes(spec.total_memory);
  if (shared && g_table != nullptr) {
    budget.shared = g_table;
    budget.gpu = key_of(spec.uuid, g_node);
  }
  return budget;
}

/// A set that has had its day: its tensors stay, and take no memory from other processes any more.
void stop_sharing(DeviceSet* set) noexcept {
  if (set == nullptr) return;
  for (const std::unique_ptr<EmulatedDevice>& each : *set) each->allocator.stop_sharing();
}

/// torch reads PYTORCH_ALLOC_CONF, then the older name (c10/core/AllocatorConfig.h). A value that it refuses is refused
/// with its sentence, as a ValueError.
memory::Settings allocator_settings() {
  for (const char* name : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}) {
    if (const char* text = std::getenv(name)) return memory::Settings::parse(text);
  }
  return {};
}

}  // namespace

memory::TorchRelease torch_release() { return {TORCH_VERSION_MAJOR, TORCH_VERSION_MINOR}; }

EmulatedDevice::EmulatedDevice(c10::DeviceIndex device_index, const model::DeviceSpec& device_spec,
                               memory::DeviceBudget budget)
    : index(device_index),
      spec(device_spec),
      allocator(device_index, std::move(budget), allocator_settings(), torch_release()),
      generator(make_default_generator(device_index)) {
  allocator.follow(stream_progress());
}

void share_memory(const std::string& path, std::uint64_t node) {
  std::shared_ptr<memory::SharedTable> table = path.empty() ? nullptr : std::make_shared<memory::SharedTable>(path);
  std::lock_guard<std::mutex> lock(g_mutex);
  g_table = std::move(table);
  g_node = node;
}

std::vector<memory::ProcessUse> gpu_processes(const std::string& uuid) {
  std::lock_guard<std::mutex> lock(g_mutex);
  if (g_table == nullptr) return {};
  g_table->forget_the_dead();
  const int column = g_table->column_of(key_of(uuid, g_node));
  return column < 0 ? std::vector<memory::ProcessUse>{} : g_table->uses(column);
}

void show_memory(const std::string& path) {
  g_gauges = nullptr;
  if (!path.empty()) g_gauges = std::make_shared<memory::Gauges>(path);
  const DeviceSet* set = g_devices.load(std::memory_order_acquire);
  if (set == nullptr) return;
  for (const std::unique_ptr<EmulatedDevice>& each : *set) each->allocator.show_on(g_gauges);
}

void count_step() noexcept {
  if (g_gauges != nullptr) g_gauges->count_step();
}

void create_devices(const std::vector<model::DeviceSpec>& specs, bool shared) {
  TORCH_CHECK(!specs.empty() && specs.size() <= kMaxDevices, "devsan: expected 1 to ", kMaxDevices, " GPUs, got ",
              specs.size());
  auto set = std::make_unique<DeviceSet>();
  std::lock_guard<std::mutex> lock(g_mutex);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto index = static_cast<c10::DeviceIndex>(i);
    set->push_back(std::make_unique<EmulatedDevice>(index, specs[i], budget_of(specs[i], shared)));
  }
  stop_sharing(g_devices.exchange(set.get(), std::memory_order_acq_rel));
  g_generation.fetch_add(1, std::memory_order_release);
  all_sets().push_back(std::move(set));
}

void for_each_device(const std::function<void(EmulatedDevice&)>& visit) {
  std::lock_guard<std::mutex> lock(g_mutex);
  for (const std::unique_ptr<DeviceSet>& set : all_sets()) {
    for (const std::unique_ptr<EmulatedDevice>& each : *set) visit(*each);
  }
}

void retire_devices() noexcept { stop_sharing(g_devices.exchange(nullptr, std::memory_order_acq_rel)); }

c10::DeviceIndex device_count() noexcept {
  const DeviceSet* set = g_devices.load(std::memory_order_acquire);
  return set == nullptr ? c10::DeviceIndex{0} : static_cast<c10::DeviceIndex>(set->size());
}

unsigned device_generation() noexcept { return g_generation.load(std::memory_order_acquire); }

EmulatedDevice* find_device(c10::DeviceIndex index) noexcept {
  const DeviceSet* set = g_devices.load(std::memory_order_acquire);
  if (C10_UNLIKELY(set == nullptr || index < 0 || static_cast<std::size_t>(index) >= set->size())) return nullptr;
  return (*set)[static_cast<std::size_t>(index)].get();
}

void place_on_first(bool wanted) { g_on_first.store(wanted, std::memory_order_relaxed); }

EmulatedDevice& device(c10::DeviceIndex index) {
  EmulatedDevice* found = find_device(index);
  if (C10_UNLIKELY(found == nullptr)) refuse_ordinal();
  return *found;
}

namespace {

/// The words of cudaGetErrorString with the help and the suffix that c10/cuda/CUDAException.cpp and
/// c10/cuda/CUDAMiscFunctions.cpp add to them.
[[noreturn]] void raise_cuda_error(std::int32_t code, const std::string& error) {
  throw c10::AcceleratorError(
      {__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, code,
      "CUDA error: " + error +
          "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might "
          "be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
          "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n");
}

/// The GPU on which `index` is placed. Raises for an ordinal that is not there.
c10::DeviceIndex placed(c10::DeviceIndex index) {
  if (C10_UNLIKELY(g_on_first.load(std::memory_order_relaxed))) return 0;
  device(index);
  return index;
}

}  // namespace

c10::DeviceIndex current_device() noexcept { return t_current_device.get(&first_device_of_thread); }

void set_current_device(c10::DeviceIndex index) {
  if (C10_UNLIKELY(device_count() == 0)) return;  // an operator on a tensor that has outlived its emulation
  t_current_device.set(placed(index));
}

void set_current_device_unchecked(c10::DeviceIndex index) noexcept {
  if (index >= 0 && index < device_count()) t_current_device.set(index);
}

c10::Device resolve(c10::Device requested) {
  const c10::DeviceIndex index = requested.has_index() ? requested.index() : current_device();
  return {c10::DeviceType::CUDA, C10_LIKELY(device_count() != 0) ? placed(index) : index};
}

void refuse_ordinal() {
  raise_cuda_error(101 /* cudaErrorInvalidDevice */,
                   "invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?\n");
}

void raise_device_assert(std::string_view reason) {
  raise_cuda_error(710 /* cudaErrorAssert */, "device-side assert triggered\n" + std::string(reason) + "\n");
}

}  // namespace devsan::emulate
