#include <pthread.h>
#include <torch/csrc/utils/device_lazy_init.h>

#include <atomic>

#include "bindings/bindings.h"
#include "emulate/runtime/fork.h"

namespace devsan::bindings {
namespace {

// NOTE [CUDA does not survive a fork]
// As in torch/csrc/utils/device_lazy_init.cpp: a child of a process that has talked to the driver must not use CUDA. The
// flag is read by torch.cuda._is_in_bad_fork, and torch's own code says the sentence.
std::atomic<bool> g_driver_in_use{false};
std::atomic<bool> g_bad_fork{false};

void after_fork_in_child() {
  emulate::release_locks_after_fork();
  if (!g_driver_in_use.load()) return;
  g_bad_fork.store(true);
  torch::utils::set_requires_device_init(at::kCUDA, true);
}

void use_driver() {
  static const int registered =
      pthread_atfork(&emulate::hold_locks_for_fork, &emulate::release_locks_after_fork, &after_fork_in_child);
  TORCH_CHECK(registered == 0, "devsan: expected pthread_atfork to succeed, got error ", registered);
  g_driver_in_use.store(true);
}

void leave_driver() {
  g_driver_in_use.store(false);
  g_bad_fork.store(false);
}

}  // namespace

void bind_forks(pybind11::module_& module) {
  module.def("use_driver", &use_driver);
  module.def("leave_driver", &leave_driver);
  module.def("is_in_bad_fork", [] { return g_bad_fork.load(); });
}

}  // namespace devsan::bindings
