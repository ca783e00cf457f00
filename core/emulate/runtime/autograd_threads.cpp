#include "emulate/runtime/autograd_threads.h"

#include <unistd.h>

#include <memory>
#include <thread>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/engine.h>

#include "emulate/runtime/device.h"

namespace devsan::emulate {
namespace {

using torch::autograd::Engine;
using torch::autograd::ReadyQueue;

/// Pointers to the protected members, named through a derived class as the language allows.
struct EngineParts : Engine {
  static constexpr auto queues() { return &EngineParts::device_ready_queues_; }
  static constexpr auto pool() { return &EngineParts::thread_pool_shared_; }
};

bool engine_has_run() { return Engine::get_default_engine().*EngineParts::pool() != nullptr; }

/// The process whose workers these are: a fork does not take them along.
pid_t g_owner = 0;

}  // namespace

// NOTE [Autograd threads for late devices]
// The engine starts one thread per device at the first backward pass, and never again (Engine::start_device_threads in
// torch/csrc/autograd/engine.cpp). A program that ran a backward pass on the CPU before the emulation started would find
// no queue for cuda:0. The missing queues and threads are added here, in the way that function makes them.
void ensure_autograd_threads() {
  Engine& engine = Engine::get_default_engine();
  auto& queues = engine.*EngineParts::queues();
  g_owner = getpid();
  if (!engine_has_run()) return;  // it will count the devices itself at its first backward pass
  for (auto i = static_cast<int>(queues.size()); i < device_count(); ++i) {
    auto queue = std::make_shared<ReadyQueue>();
    queues.push_back(queue);
    std::thread(&Engine::thread_init, &engine, i, queue, /*should_increment=*/true).detach();
  }
}

// NOTE [Letting go of a backward pass]
// A worker drops the last backward pass's task after its caller has gone on. The task may hold Python objects (thread
// local state of the caller), and dropping them takes the GIL: if Python ends meanwhile, the thread is ended inside a
// destructor, and the process aborts with "terminate called without an active exception". A worker has let go of a task
// for certain when it runs the next one; the next one is given here, from a new thread, whose local state holds no
// Python object.
void settle_autograd_threads() {
  if (device_count() == 0 || g_owner != getpid() || !engine_has_run()) return;
  std::thread([] {
    for (c10::DeviceIndex i = 0; i < device_count(); ++i) {
      try {
        const at::Tensor leaf = at::ones({}, at::TensorOptions().device(at::kCUDA, i)).requires_grad_();
        (leaf + leaf).backward();
      } catch (const c10::OutOfMemoryError&) {
        // The program has ended of that, and holds all memory still: its worker is left as it is.
      }
    }
  }).join();
}

}  // namespace devsan::emulate
