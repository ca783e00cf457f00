#pragma once

#include <string>
#include <vector>

#include "diagnose/ranks/texts.h"
#include "model/rank.h"

namespace devsan::diagnose::ranks {

/// A GPU of a machine, whatever numbers the ranks have for it. Empty: not known.
using Gpu = std::string;

/// The facts of all ranks with the questions that several causes ask of them. Its facts must outlive it.
class Job {
 public:
  explicit Job(const std::vector<model::RankFacts>& facts);

  /// Those of whom something is known, in order of their numbers.
  const std::vector<const model::RankFacts*>& ranks() const { return ranks_; }
  const model::RankFacts* rank(int number) const;  ///< null: nothing is known of it
  int world_size() const { return world_size_; }
  bool uses_nccl() const;

  // Where ranks are.
  /// The GPU that a rank calls `device`; empty for one that is none.
  static Gpu gpu(const model::RankFacts& rank, const model::Device& device);
  /// The GPU that a rank works on: where its model is, else the one that was made current, else most of its memory.
  /// Of one that could tell nothing the one that is meant for it. May be unknown.
  static model::Device home(const model::RankFacts& rank);
  /// The GPU that is meant for it: cuda:LOCAL_RANK, or the only one that it sees. Unknown where it has none.
  static model::Device meant(const model::RankFacts& rank);
  /// The ranks that work on `gpu`.
  std::vector<int> at_home_on(const Gpu& gpu) const;
  /// GPUs of the machine of `rank`, as far as any of its ranks sees them.
  std::size_t gpus_beside(const model::RankFacts& rank) const;

  // How they ended.
  /// The collective that it is in, or was in when it ended; null where it is in none.
  static const model::Collective* waiting(const model::RankFacts& rank);
  /// ", for 12 s": how long it has waited in that; nothing where that is not known or no time.
  model::Message waited_text(const model::RankFacts& rank) const;
  /// Whether it failed because of another: the exception is that of a collective whose peer is gone or does not come.
  static bool is_victim(const model::RankFacts& rank);
  /// Whether it ended by a fault of its own: an exception, an exit code, a signal.
  static bool failed(const model::RankFacts& rank);
  /// Whether NCCL refused it because another rank of the communicator has the same GPU.
  static bool is_refused_a_gpu(const model::RankFacts& rank);
  /// Whether any rank failed, or waits for one that will not come.
  bool any_failed() const;
  /// One sentence for each group of ranks that wait because of `culprits` (none: because of anybody).
  std::vector<model::Message> victims_of(const std::vector<int>& culprits) const;

 private:
  std::vector<const model::RankFacts*> ranks_;
  int world_size_ = 1;
};

}  // namespace devsan::diagnose::ranks
