#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "diagnose/case.h"
#include "diagnose/ranks/diagnose_ranks.h"

namespace devsan::diagnose::test {

using model::Collective;
using model::RankEnd;
using model::RankFacts;
using model::RankFinding;
using model::RankModel;

/// A job under construction: so many ranks on one machine with as many GPUs, all well.
struct JobCase {
  std::vector<RankFacts> ranks;

  explicit JobCase(int count, int gpus = 0, std::string backend = "nccl") {
    if (gpus == 0) gpus = count;
    for (int number = 0; number < count; ++number) {
      RankFacts rank;
      rank.process.rank = rank.process.local_rank = number;
      rank.process.world_size = count;
      rank.process.environment["LOCAL_RANK"] = std::to_string(number);
      rank.process.device_count = gpus;
      rank.process.current_device = Device("cuda:" + std::to_string(number % gpus));
      rank.process.set_device_called = number % gpus > 0;
      rank.host = "node0";
      rank.backend = backend;
      for (int gpu = 0; gpu < gpus; ++gpu) rank.gpus.push_back("GPU-" + std::to_string(gpu));
      rank.end = RankEnd::kFinished;
      holds(rank, rank.process.current_device, 1 << 20);
      ranks.push_back(std::move(rank));
    }
  }

  static model::RankMemory& holds(RankFacts& rank, Device device, std::uint64_t bytes, std::vector<Event> placed = {}) {
    model::RankMemory memory;
    memory.device = std::move(device);
    memory.bytes = memory.peak = bytes;
    memory.placed = std::move(placed);
    rank.memory.push_back(std::move(memory));
    return rank.memory.back();
  }

  RankFacts& operator[](int number) { return ranks[static_cast<std::size_t>(number)]; }

  void raises(int number, std::string error, std::string sentence, Frame where = {}, double at = 10) {
    RankFacts& rank = (*this)[number];
    rank.end = RankEnd::kRaised;
    rank.error = std::move(error);
    rank.sentence = std::move(sentence);
    rank.where = std::move(where);
    rank.ended = at;
  }

  Collective& waits(int number, std::string name, int line, std::uint64_t sequence = 12) {
    RankFacts& rank = (*this)[number];
    rank.end = RankEnd::kTerminated;
    Collective call;
    call.group = "default";
    call.sequence = sequence;
    call.name = std::move(name);
    call.shapes = {{1024}};
    call.dtype = "float32";
    call.bytes = 4096;
    call.since = 5;
    call.where = own("train.py", line, "train", "dist." + call.name + "(loss)");
    rank.collectives.push_back(std::move(call));
    return rank.collectives.back();
  }

  RankModel& model(int number, std::vector<model::RankTensor> tensors) {
    RankModel made;
    made.type = "Net";
    made.wrappers = {"DDP"};
    made.count = tensors.size();
    for (const model::RankTensor& tensor : tensors) {
      made.digest += tensor.name + tensor.dtype + (tensor.requires_grad ? "t" : "f");
      for (const auto size : tensor.shape) made.digest += std::to_string(size) + ",";
    }
    made.tensors = std::move(tensors);
    (*this)[number].models = {std::move(made)};
    return (*this)[number].models.front();
  }

  void finds(int number, std::string code, std::string cause, SentenceKind kind = SentenceKind::kMixed,
             std::string sentence = "Expected all tensors to be on the same device") {
    model::OwnFinding finding;
    finding.code = std::move(code);
    finding.cause = std::move(cause);
    finding.title = "its own";
    finding.kind = kind;
    finding.sentence = sentence;
    (*this)[number].findings.push_back(std::move(finding));
    raises(number, "RuntimeError", std::move(sentence), own("train.py", 30, "train"));
  }

  std::vector<RankFinding> found() const { return ranks::diagnose_ranks(ranks); }
};

inline model::RankTensor tensor_of(std::string name, std::vector<std::int64_t> shape, Device device,
                                   std::string dtype = "float32") {
  model::RankTensor tensor;
  tensor.name = std::move(name);
  tensor.shape = std::move(shape);
  tensor.device = std::move(device);
  tensor.dtype = std::move(dtype);
  tensor.requires_grad = true;
  return tensor;
}

inline std::string text_of(const std::vector<RankFinding>& findings) {
  std::string text;
  for (const RankFinding& each : findings) {
    text += test::text_of(std::vector<model::Finding>{each.finding});
    for (const model::Message& line : each.victims) text += "    victims: " + line.text() + "\n";
  }
  return text;
}

/// The first finding; its code and ranks have to be these.
inline RankFinding expect_first(const JobCase& job, const std::string& code, std::vector<int> ranks) {
  const auto findings = job.found();
  if (findings.empty()) {
    ADD_FAILURE() << "expected " << code << ", got no finding";
    return {};
  }
  EXPECT_EQ(findings.front().finding.code, code) << text_of(findings);
  EXPECT_EQ(findings.front().ranks, ranks) << text_of(findings);
  return findings.front();
}

inline void expect_victim(const RankFinding& finding, const std::string& words) {
  std::string all;
  for (const model::Message& line : finding.victims) {
    if (line.text().find(words) != std::string::npos) return;
    all += "\n    " + line.text();
  }
  ADD_FAILURE() << "no victim is told as \"" << words << "\":" << all;
}

}  // namespace devsan::diagnose::test
