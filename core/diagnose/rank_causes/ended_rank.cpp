#include "diagnose/ranks/causes.h"
#include "diagnose/texts.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace devsan::diagnose::ranks {

using model::Argument;
using model::Collective;
using model::FixKind;
using model::Message;
using model::RankEnd;
using model::RankFacts;

namespace {

constexpr int kSigKill = 9;

Message signal_text(int signal) {
  switch (signal) {
    case 4:
      return std::string("SIGILL");
    case 6:
      return std::string("SIGABRT");
    case 7:
      return std::string("SIGBUS");
    case 8:
      return std::string("SIGFPE");
    case kSigKill:
      return std::string("SIGKILL");
    case 11:
      return std::string("SIGSEGV");
    case 15:
      return std::string("SIGTERM");
    default:
      if (signal == 0) return "a signal";
      return {"signal {number}", {{"number", std::to_string(signal)}}};
  }
}

using Ranks = std::vector<const RankFacts*>;

std::vector<int> numbers_of(const Ranks& ranks) {
  std::vector<int> numbers;
  for (const RankFacts* rank : ranks) numbers.push_back(rank->process.rank);
  return numbers;
}

struct LastCall {
  Message call;
  Message at;
  bool finished = false;
  Ranks ranks;
};

/// Where the ranks were by their flight recorders: the last call that each entered, the same in several told once.
void tell_last_calls(RankHypothesis& found, const Ranks& ranks) {
  std::vector<LastCall> calls;
  for (const RankFacts* rank : ranks) {
    if (rank->collectives.empty()) continue;
    const Collective& last = rank->collectives.front();
    const Message call = text_of(last);
    const Message at = at_text(last);
    auto same = std::ranges::find_if(calls, [&](const LastCall& each) {
      return each.finished == last.finished && each.call == call && each.at == at;
    });
    if (same == calls.end()) same = calls.insert(same, {call, at, last.finished, {}});
    same->ranks.push_back(rank);
    if (last.where.is_known() && found.sites.empty()) found.sites.push_back(last.where);
  }
  int points = 10;
  for (const LastCall& each : calls) {
    const bool all = each.ranks.size() == ranks.size();
    const long count = count_of(each.ranks);
    const std::vector<Argument> named = {
        {"who", ranks_text(numbers_of(each.ranks))}, {"call", each.call}, {"at", each.at}};
    Message sentence;
    if (each.finished) {
      sentence =
          all ? Message{"Its last collective was {call}{at}.", "Their last collective was {call}{at}.", count, named}
              : Message{"The last collective of {who} was {call}{at}.", named};
    } else {
      sentence = all ? Message{"It was in {call}{at}.", "They were in {call}{at}.", count, named}
                     : Message{"{who} was still in {call}{at}.", "{who} were still in {call}{at}.", count, named};
    }
    found.add_evidence(std::exchange(points, 0), std::move(sentence));
  }
}

void tell_exception(RankHypothesis& found, const Ranks& ranks, const Message& who) {
  const RankFacts& rank = *ranks.front();
  std::string said = rank.sentence;
  if (said.ends_with('.')) said.pop_back();  // more words follow it
  const Message at = at_text(rank.where);
  const std::vector<Argument> named = {{"who", who}, {"error", rank.error}, {"said", said}, {"at", at}};
  if (rank.where.is_known()) found.sites.push_back(rank.where);
  if (rank.error == "OutOfMemoryError") {
    std::vector<std::string> devices;
    for (const RankFacts* each : ranks) {
      const std::string device = Job::home(*each).str();
      if (std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
    }
    if (devices.size() == 1) {
      found.title = {"{who} ran out of memory on {device}", {{"who", who}, {"device", devices.front()}}};
    } else {
      found.title = {"{who} ran out of memory", {{"who", who}}};
    }
    found.add_evidence(90, said.empty() ? Message{"{who} raised {error}{at}.", named}
                                        : Message{"{who} raised {error}: {said}{at}.", named});
    found.propose(FixKind::kConfiguration,
                  "use less memory there: a smaller batch, a shorter sequence, or a larger share of the model on other "
                  "GPUs");
    return;
  }
  found.title = said.empty() ? Message{"{who} raised {error}", named} : Message{"{who} raised {error}: {said}", named};
  found.add_evidence(
      90, at.empty()
              ? Message{"No rank failed earlier, and this exception does not come from a collective."}
              : Message{"No rank failed earlier, and this exception{at}, does not come from a collective.", named});
  found.propose(FixKind::kUseSite,
                {"fix this exception first{at}: the errors of the other ranks follow from it", {{"at", at}}});
  if (rank.error == "FileNotFoundError") {
    found.propose(FixKind::kUseSite,
                  "if another rank writes that file, let all ranks wait for it: dist.barrier() after the file is saved",
                  model::Confidence::kPossible);
  }
}

void tell_signal(RankHypothesis& found, const Ranks& ranks, const Message& who) {
  const int signal = ranks.front()->signal;
  const std::vector<Argument> named = {{"who", who}, {"signal", signal_text(signal)}};
  found.title = {"{who} was killed by {signal}", "{who} were killed by {signal}", count_of(ranks), named};
  found.add_evidence(85, {"{who} exited without a traceback: killed by {signal}.", named});
  tell_last_calls(found, ranks);
  if (signal == kSigKill || signal == 0) {
    found.add_evidence(
        0, "A process cannot see who sent the signal: the kernel's out-of-memory killer, a scheduler, or a person.");
    found.propose(
        FixKind::kConfiguration,
        "look for \"Out of memory: Killed process\" in the kernel's log (dmesg), and use less host memory in each "
        "rank: fewer DataLoader workers, no copy of the checkpoint in every rank");
  } else {
    found.propose(FixKind::kConfiguration,
                  {"run that rank with faulthandler (python -X faulthandler) to see its stack",
                   "run those ranks with faulthandler (python -X faulthandler) to see their stacks", count_of(ranks)});
  }
}

void tell_exit(RankHypothesis& found, const Ranks& ranks, const Message& who) {
  const std::vector<Argument> named = {{"who", who}, {"code", std::to_string(ranks.front()->exit_code)}};
  found.title = {"{who} exited with code {code}", named};
  found.add_evidence(80, {"{who} exited with code {code}, and raised no exception.", named});
  tell_last_calls(found, ranks);
  found.propose(FixKind::kUseSite,
                {"find out why it calls sys.exit or os._exit; its own output shows more",
                 "find out why they call sys.exit or os._exit; their own output shows more", count_of(ranks)});
}

void tell_silence(RankHypothesis& found, const Ranks& ranks, const Message& who) {
  found.title = {"{who} stopped reporting", {{"who", who}}};
  found.add_evidence(
      60, {"{who} recorded neither its end nor an exception: it was killed, called os._exit, or still runs.",
           "{who} recorded neither their end nor an exception: they were killed, called os._exit, or still run.",
           count_of(ranks),
           {{"who", who}}});
  tell_last_calls(found, ranks);
  found.propose(FixKind::kConfiguration,
                {"find out what ended it: see the launcher's output, or \"Out of memory: Killed process\" in the "
                 "kernel's log",
                 "find out what ended them: see the launcher's output, or \"Out of memory: Killed process\" in the "
                 "kernel's log",
                 count_of(ranks)});
}

}  // namespace

// One rank ended; the others wait for it, and fail later, with words about sockets and timeouts.
std::vector<RankHypothesis> ended_rank(const Job& job) {
  using Key = std::tuple<RankEnd, std::string, std::string, int, int>;
  std::map<Key, std::vector<const RankFacts*>> groups;
  bool any = false;
  for (const RankFacts* rank : job.ranks()) {
    const bool told = std::ranges::any_of(
        rank->findings, [](const model::OwnFinding& each) { return each.severity == model::Severity::kError; });
    any = any || Job::failed(*rank);
    if (!Job::failed(*rank) || told) continue;
    const std::string place = rank->where.file + ":" + std::to_string(rank->where.span.line);
    groups[{rank->end, rank->error, place, rank->signal, rank->exit_code}].push_back(rank);
  }
  if (!any) {  // of those that are silent the ones that nobody saw waiting
    for (const RankFacts* rank : job.ranks()) {
      if (rank->end == RankEnd::kUnknown && Job::waiting(*rank) == nullptr && job.any_failed()) {
        groups[{rank->end, "", "", 0, 0}].push_back(rank);
      }
    }
  }
  std::vector<RankHypothesis> all;
  for (const auto& [key, ranks] : groups) {
    RankHypothesis found(code::kEndedRank);
    for (const RankFacts* rank : ranks) {
      found.ranks.push_back(rank->process.rank);
      if (rank->ended > 0 && (found.time == 0 || rank->ended < found.time)) found.time = rank->ended;
    }
    const RankFacts& first = *ranks.front();
    const Message who = ranks_text(found.ranks);
    switch (first.end) {
      case RankEnd::kRaised:
        tell_exception(found, ranks, who);
        break;
      case RankEnd::kKilled:
        tell_signal(found, ranks, who);
        break;
      case RankEnd::kExited:
        tell_exit(found, ranks, who);
        break;
      default:
        tell_silence(found, ranks, who);
    }
    found.about = first.error + "\n" + first.where.source + "\n" + std::to_string(first.signal);
    found.explains = found.ranks;
    all.push_back(std::move(found));
  }
  return all;
}

}  // namespace devsan::diagnose::ranks
