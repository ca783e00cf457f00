#include "diagnose/ranks/causes.h"
#include "diagnose/source_text.h"
#include "diagnose/texts.h"

#include <algorithm>
#include <set>
#include <utility>

namespace devsan::diagnose::ranks {

using model::FixKind;
using model::RankFacts;
using model::SentenceKind;

namespace {

bool ran_out_of_memory(const RankFacts& rank) {
  return rank.error == "OutOfMemoryError" || std::ranges::any_of(rank.findings, [](const model::OwnFinding& finding) {
           return finding.kind == SentenceKind::kMemory;
         });
}

/// Where a rank first placed something on the GPU that it works on; null where that is not known.
const model::Event* placed_at_home(const RankFacts& rank) {
  const auto at = std::ranges::find_if(rank.memory, [&](const model::RankMemory& memory) {
    return memory.device == Job::home(rank) && !memory.placed.empty();
  });
  return at == rank.memory.end() ? nullptr : &at->placed.front();
}

/// Whether the program says the number of the GPU, `torch.device("cuda", 0)`, `.cuda(0)` or `.cuda(local_rank)`: the
/// current device does not matter then.
bool says_number(const model::Event* placed) {
  if (placed == nullptr) return false;
  const std::string said = placed->device_value.empty() ? device_text_of(*placed) : placed->device_value;
  const bool is_number = !said.empty() && said.find_first_not_of("0123456789") == std::string::npos;
  return is_number || said.find("local_rank") != std::string::npos || said.find("cuda:") != std::string::npos ||
         said.find("\"cuda\",") != std::string::npos || said.find("'cuda',") != std::string::npos;
}

/// Why the ranks of `found` came to be on one GPU, and what to change.
void tell_why(const Job& job, const std::vector<const RankFacts*>& ranks, RankHypothesis& found) {
  const RankFacts& first = *ranks.front();
  const std::size_t gpus = job.gpus_beside(first);
  std::size_t beside = 0;
  for (const RankFacts* each : job.ranks()) beside += each->host == first.host ? 1U : 0U;
  const std::string& visible = first.process.visible_devices;
  const bool same_visible = !visible.empty() && std::ranges::all_of(ranks, [&](const RankFacts* each) {
    return each->process.visible_devices == visible && each->process.device_count == 1;
  });
  if (same_visible) {
    found.add_evidence(
        25, {"CUDA_VISIBLE_DEVICES is \"{text}\" in each of them, so each sees only that GPU.", {{"text", visible}}});
    found.propose(FixKind::kConfiguration,
                  "show all GPUs to every rank (no CUDA_VISIBLE_DEVICES), or each its own: "
                  "CUDA_VISIBLE_DEVICES=$LOCAL_RANK");
    return;
  }
  if (gpus > 0 && beside > gpus) {
    found.add_evidence(25, {"There are {count} ranks on this machine, and {n} GPU.",
                            "There are {count} ranks on this machine, and {n} GPUs.",
                            static_cast<long>(gpus),
                            {{"count", std::to_string(beside)}}});
    found.propose(FixKind::kConfiguration, {"start as many ranks as there are GPUs: --nproc-per-node {count}",
                                            {{"count", std::to_string(gpus)}}});
    return;
  }
  std::vector<int> at_first;
  const RankFacts* offending = nullptr;
  for (const RankFacts* each : ranks) {
    const bool elsewhere = Job::meant(*each).is_known() && Job::home(*each) != Job::meant(*each);
    if (elsewhere && offending == nullptr) offending = each;
    if (elsewhere && each->process.current_device.index <= 0) at_first.push_back(each->process.rank);
  }
  if (offending == nullptr) offending = ranks.back();
  const model::Event* placed = placed_at_home(*offending);
  if (!at_first.empty() && !says_number(placed)) {
    found.add_evidence(
        20, {"The current device of {who} was cuda:0, whatever its LOCAL_RANK: torch.cuda.set_device was not "
             "called there.",
             "The current device of {who} was cuda:0, whatever their LOCAL_RANK: torch.cuda.set_device was not "
             "called there.",
             count_of(at_first),
             {{"who", ranks_text(at_first)}}});
    propose_set_device(found, *offending);
  }
  if (placed != nullptr) {
    propose_for_placement(found, *placed, *offending);
    if (model::Message said = device_value_of(*placed); says_number(placed) && !said.empty())
      found.add_evidence(20, std::move(said));
    found.add_evidence(5, {"Rank {rank} first placed on {device} by {owner}{at}.",
                           {{"rank", std::to_string(offending->process.rank)},
                            {"device", Job::home(*offending).str()},
                            {"owner", owner_text(placed->owner)},
                            {"at", diagnose::at_text(*placed)}}});
    if (const model::Frame* site = placed->written(); site != nullptr) {
      found.sites.push_back(*site);
      found.about = site->source;
    }
  }
  if (found.fixes.empty()) propose_set_device(found, *offending);
}

}  // namespace

// Each rank is to work on a GPU of its own. NCCL refuses anything else; gloo does not, and the ranks share its memory.
std::vector<RankHypothesis> shared_gpu(const Job& job) {
  std::vector<RankHypothesis> all;
  std::set<Gpu> seen;
  for (const RankFacts* rank : job.ranks()) {
    const Gpu gpu = Job::gpu(*rank, Job::home(*rank));
    if (gpu.empty() || !seen.insert(gpu).second) continue;
    RankHypothesis found(code::kSharedGpu);
    found.ranks = job.at_home_on(gpu);
    if (found.ranks.size() < 2) continue;
    std::vector<const RankFacts*> ranks;
    for (const int number : found.ranks) ranks.push_back(job.rank(number));
    const std::string device = Job::home(*rank).str();
    const bool nccl = job.uses_nccl();
    for (const RankFacts* each : ranks) {
      if (Job::is_refused_a_gpu(*each) || ran_out_of_memory(*each)) found.explains.push_back(each->process.rank);
    }
    // One GPU for all, without NCCL, is how one tries a program out.
    if (found.explains.empty() && !nccl && job.gpus_beside(*rank) < 2) continue;
    const bool refused = std::ranges::any_of(ranks, [](const RankFacts* each) { return Job::is_refused_a_gpu(*each); });
    const model::Message who = ranks_text(found.ranks);
    found.add_evidence(60, {"The model or most of the memory of {who} is on one GPU ({device} in rank {rank}).",
                            {{"who", who}, {"device", device}, {"rank", std::to_string(rank->process.rank)}}});
    if (refused) {
      found.add_evidence(30, "NCCL refuses two ranks of one communicator on the same GPU.");
    } else if (!found.explains.empty()) {
      found.add_evidence(25, {"{who} ran out of memory on a GPU that is shared by {count} ranks.",
                              {{"who", ranks_text(found.explains)}, {"count", std::to_string(found.ranks.size())}}});
    }
    tell_why(job, ranks, found);
    found.title = {"{who} use the same GPU", {{"who", who}}};
    found.as = {code::kMovedAfterDispatch, code::kRefusedOwners};
    if (!refused)
      found.as.push_back(code::kCurrentDevice);  // NCCL's refusal is the ranks', whatever each of them says of it
    found.severity = found.explains.empty() ? model::Severity::kWarning : model::Severity::kError;
    if (found.about.empty()) found.about = device;
    all.push_back(std::move(found));
  }
  return all;
}

}  // namespace devsan::diagnose::ranks
