// NcclBackend's send and recv.
#include <thread>

#include <ATen/Functions.h>

#include "collectives/checks.h"
#include "collectives/left_out.h"
#include "collectives/nccl_backend.h"
#include "collectives/payload.h"
#include "collectives/profile.h"
#include "collectives/traffic.h"

namespace devsan::collectives {

using WorkPtr = c10::intrusive_ptr<c10d::Work>;

// NCCL has no tags: what is sent to a rank arrives in the order in which it was sent.
constexpr int kTag = 0;

namespace {

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
  join_order();
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
  join_order();
  return true;
}

/// What a message that was copied leaves to do.
class DoneWork final : public c10d::Work {
 public:
  explicit DoneWork(c10d::OpType op) : Work(-1, op) { finish(); }
};

}  // namespace

WorkPtr NcclBackend::point(c10d::OpType op, std::vector<at::Tensor>& tensors, int peer) {
  const at::Tensor& tensor = expect_single(tensors);
  expect_tensor(tensor, /*point_to_point=*/true);
  TORCH_CHECK_WITH(ValueError, peer >= 0 && peer < size_, "Invalid peer rank: ", peer);
  const at::AutoDispatchBelowADInplaceOrView below;
  const std::scoped_lock lock(calls_mutex_);
  const bool sends = op == c10d::OpType::SEND;
  Call call{op, sends ? "send" : "recv", tensor.numel(), tensor.numel(), options_->timeout, {}, tensors, peer};
  call.sequence = ++point_sequence_;
  refresh_group();
  const Profiled profiled(group_, call, coalescing_);
  if (peer == rank_) return point_to_self(std::move(call));
  if (C10_UNLIKELY(!group_.attendance.is_present(peer))) return point_to_nobody(std::move(call));
  Noted noted = note(call, call_site());
  std::shared_ptr<Communicator> communicator;
  WorkPtr carrier;
  try {
    communicator = communicator_with(peer, tensor.device());
    const GlooPtr gloo = communicator->connect(tensor.device(), options_->timeout);
    const int other = communicator->group().size == size_ ? peer : 1 - communicator->group().rank;
    communicator->expect_message(sends, other, static_cast<std::int64_t>(tensor.nbytes()));
    const at::Tensor host = flat(movable(tensor.is_complex() ? at::view_as_real(tensor) : tensor));
    if (!sends) note_results(host, {host});
    std::vector<at::Tensor> hosts = {moved(host)};
    if (sends && static_cast<std::int64_t>(tensor.nbytes()) <= kSmallMessage && writing(tensors).empty()) {
      hosts.front() = hosts.front().clone();
      communicator->eager_sends().add(gloo->send(hosts, other, kTag), call.timeout);
      carrier = c10::make_intrusive<DoneWork>(op);
    } else {
      carrier = sends ? gloo->send(hosts, other, kTag) : gloo->recv(hosts, other, kTag);
    }
  } catch (const std::exception& error) {
    noted.end(error.what());
    throw;
  }
  note_traffic(call, rank_, size_);
  auto work = c10::make_intrusive<PointWork>(communicator, std::move(call), noted, std::move(carrier));
  work->note_order(group_.id);
  return remember(std::move(work));
}

/// See NOTE [A sample of ranks]: what is sent to a rank that does not run is dropped, and zeros come from it.
WorkPtr NcclBackend::point_to_nobody(Call call) {
  if (call.op == c10d::OpType::RECV) {
    wait_for_earlier(call.outputs);
    const at::Tensor host = flat(movable(call.outputs.front()));
    note_results(host, {host});
    if (!is_left_out(host)) host.zero_();
  }
  note_traffic(call, rank_, size_);
  return remember(c10::make_intrusive<DoneWork>(call.op));
}

/// A rank sends to itself within a batch: whichever call comes second finds the other's tensor.
WorkPtr NcclBackend::point_to_self(Call call) {
  const bool sends = call.op == c10d::OpType::SEND;
  const at::Tensor host = flat(movable(call.outputs.front()));
  auto& waiting = sends ? wanted_from_self_ : sent_to_self_;
  if (waiting.empty()) {
    (sends ? sent_to_self_ : wanted_from_self_).push_back(host);
  } else {
    (sends ? waiting.front() : host).copy_(sends ? host : waiting.front());
    waiting.pop_front();
  }
  return remember(c10::make_intrusive<DoneWork>(call.op));
}

WorkPtr NcclBackend::send(std::vector<at::Tensor>& tensors, int destination, int /*tag*/) {
  return point(c10d::OpType::SEND, tensors, destination);
}

WorkPtr NcclBackend::recv(std::vector<at::Tensor>& tensors, int source, int /*tag*/) {
  return point(c10d::OpType::RECV, tensors, source);
}

WorkPtr NcclBackend::recvAnysource(std::vector<at::Tensor>& /*tensors*/, int /*tag*/) {
  C10_THROW_ERROR(NotImplementedError, "ProcessGroupNCCL does not support recvAnysource");
}

}  // namespace devsan::collectives
