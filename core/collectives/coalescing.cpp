// NcclBackend's batches: several calls as one.
#include "collectives/nccl_backend.h"
#include "collectives/payload.h"
#include "collectives/profile.h"

namespace devsan::collectives {
namespace {

class JoinedWork final : public c10d::Work {
 public:
  explicit JoinedWork(std::vector<c10::intrusive_ptr<c10d::Work>> works)
      : Work(-1, c10d::OpType::COALESCED), works_(std::move(works)) {}

  bool isCompleted() override {
    for (const auto& work : works_) {
      if (!work->isCompleted()) return false;
    }
    return true;
  }

  bool isSuccess() const override {
    for (const auto& work : works_) {
      if (!work->isSuccess()) return false;
    }
    return true;
  }

  bool wait(std::chrono::milliseconds timeout) override {
    for (const auto& work : works_) work->wait(timeout);
    return true;
  }

  void synchronize() override { wait(kNoTimeout); }
  void blockCurrentStream() override { synchronize(); }

  std::vector<at::Tensor> result() override {
    std::vector<at::Tensor> all;
    for (const auto& work : works_) {
      for (at::Tensor& tensor : work->result()) all.push_back(std::move(tensor));
    }
    return all;
  }

  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    c10::List<c10::intrusive_ptr<c10::ivalue::Future>> futures(
        c10::FutureType::create(c10::ListType::create(c10::TensorType::get())));
    for (const auto& work : works_) futures.push_back(work->getFuture());
    auto all = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
    const auto self = c10::intrusive_ptr<JoinedWork>::unsafe_reclaim_from_nonowning(this);
    c10::collectAll(futures)->addCallback([all, self](c10::ivalue::Future& done) {
      if (done.hasError()) {
        all->setError(done.exception_ptr());
      } else {
        all->markCompleted(c10::IValue(self->result()));
      }
    });
    wait_for_python(*this);
    return all;
  }

  std::uint64_t getSequencenumber() const override { return works_.front()->getSequencenumber(); }

 private:
  std::vector<c10::intrusive_ptr<c10d::Work>> works_;
};

}  // namespace

c10::intrusive_ptr<c10d::Work> join(std::vector<c10::intrusive_ptr<c10d::Work>> works) {
  if (works.size() == 1) return std::move(works.front());
  return c10::make_intrusive<JoinedWork>(std::move(works));
}

void NcclBackend::startCoalescing() {
  TORCH_CHECK(!coalescing_, "Coalescing is already in progress");
  coalescing_ = true;
}

c10::intrusive_ptr<c10d::Work> NcclBackend::endCoalescing() {
  coalescing_ = false;
  if (coalesced_.empty()) return nullptr;
  auto works = std::move(coalesced_);
  coalesced_.clear();
  profile_coalesced();
  return join(std::move(works));
}

c10::intrusive_ptr<c10d::Work> NcclBackend::remember(c10::intrusive_ptr<c10d::Work> work) {
  if (coalescing_) coalesced_.push_back(work);
  return work;
}

Call NcclBackend::together(const char* name, const std::vector<at::Tensor>& inputs,
                           const std::vector<at::Tensor>& outputs) const {
  Call call{c10d::OpType::COALESCED, name, 0, 0, {}, inputs, outputs};
  call.elements_in = count(inputs);
  call.elements_out = count(outputs);
  call.sequence = sequence_ + 1;
  return call;
}

}  // namespace devsan::collectives
