#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Generator.h>
#include <c10/core/Device.h>
#include <c10/macros/Macros.h>

#include "memory/caching_allocator.h"
#include "memory/process.h"
#include "model/device_spec.h"

namespace devsan::emulate {

/// One emulated GPU: its properties, its memory and its default random generator.
struct EmulatedDevice {
  EmulatedDevice(c10::DeviceIndex index, const model::DeviceSpec& spec, memory::DeviceBudget budget);

  c10::DeviceIndex index;
  model::DeviceSpec spec;
  memory::CachingAllocator allocator;
  at::Generator generator;
};

/// At most this many emulated GPUs. The autograd engine starts a thread for each, and current streams
/// are kept in a thread-local array of this size.
inline constexpr int kMaxDevices = 64;

/// Makes the devices of this process. A later call replaces them; tensors on the old ones stay valid,
/// because a set of devices lives as long as the process. See NOTE [Devices are never freed].
/// @param shared whether their memory is shared as share_memory says
void create_devices(const std::vector<model::DeviceSpec>& specs, bool shared = true);

/// The devices made from here on share their memory with other processes that name the same file: a GPU with the same uuid
/// on the same node is one GPU to all of them. An empty path: with none. See NOTE [One GPU, several processes].
/// @param node numbers the emulated machine, where several are emulated on one
/// @throws std::system_error when the file cannot be mapped
void share_memory(const std::string& path, std::uint64_t node);

/// The processes that hold memory of a GPU of the machine, visible to this one or not, as NVML lists them. None where
/// memory is not shared: see share_memory.
[[nodiscard]] std::vector<memory::ProcessUse> gpu_processes(const std::string& uuid);

/// The devices there are show what they hold in a new file, for whoever reads it; an empty path: in none any more. See
/// NOTE [Gauges] in core/memory/gauges.h. The GIL covers it.
/// @throws std::system_error when the file cannot be made; nothing is shown then
void show_memory(const std::string& path);

/// Counts a step of an optimizer in that file, if there is one. The GIL covers it.
void count_step() noexcept;

/// Calls `visit` for every emulated GPU of this process, those of emulations that have ended too: their tensors stay.
void for_each_device(const std::function<void(EmulatedDevice&)>& visit);

/// From here on there is no emulated GPU: `device_count()` is 0.
void retire_devices() noexcept;

c10::DeviceIndex device_count() noexcept;

/// Counts the sets of devices that were made; 0 before the first.
unsigned device_generation() noexcept;

/// The emulated GPU `index`. Raises torch.AcceleratorError "CUDA error: invalid device ordinal", in
/// CUDA's words, when there is none.
EmulatedDevice& device(c10::DeviceIndex index);

/// The emulated GPU `index`, or null when there is none.
EmulatedDevice* find_device(c10::DeviceIndex index) noexcept;

/// The calling thread's current device, as cudaGetDevice. A thread that was there before these GPUs begins like a new one.
c10::DeviceIndex current_device() noexcept;
/// As cudaSetDevice; raises like `device` for an ordinal that is not there. Without emulated GPUs it does nothing: a tensor
/// that has outlived its emulation can still be computed with.
void set_current_device(c10::DeviceIndex index);
void set_current_device_unchecked(c10::DeviceIndex index) noexcept;

/// NOTE [All on one GPU]
/// To compute what one device would compute, whatever a program places on a GPU is placed on cuda:0, also under an ordinal
/// that is not there. The program is told of as many GPUs as before.
void place_on_first(bool wanted);

/// `cuda` means the current device, `cuda:k` itself. Raises for an ordinal that is not there, while there are GPUs.
c10::Device resolve(c10::Device requested);

/// Raises CUDA's refusal of a device ordinal.
[[noreturn]] void refuse_ordinal();

/// Raises what CUDA raises after an assertion of a kernel failed, with the `reason`, of which a real GPU prints no more
/// than the line of the kernel.
[[noreturn]] void raise_device_assert(std::string_view reason);

/// What is remembered of the GPUs there are. Pools, autograd and loaders have threads that live on when one emulation ends
/// and another starts: what they remember of the first, which may have had more GPUs, is forgotten, as if the process had
/// begun anew. Not thread-safe: a `thread_local` variable, or one with a lock of its own.
template <typename Value>
class SinceStart {
 public:
  /// @param initial is called for the value that a thread begins with
  template <typename Initial>
  Value& get(const Initial& initial) noexcept {
    if (C10_UNLIKELY(generation_ != device_generation())) set(initial());
    return value_;
  }

  void set(Value value) noexcept {
    value_ = std::move(value);
    generation_ = device_generation();
  }

 private:
  Value value_{};
  unsigned generation_ = 0;  ///< of the GPUs that the value is about; 0: of none
};

}  // namespace devsan::emulate
