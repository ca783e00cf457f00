#include "diagnose/ranks/causes.h"
#include "diagnose/texts.h"

#include <algorithm>

namespace devsan::diagnose::ranks {

using model::Argument;
using model::Collective;
using model::FixKind;
using model::Message;
using model::RankEnd;
using model::RankFacts;

namespace {

/// The call that has waited longest: the lowest number where numbers are known, else the earliest.
const Collective* first_call(const Job& job, std::vector<int>& waiting) {
  const Collective* first = nullptr;
  for (const RankFacts* rank : job.ranks()) {
    const Collective* call = Job::waiting(*rank);
    if (call == nullptr) continue;
    waiting.push_back(rank->process.rank);
    const bool earlier = first == nullptr ||
                         (call->group == first->group ? call->sequence < first->sequence : call->since < first->since);
    if (earlier) first = call;
  }
  return first;
}

bool takes_part(const Collective& call, int rank) {
  return call.members.empty() || std::ranges::find(call.members, rank) != call.members.end();
}

/// What the rank did last in the group of `call`; null where that is not known.
const Collective* last_in(const RankFacts& rank, const std::string& group) {
  const auto found = std::ranges::find(rank.collectives, group, &Collective::group);
  return found == rank.collectives.end() ? nullptr : &*found;
}

}  // namespace

// A collective is complete when all have come. One rank went another way: fewer batches, a branch for some ranks only.
std::vector<RankHypothesis> missing_rank(const Job& job) {
  std::vector<int> waiting;
  const Collective* call = first_call(job, waiting);
  if (call == nullptr) return {};
  RankHypothesis found(code::kMissingRank);
  std::vector<int> finished;
  std::vector<int> elsewhere;
  for (const RankFacts* rank : job.ranks()) {
    const int number = rank->process.rank;
    if (Job::failed(*rank)) return {};  // that is why it does not come
    if (!takes_part(*call, number) || std::ranges::find(waiting, number) != waiting.end()) continue;
    if (rank->end == RankEnd::kFinished) finished.push_back(number);
    if (rank->end == RankEnd::kTerminated || rank->end == RankEnd::kRunning) elsewhere.push_back(number);
  }
  if (finished.empty() && elsewhere.empty()) return {};
  found.ranks = finished;
  found.ranks.insert(found.ranks.end(), elsewhere.begin(), elsewhere.end());
  std::ranges::sort(found.ranks);
  std::vector<int> present;
  for (const int number : waiting) {
    if (takes_part(*call, number)) present.push_back(number);
  }
  const std::vector<Argument> named = {{"who", ranks_text(found.ranks)},
                                       {"others", ranks_text(present)},
                                       {"call", text_of(*call)},
                                       {"name", call->name},
                                       {"at", at_text(*call)}};
  found.add_evidence(
      55, found.ranks.size() == 1
              ? Message{"{others} is in {call}{at}, and {who} has not reached it.",
                        "{others} are in {call}{at}, and {who} has not reached it.", count_of(present), named}
              : Message{"{others} is in {call}{at}, and {who} have not reached it.",
                        "{others} are in {call}{at}, and {who} have not reached it.", count_of(present), named});
  if (!finished.empty()) {
    const Collective* last = last_in(*job.rank(finished.front()), call->group);
    const bool counted = finished.size() == 1 && last != nullptr && last->sequence > 0 && call->sequence > 0;
    const Message who = ranks_text(finished);
    if (counted) {
      found.add_evidence(
          35, {"{who} has finished its program after number {number} of the group's collectives{at}; that one is "
               "number {other}.",
               {{"who", who},
                {"number", std::to_string(last->sequence)},
                {"at", at_text(*last)},
                {"other", std::to_string(call->sequence)}}});
    } else {
      found.add_evidence(35, {"{who} has finished its program.",
                              "{who} have finished their programs.",
                              count_of(finished),
                              {{"who", who}}});
    }
  }
  for (const int number : elsewhere) {
    const RankFacts& rank = *job.rank(number);
    if (rank.where.is_known()) {
      found.add_evidence(
          20, {"Rank {rank} was elsewhere{at}.", {{"rank", std::to_string(number)}, {"at", at_text(rank.where)}}});
    }
  }
  for (const int number : elsewhere) {
    const Collective* last = last_in(*job.rank(number), call->group);
    if (last == nullptr || last->sequence == 0) continue;
    const std::vector<Argument> placed = {{"who", ranks_text({number})},
                                          {"number", std::to_string(last->sequence)},
                                          {"call", text_of(*last)},
                                          {"at", at_text(*last)},
                                          {"other", std::to_string(call->sequence)}};
    found.add_evidence(
        10, found.ranks.size() == 1
                ? Message{"Its last collective was number {number}, {call}{at}; that one is number {other}.", placed}
                : Message{"The last collective of {who} was number {number}, {call}{at}; that one is number "
                          "{other}.",
                          placed});
    break;
  }
  if (!call->condition.empty()) {
    found.add_evidence(
        25, {"The call depends on {test}, which is not true in every rank.", {{"test", quoted(call->condition)}}});
    propose_out_of_branch(found, *call);
  }
  if (!finished.empty() && call->condition.empty()) propose_same_steps(found);
  if (found.fixes.empty()) {
    found.propose(FixKind::kCreationSite,
                  {"let every rank reach {call}{at}, or none: a branch or a loop that differs between ranks skips it",
                   {{"call", call->name}, {"at", at_text(*call)}}});
  }
  found.title = present.size() == 1
                    ? Message{"{who} has not reached {name}, where {others} waits",
                              "{who} have not reached {name}, where {others} waits", count_of(found.ranks), named}
                    : Message{"{who} has not reached {name}, where {others} wait",
                              "{who} have not reached {name}, where {others} wait", count_of(found.ranks), named};
  found.sites.push_back(call->where);
  found.about = call->name + "\n" + call->where.source;
  found.explains = present;
  found.time = call->since;
  return {found};
}

}  // namespace devsan::diagnose::ranks
