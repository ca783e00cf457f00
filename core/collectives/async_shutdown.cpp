#include "collectives/async_shutdown.h"

#include <unistd.h>

#include <future>
#include <system_error>
#include <thread>

namespace devsan::collectives {
namespace {

thread_local bool is_thread_of_gloo = false;

}  // namespace

void mark_thread_of_gloo() noexcept { is_thread_of_gloo = true; }

void async_shutdown(c10::intrusive_ptr<c10d::Backend> gloo, int process, std::chrono::milliseconds limit) {
  if (gloo == nullptr) return;
  if (process != getpid()) {
    gloo.release();
    return;
  }
  std::promise<void> promise;
  std::future<void> done = promise.get_future();
  auto* held = gloo.release();
  try {
    std::thread([held, promise = std::move(promise)]() mutable {
      c10::intrusive_ptr<c10d::Backend>::reclaim(held).reset();
      promise.set_value();
    }).detach();
  } catch (const std::system_error&) {
    return;  // no more threads: it stays
  }
  if (!is_thread_of_gloo) done.wait_for(limit);
}

}  // namespace devsan::collectives
