#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "diagnose/codes.h"
#include "diagnose/hypothesis.h"
#include "diagnose/ranks/job.h"

namespace devsan::diagnose::ranks {

/// One cause's view of the ranks. See NOTE [Weighing the evidence].
struct RankHypothesis : Hypothesis {
  using Hypothesis::Hypothesis;

  std::vector<int> ranks;                    ///< whose cause it is
  std::vector<model::Frame> sites;           ///< where it shows; the place to change first
  std::vector<std::vector<int>> site_ranks;  ///< for each of `sites` who was there; empty: `ranks` were
  std::string about;                         ///< what makes two cases of this code one: goes into the identity
  std::vector<int> explains;                 ///< ranks whose failure, and own findings, come of this
  std::vector<std::string_view> as;          ///< codes by which a rank alone tells the same: then it is told as those
  double time = 0;                           ///< when it began; 0: before everything that is known by time
};

/// What one cause makes of the job: none where it sees none of its signs; several where it happened more than once.
using RankCause = std::vector<RankHypothesis> (*)(const Job&);

// One file of rank_causes/ each, in the order of the codes: see NOTE [Generated from the manifests].
#define DEVSAN_CAUSE(name) std::vector<RankHypothesis> name(const Job& job);
#include "diagnose/rank_causes.inc"
#undef DEVSAN_CAUSE

/// All of them: the registry.
std::span<const RankCause> rank_causes();

// What several of them propose.
/// What only some ranks call, or what calls it, leaves the branch that it stands in.
void propose_out_of_branch(RankHypothesis& found, const model::Collective& call);

/// "load the model on its rank's GPU", with the edit where the line that maps it shows `text`, its `device_map=...`.
void propose_own_map(RankHypothesis& found, const model::Frame& mapped, std::string_view text);

/// "call torch.cuda.set_device(...)", with the edit where the line that makes the process group is known.
void propose_set_device(RankHypothesis& found, const model::RankFacts& rank);

/// Whether a tensor came from another rank. A barrier makes its own on the current GPU, as NCCL does.
bool is_received(const model::Event& placed);

/// This rank's GPU instead of `"cuda:0"`, `torch.load(f)` with map_location; with the edit where it is mechanical.
void propose_for_placement(RankHypothesis& found, const model::Event& placed, const model::RankFacts& rank);

/// Of ranks that make different numbers of steps: what gives each the same, and what lets the others wait.
void propose_same_steps(RankHypothesis& found);

}  // namespace devsan::diagnose::ranks
