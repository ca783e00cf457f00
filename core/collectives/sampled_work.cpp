#include "collectives/sampled_work.h"

#include <ATen/core/LegacyTypeDispatch.h>

namespace devsan::collectives {

SampledWork::SampledWork(c10d::OpType op, std::uint64_t sequence, std::vector<at::Tensor> outputs)
    : Work(-1, op),
      sequence_(sequence),
      outputs_(std::move(outputs)),
      future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()))) {}

void SampledWork::follow(c10d::Work& carrier, std::function<void()> after) {
  after_ = std::move(after);
  const auto self = c10::intrusive_ptr<SampledWork>::unsafe_reclaim_from_nonowning(this);
  carrier.getFuture()->addCallback([self](c10::ivalue::Future& done) { self->complete(done.exception_ptr()); });
}

void SampledWork::complete(const std::exception_ptr& error) {
  std::exception_ptr last = error;
  if (!last && after_) {
    try {
      const at::AutoDispatchBelowADInplaceOrView below;
      after_();
    } catch (...) {
      last = std::current_exception();
    }
  }
  after_ = nullptr;
  finish(last);
  if (last) {
    future_->setError(last);
  } else {
    future_->markCompleted(c10::IValue(outputs_));
  }
}

c10::intrusive_ptr<c10d::Work> done_work(c10d::OpType op, std::vector<at::Tensor> outputs) {
  auto work = c10::make_intrusive<SampledWork>(op, 0, std::move(outputs));
  work->complete();
  return work;
}

}  // namespace devsan::collectives
