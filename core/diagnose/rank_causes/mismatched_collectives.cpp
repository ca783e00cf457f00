#include "diagnose/ranks/causes.h"
#include "diagnose/texts.h"

#include <algorithm>
#include <array>
#include <map>

namespace devsan::diagnose::ranks {

using model::Argument;
using model::Collective;
using model::FixKind;
using model::Message;
using model::RankFacts;

namespace {

/// Calls in which all ranks give tensors of one size and type.
constexpr std::array<std::string_view, 8> kAlike = {
    "all_reduce",           "broadcast", "reduce", "all_gather", "reduce_scatter", "gather", "all_gather_into_tensor",
    "reduce_scatter_tensor"};

bool is_between_two(const Collective& call) {
  return call.name.find("send") != std::string::npos || call.name.find("recv") != std::string::npos;
}

struct Side {
  const Collective* call = nullptr;
  std::vector<int> ranks;
};

enum class Offending { kCall, kShape, kDtype };

std::string key_of(const Collective& call, bool alike) {
  std::string key = call.group + "\n" + call.name;
  if (alike) {
    key += "\n" + call.dtype;
    for (const auto& shape : call.shapes) {
      key += ";";
      for (const auto size : shape) key += std::to_string(size) + ",";
    }
  }
  return key;
}

/// Whether one of the calls is of a backward pass and the other one is not: a rank has left a loop, or skips a step.
bool is_out_of_step(const Collective& one, const Collective& other) {
  const auto is_backward = [](const Collective& call) {
    return call.where.source.find("backward(") != std::string::npos;
  };
  return one.group == other.group && one.condition.empty() && other.condition.empty() &&
         is_backward(one) != is_backward(other);
}

}  // namespace

// The ranks of a group meet by order, not by name: the n-th call of one meets the n-th call of the other.
std::vector<RankHypothesis> mismatched_collectives(const Job& job) {
  std::map<std::string, Side> sides;
  const Collective* first = nullptr;  // of those that wait in one group the earliest
  for (const RankFacts* rank : job.ranks()) {
    const Collective* call = Job::waiting(*rank);
    if (call == nullptr || is_between_two(*call)) continue;
    if (first == nullptr || (call->group == first->group && call->sequence < first->sequence)) first = call;
  }
  if (first == nullptr) return {};
  const std::uint64_t sequence = first->sequence;
  for (const RankFacts* rank : job.ranks()) {
    const Collective* call = Job::waiting(*rank);
    if (call != nullptr && call->group == first->group && call->sequence != sequence) call = nullptr;
    if (call == nullptr && sequence > 0) {  // who has gone through it, or ended in it, met the others all the same
      const auto met = std::ranges::find_if(rank->collectives, [&](const Collective& each) {
        return each.group == first->group && each.sequence == sequence;
      });
      if (met != rank->collectives.end()) call = &*met;
    }
    if (call == nullptr || is_between_two(*call)) continue;
    const bool alike = std::ranges::find(kAlike, call->name) != kAlike.end();
    Side& side = sides[key_of(*call, alike)];
    side.call = call;
    side.ranks.push_back(rank->process.rank);
  }
  if (sides.size() < 2) return {};
  std::vector<const Side*> order;
  for (const auto& [key, side] : sides) order.push_back(&side);
  // The one with most ranks first; of two equals the one whose call is not under a test about ranks, then that of the
  // lowest rank.
  std::ranges::stable_sort(order, [](const Side* one, const Side* other) {
    if (one->ranks.size() == other->ranks.size() && one->call->condition.empty() != other->call->condition.empty()) {
      return one->call->condition.empty();
    }
    if (one->ranks.size() != other->ranks.size()) return one->ranks.size() > other->ranks.size();
    return one->ranks.front() < other->ranks.front();
  });
  const Side& usual = *order.front();
  const Side& offending = *order[1];
  RankHypothesis found(code::kMismatchedCollectives);
  for (std::size_t place = 1; place < order.size(); ++place) {
    found.ranks.insert(found.ranks.end(), order[place]->ranks.begin(), order[place]->ranks.end());
  }
  std::ranges::sort(found.ranks);
  const Offending what = usual.call->name != offending.call->name || usual.call->group != offending.call->group
                             ? Offending::kCall
                         : usual.call->dtype != offending.call->dtype ? Offending::kDtype
                                                                      : Offending::kShape;
  Message number;
  if (sequence > 0) number = {", call {number} of the group", {{"number", std::to_string(sequence)}}};
  for (const Side* side : order) {
    found.add_evidence(side == &usual ? 60 : 30, {"{who} is in {call}{at}{number}{waited}.",
                                                  "{who} are in {call}{at}{number}{waited}.",
                                                  count_of(side->ranks),
                                                  {{"who", ranks_text(side->ranks)},
                                                   {"call", text_of(*side->call)},
                                                   {"at", at_text(*side->call)},
                                                   {"number", number},
                                                   {"waited", job.waited_text(*job.rank(side->ranks.front()))}}});
    if (!side->call->condition.empty()) {
      found.add_evidence(10, {"That call depends on {test}, which is not true in every rank.",
                              {{"test", quoted(side->call->condition)}}});
    }
    if (side->call->where.is_known()) {
      found.sites.insert(found.sites.begin(), side->call->where);
      found.site_ranks.insert(found.site_ranks.begin(), side->ranks);
    }
  }
  if (usual.call->group != offending.call->group) {
    found.add_evidence(5, {"They are in different groups, {one} and {other}: each waits for the other.",
                           {{"one", usual.call->group}, {"other", offending.call->group}}});
  }
  const std::vector<Argument> calls = {{"who", ranks_text(usual.ranks)},
                                       {"one", usual.call->name},
                                       {"others", ranks_text(offending.ranks)},
                                       {"other", offending.call->name}};
  const std::vector<Argument> both = {{"one", usual.call->name},
                                      {"at", at_text(*usual.call)},
                                      {"other", offending.call->name},
                                      {"to", at_text(*offending.call)}};
  // Of two branches of one test each rank takes one: there the calls may be meant for each other.
  const bool branched = usual.call->group == offending.call->group && !offending.call->condition.empty() &&
                        usual.call->condition.empty() && usual.call->where != offending.call->where &&
                        usual.call->where.is_known() && offending.call->where.is_known();
  if (branched) {
    propose_out_of_branch(found, *offending.call);
  }
  const bool out_of_step = is_out_of_step(*usual.call, *offending.call);
  if (out_of_step) {
    found.add_evidence(10,
                       "One of the calls is of a backward pass, the other one is not: the ranks have made "
                       "different numbers of steps.");
    propose_same_steps(found);
  }
  switch (what) {
    case Offending::kCall:
      if (usual.call->group != offending.call->group) {
        found.title = {"deadlock: {who} waits in group {one}, {others} in group {other}",
                       "deadlock: {who} wait in group {one}, {others} in group {other}",
                       count_of(usual.ranks),
                       {{"who", ranks_text(usual.ranks)},
                        {"one", usual.call->group},
                        {"others", ranks_text(offending.ranks)},
                        {"other", offending.call->group}}};
        found.propose(FixKind::kCreationSite,
                      {"use the groups in the same order in every rank: {one}{at}, against {other}{to}", both});
        break;
      }
      found.title = offending.ranks.size() == 1
                        ? Message{"{who} calls {one} where {others} calls {other}",
                                  "{who} call {one} where {others} calls {other}", count_of(usual.ranks), calls}
                        : Message{"{who} calls {one} where {others} call {other}",
                                  "{who} call {one} where {others} call {other}", count_of(usual.ranks), calls};
      found.propose(FixKind::kCreationSite,
                    {"let every rank make the same calls in the same order: {one}{at}, against {other}{to}", both});
      break;
    case Offending::kDtype:
      found.title = {"{call} gets tensors of {one} and {other}",
                     {{"call", usual.call->name}, {"one", usual.call->dtype}, {"other", offending.call->dtype}}};
      found.propose(FixKind::kCreationSite, {"give {call} the same dtype in every rank", {{"call", usual.call->name}}});
      break;
    case Offending::kShape:
      found.title = {"{call} gets tensors of different sizes", {{"call", usual.call->name}}};
      if (branched) {
        found.title = {"{call} at {place} meets {call} at {other}: the ranks make different calls",
                       {{"call", usual.call->name},
                        {"place", diagnose::text_of(&usual.call->where)},
                        {"other", diagnose::text_of(&offending.call->where)}}};
      }
      if (out_of_step || branched) break;
      found.propose(FixKind::kCreationSite,
                    {"give {call} tensors of one size in every rank: pad them, or gather the sizes first",
                     {{"call", usual.call->name}}});
      break;
  }
  found.about = usual.call->name + "\n" + offending.call->name + "\n" + usual.call->where.source;
  for (const Side* side : order) {
    found.explains.insert(found.explains.end(), side->ranks.begin(), side->ranks.end());
  }
  found.time = usual.call->since;
  return {found};
}

}  // namespace devsan::diagnose::ranks
