#pragma once

#include <functional>
#include <vector>

#include <ATen/core/ivalue.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

namespace devsan::collectives {

/// A collective of SampledGloo: done when gloo's is, and what follows it.
class SampledWork final : public c10d::Work {
 public:
  SampledWork(c10d::OpType op, std::uint64_t sequence, std::vector<at::Tensor> outputs);

  /// @param after runs in gloo's thread
  void follow(c10d::Work& carrier, std::function<void()> after);
  /// There is nothing to wait for.
  void complete(const std::exception_ptr& error = nullptr);

  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }
  std::vector<at::Tensor> result() override { return outputs_; }
  std::uint64_t getSequencenumber() const override { return sequence_; }

 private:
  std::uint64_t sequence_;
  std::vector<at::Tensor> outputs_;
  std::function<void()> after_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

/// What a message to a rank that does not run leaves to do, and a collective whose root does not.
c10::intrusive_ptr<c10d::Work> done_work(c10d::OpType op, std::vector<at::Tensor> outputs = {});

/// A receive from whoever sends first, whose rank gloo tells among those that run.
class SampledReceive final : public c10d::Work {
 public:
  SampledReceive(c10::intrusive_ptr<c10d::Work> carrier, std::vector<int> present)
      : Work(-1, c10d::OpType::RECVANYSOURCE), carrier_(std::move(carrier)), present_(std::move(present)) {}

  bool isCompleted() override { return carrier_->isCompleted(); }
  bool wait(std::chrono::milliseconds timeout) override { return carrier_->wait(timeout); }
  void abort() override { carrier_->abort(); }
  int sourceRank() const override { return present_.at(static_cast<std::size_t>(carrier_->sourceRank())); }

 private:
  c10::intrusive_ptr<c10d::Work> carrier_;
  std::vector<int> present_;
};

}  // namespace devsan::collectives
