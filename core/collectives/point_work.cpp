#include "collectives/point_work.h"

#include <thread>

namespace devsan::collectives {

void PointWork::carry_out(std::chrono::milliseconds timeout) {
  std::exception_ptr error;
  try {
    carrier_->wait(timeout);
  } catch (...) {
    error = translated(std::current_exception());
  }
  conclude(error);
}

/// Has a thread wait, unless somebody does.
void PointWork::have_waited_for() {
  {
    const std::scoped_lock lock(mutex_);
    if (completed_ || somebody_waits_) return;
    somebody_waits_ = true;
  }
  const auto self = c10::intrusive_ptr<PointWork>::unsafe_reclaim_from_nonowning(this);
  std::thread([self] { self->carry_out(self->call_.timeout); }).detach();
}

bool PointWork::isCompleted() {
  have_waited_for();
  const std::scoped_lock lock(mutex_);
  return completed_;
}

c10::intrusive_ptr<c10::ivalue::Future> PointWork::getFuture() {
  have_waited_for();
  wait_for_python(*this);
  return future_;
}

bool PointWork::wait(std::chrono::milliseconds timeout) {
  const auto limit = timeout == kNoTimeout ? call_.timeout : timeout;
  std::unique_lock lock(mutex_);
  if (!completed_ && !somebody_waits_) {
    somebody_waits_ = true;
    lock.unlock();
    noted_.waiting(true);
    carry_out(limit);
    lock.lock();
  }
  if (!cv_.wait_for(lock, limit, [this] { return completed_; })) {
    std::rethrow_exception(timeout_error());
  }
  if (exception_) std::rethrow_exception(exception_);
  return true;
}

}  // namespace devsan::collectives
