#pragma once

#include "collectives/work.h"

namespace devsan::collectives {

/// A send or a receive. gloo has no thread for these: somebody has to wait for them. `wait()` does; who asks for the
/// future, or whether it is completed, has a thread of this work's own do it.
class PointWork final : public GroupWork {
 public:
  PointWork(std::shared_ptr<Communicator> communicator, Call call, Noted noted, c10::intrusive_ptr<c10d::Work> carrier)
      : GroupWork(std::move(communicator), std::move(call), noted), carrier_(std::move(carrier)) {}

  bool isCompleted() override;
  bool wait(std::chrono::milliseconds timeout) override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  int sourceRank() const override { return carrier_->sourceRank(); }

 private:
  void have_waited_for();
  void carry_out(std::chrono::milliseconds timeout);

  c10::intrusive_ptr<c10d::Work> carrier_;
  bool somebody_waits_ = false;  // guarded by mutex_
};

}  // namespace devsan::collectives
