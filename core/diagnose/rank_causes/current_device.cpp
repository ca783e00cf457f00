#include "diagnose/ranks/causes.h"
#include "diagnose/texts.h"

#include <algorithm>

namespace devsan::diagnose::ranks {

using model::FixKind;
using model::RankFacts;
using model::SentenceKind;

// A launcher that shows each rank its own GPU alone makes that GPU cuda:0 in every rank; LOCAL_RANK counts on. The rank
// itself sees that it has too few GPUs; that the others see others is what only the job shows.
std::vector<RankHypothesis> current_device(const Job& job) {
  RankHypothesis found(code::kCurrentDevice);
  std::vector<model::Message> shown;
  bool differ = false;
  const RankFacts* first = nullptr;
  for (const RankFacts* rank : job.ranks()) {
    const model::Process& process = rank->process;
    if (process.visible_devices.empty() || process.device_count != 1) continue;
    if (first == nullptr) first = rank;
    differ = differ || process.visible_devices != first->process.visible_devices;
    shown.push_back(
        {"\"{text}\" in rank {rank}", {{"text", process.visible_devices}, {"rank", std::to_string(process.rank)}}});
    const bool refused = std::ranges::any_of(
        rank->findings, [](const model::OwnFinding& finding) { return finding.kind == SentenceKind::kOrdinal; });
    if (refused && process.local_rank >= process.device_count) found.ranks.push_back(process.rank);
  }
  if (!differ || found.ranks.empty()) return {};
  found.add_evidence(
      90, {"CUDA_VISIBLE_DEVICES is {text}: each sees only its own GPU, as cuda:0.", {{"text", with_commas(shown)}}});
  found.propose(FixKind::kConfiguration,
                "show all GPUs to every rank (no CUDA_VISIBLE_DEVICES for each), or use cuda:0 in every rank: not both "
                "that and LOCAL_RANK",
                model::Confidence::kCertain);
  found.title = "each rank sees only its own GPU, but numbers GPUs by LOCAL_RANK";
  found.as = {code::kCurrentDevice};
  return {found};
}

}  // namespace devsan::diagnose::ranks
