#include "collectives/work.h"

#include <array>
#include <thread>

#include <c10/util/Exception.h>

#include "collectives/failures.h"
#include "emulate/runtime/stream.h"
#include "order/monitor.h"

namespace devsan::collectives {
namespace {

/// gloo notices that time is up by itself; a wait ends this much later in any case.
constexpr std::chrono::milliseconds kGrace{5000};
/// A wait looks this often whether another thread has aborted the communicator.
constexpr std::chrono::milliseconds kWake{500};

std::chrono::milliseconds since(GroupWork::Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(GroupWork::Clock::now() - start);
}

}  // namespace

GroupWork::GroupWork(std::shared_ptr<Communicator> communicator, Call call, Noted noted)
    : Work(communicator->group().rank, call.op),
      communicator_(std::move(communicator)),
      call_(without_python(std::move(call))),
      noted_(noted),
      started_(Clock::now()),
      future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()))) {
  communicator_->work_begun();
}

void GroupWork::release_resources() {
  call_.inputs.clear();
  call_.outputs.clear();
  future_.reset();
  communicator_.reset();
}

void GroupWork::note_order(std::uint64_t group) {
  const at::Tensor* first = call_.first();
  if (C10_LIKELY(!order::Monitor::is_on()) || first == nullptr) return;
  static const auto* names = new std::array<std::string, 2>{"a collective", "a message"};
  order::Monitor& monitor = order::Monitor::instance();
  order_device_ = first->device().index();
  const order::Lane lane = order::lane_of_group(order_device_, group);
  monitor.wait(lane, order::Lane{order_device_, emulate::current_stream_id(first->device().index())});
  std::vector<order::Touch> touches;
  const bool sends = call_.op == c10d::OpType::SEND;
  for (const auto* tensors : {&call_.inputs, &call_.outputs}) {
    for (const at::Tensor& tensor : *tensors) {
      if (tensor.numel() == 0 || !tensor.has_storage() || !tensor.is_contiguous()) continue;
      const auto base = reinterpret_cast<std::uintptr_t>(tensor.storage().data());
      const auto start = reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr());
      touches.push_back({base, {start, start + tensor.nbytes(), 0}, tensors == &call_.outputs && !sends, false});
    }
  }
  const bool is_message = sends || call_.op == c10d::OpType::RECV;
  monitor.run(lane, touches, &(*names)[is_message ? 1 : 0]);
  order_ = monitor.mark(lane);
}

void GroupWork::join_order() const {
  if (C10_LIKELY(!order::Monitor::is_on()) || order_device_ < 0) return;
  const auto index = static_cast<c10::DeviceIndex>(order_device_);
  order::Monitor::instance().wait(order::Lane{order_device_, emulate::current_stream_id(index)}, order_);
}

bool GroupWork::isSuccess() const {
  const std::scoped_lock lock(mutex_);
  return completed_ && !exception_;
}

std::exception_ptr GroupWork::translated(const std::exception_ptr& error) const {
  if (const std::exception_ptr refusal = communicator_->refusal(kAnyCall)) return refusal;
  return is_timeout(message_of(error)) ? timeout_error() : communicator_->explain(error);
}

void GroupWork::conclude(const std::exception_ptr& error) {
  ended_ = Clock::now();
  communicator_->work_ended();
  noted_.end(error ? message_of(error) : std::string());
  if (error) {
    future_->setError(error);
  } else {
    future_->markCompleted(c10::IValue(call_.outputs));
  }
  finish(error);
}

std::exception_ptr GroupWork::timeout_error() const {
  const std::string text = c10::str(log_prefix(communicator_->group()),
                                    "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=", call_.sequence,
                                    ", OpType=", c10d::opTypeToString(call_.op), ", NumelIn=", call_.elements_in,
                                    ", NumelOut=", call_.elements_out, ", Timeout(ms)=", call_.timeout.count(),
                                    ") ran for ", since(started_).count(), " milliseconds before timing out.");
  return std::make_exception_ptr(
      c10::DistBackendError({__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)}, text));
}

void NcclWork::follow(const std::vector<c10::intrusive_ptr<c10d::Work>>& carriers, std::function<void()> after) {
  after_ = std::move(after);
  if (carriers.empty()) return complete(nullptr);
  left_.store(carriers.size(), std::memory_order_relaxed);
  const std::thread::id caller = std::this_thread::get_id();
  for (const auto& carrier : carriers) {
    const auto self = c10::intrusive_ptr<NcclWork>::unsafe_reclaim_from_nonowning(this);
    carrier->getFuture()->addCallback([self, caller](c10::ivalue::Future& done) {
      if (std::this_thread::get_id() != caller) mark_thread_of_gloo();
      self->carrier_done(done.exception_ptr());
    });
  }
}

void NcclWork::carrier_done(const std::exception_ptr& error) {
  if (error) {
    const std::scoped_lock lock(first_error_mutex_);
    if (!first_error_) first_error_ = error;
  }
  if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  complete(first_error_);
}

void NcclWork::complete(std::exception_ptr error) {
  if (!error && after_) {
    try {
      after_();
    } catch (...) {
      error = std::current_exception();
    }
  } else if (error) {
    error = translated(error);
  }
  if (ended_once_.exchange(true)) return;
  after_ = nullptr;
  call_.inputs.clear();
  conclude(error);
}

bool NcclWork::isCompleted() {
  const std::scoped_lock lock(mutex_);
  return completed_;
}

bool NcclWork::wait(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  if (!completed_) {
    const auto start = timeout == kNoTimeout ? started_ : Clock::now();
    const auto end = start + (timeout == kNoTimeout ? call_.timeout + kGrace : timeout);
    noted_.waiting(true);
    bool in_time = true;
    std::exception_ptr refusal;
    while (in_time && !completed_ && !refusal && !communicator_->is_aborted()) {
      cv_.wait_until(lock, std::min(end, Clock::now() + kWake), [this] { return completed_; });
      in_time = Clock::now() < end;
      refusal = completed_ ? nullptr : communicator_->refusal(call_.number);
    }
    noted_.waiting(false);
    if (!completed_ && refusal) std::rethrow_exception(refusal);
    if (!completed_ && communicator_->is_aborted()) communicator_->refuse();
    if (!completed_) std::rethrow_exception(timeout_error());
  }
  if (exception_) std::rethrow_exception(exception_);
  join_order();
  return true;
}

// What is chained to the future runs on a stream that waits for NCCL's; here that is the asking thread's.
c10::intrusive_ptr<c10::ivalue::Future> NcclWork::getFuture() {
  join_order();
  wait_for_python(*this);
  return future_;
}

void NcclWork::abort() { communicator_->abort("NCCL communicator was aborted by the program."); }

c10::intrusive_ptr<c10::ivalue::Future> NcclWork::getFutureResult() {
  auto result = c10::make_intrusive<c10::ivalue::Future>(c10::IntType::get());
  future_->addCallback([result](c10::ivalue::Future& done) {
    auto code = c10d::WorkResult::SUCCESS;
    if (done.hasError()) {
      code = is_timeout(message_of(done.exception_ptr())) ? c10d::WorkResult::TIMEOUT : c10d::WorkResult::COMM_ERROR;
    }
    result->markCompleted(c10::IValue(static_cast<std::int64_t>(code)));
  });
  return result;
}

float NcclWork::getDuration() const { return std::chrono::duration<float, std::milli>(ended_ - started_).count(); }

void wait_for_python(c10d::Work& work) {
  const Python& functions = python();
  if (functions.holds_lock == nullptr || !functions.holds_lock()) return;
  functions.without_lock([&work] {
    try {
      work.wait(kNoTimeout);
    } catch (const std::exception&) {
      // The future has it.
    }
  });
}

}  // namespace devsan::collectives
