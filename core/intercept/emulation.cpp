#include "intercept/emulation.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <c10/core/DeviceType.h>

#include <algorithm>
#include <cstdint>

#include "emulate/runtime/autograd_threads.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/device_allocator.h"
#include "emulate/runtime/device_guard.h"
#include "emulate/runtime/hooks.h"
#include "emulate/runtime/host_allocator.h"
#include "emulate/runtime/momentary.h"
#include "emulate/runtime/tensor.h"
#include "emulate/runtime/timers.h"
#include "guard/device_check.h"
#include "intercept/meta_watch.h"
#include "intercept/registration.h"
#include "order/monitor.h"

namespace devsan::intercept {
namespace {

/// Tries what everything rests on. A torch whose internals are not as expected fails here, not in the user's program.
void self_check() {
  TORCH_CHECK(at::globalContext().hasCUDA(), "devsan: this torch does not ask its CUDA hooks as expected");
  const at::Tensor probe = at::ones({2}, at::TensorOptions().device(at::kCUDA, 0));
  TORCH_CHECK(emulate::is_virtual(probe) && probe.device() == at::Device(at::kCUDA, 0),
              "devsan: this torch does not dispatch factories as expected");
  TORCH_CHECK((probe + probe).sum().item<double>() == 4.0,
              "devsan: this torch does not dispatch operators as expected");
}

/// The same GPUs with memory to spare: a GPU that others have filled, or a tiny one, is no reason not to start.
std::vector<model::DeviceSpec> with_room(std::vector<model::DeviceSpec> devices) {
  for (model::DeviceSpec& device : devices) {
    device.total_memory = std::max(device.total_memory, std::uint64_t{1} << 30);
    device.used_memory = 0;
  }
  return devices;
}

}  // namespace

void start_emulation(const std::vector<model::DeviceSpec>& devices) {
  TORCH_CHECK(!c10::is_privateuse1_backend_registered(),
              "devsan: expected the PrivateUse1 dispatch key to be free, got ", "backend \"",
              c10::get_privateuse1_backend(), "\" on it");
  emulate::create_devices(with_room(devices), /*shared=*/false);
  emulate::install_device_guard();
  emulate::install_hooks();
  emulate::host_allocator().install();
  emulate::device_allocator().install();
  emulate::install_profiler();
  emulate::watch_optimizer_steps();
  register_operators();
  register_factories();
  start_meta_watch();
  guard::forget_last_refusal();
  try {
    self_check();
    emulate::create_devices(devices);  // as they are; the check left its traces in the counters
    emulate::ensure_autograd_threads();
  } catch (...) {
    stop_emulation();
    throw;
  }
}

void stop_emulation() {
  emulate::settle_autograd_threads();
  stop_meta_watch();
  unregister_factories();
  emulate::remove_profiler();
  emulate::device_allocator().remove();
  emulate::remove_hooks();
  emulate::remove_device_guard();
  emulate::retire_devices();
  order::Monitor::stop();
}

}  // namespace devsan::intercept
