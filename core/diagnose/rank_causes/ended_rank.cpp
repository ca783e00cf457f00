#include "diagnose/ranks/causes.h"
#include "diagnose/texts.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace devsan::diagnose::ranks {

using model::Collective;
using model::RankEnd;
using model::RankFacts;
using model::RepairKind;

namespace {

constexpr int kSigKill = 9;

std::string signal_text(int signal) {
  switch (signal) {
    case 4:
      return "SIGILL";
    case 6:
      return "SIGABRT";
    case 7:
      return "SIGBUS";
    case 8:
      return "SIGFPE";
    case kSigKill:
      return "SIGKILL";
    case 11:
      return "SIGSEGV";
    case 15:
      return "SIGTERM";
    default:
      return signal == 0 ? "a signal" : "signal " + std::to_string(signal);
  }
}

using Ranks = std::vector<const RankFacts*>;

std::vector<int> numbers_of(const Ranks& ranks) {
  std::vector<int> numbers;
  for (const RankFacts* rank : ranks) numbers.push_back(rank->process.rank);
  return numbers;
}

/// Where the ranks were by their flight recorders: the last call that each entered, the same in several told once.
void tell_last_calls(RankHypothesis& found, const Ranks& ranks) {
  std::map<std::string, Ranks> calls;
  std::vector<std::string> order;
  for (const RankFacts* rank : ranks) {
    if (rank->collectives.empty()) continue;
    const Collective& last = rank->collectives.front();
    const std::string call = (last.finished ? "f" : "u") + text_of(last) + at_text(last) + ".";
    Ranks& alike = calls[call];
    if (alike.empty()) order.push_back(call);
    alike.push_back(rank);
    if (last.where.is_known() && found.sites.empty()) found.sites.push_back(last.where);
  }
  int points = 10;
  for (const std::string& call : order) {
    const Ranks& alike = calls[call];
    const bool all = alike.size() == ranks.size();
    const std::string who = ranks_text(numbers_of(alike));
    std::string sentence;
    if (call.front() == 'f') {
      sentence = all ? form(ranks, "Its last collective was ", "Their last collective was ")
                     : "The last collective of " + who + " was ";
    } else {
      sentence =
          all ? form(ranks, "It was in ", "They were in ") : who + form(alike, " was still in ", " were still in ");
    }
    found.saw(std::exchange(points, 0), sentence + call.substr(1));
  }
}

void tell_exception(RankHypothesis& found, const Ranks& ranks, const std::string& who) {
  const RankFacts& rank = *ranks.front();
  std::string said = rank.sentence.empty() ? "" : ": " + rank.sentence;
  if (said.ends_with('.')) said.pop_back();  // more words follow it
  const std::string place = at_text(rank.where);
  if (rank.where.is_known()) found.sites.push_back(rank.where);
  if (rank.error == "OutOfMemoryError") {
    std::vector<std::string> devices;
    for (const RankFacts* each : ranks) {
      const std::string device = Job::home(*each).str();
      if (std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
    }
    found.title = who + " ran out of memory" + (devices.size() == 1 ? " on " + devices.front() : "");
    found.saw(90, who + " raised " + rank.error + said + place + ".");
    found.propose(RepairKind::kConfiguration,
                  "use less memory there: a smaller batch, a shorter sequence, or a larger share of the model on other "
                  "GPUs");
    return;
  }
  found.title = who + " raised " + rank.error + said;
  found.saw(90, "No rank failed earlier, and this exception" + place + (place.empty() ? "" : ",") +
                    " does not come from a collective.");
  found.propose(RepairKind::kUseSite,
                "fix this exception first" + place + ": the errors of the other ranks follow from it");
  if (rank.error == "FileNotFoundError") {
    found.propose(RepairKind::kUseSite,
                  "if another rank writes that file, let all ranks wait for it: dist.barrier() after the file is saved",
                  model::Confidence::kPossible);
  }
}

void tell_signal(RankHypothesis& found, const Ranks& ranks, const std::string& who) {
  const int signal = ranks.front()->signal;
  found.title = who + form(ranks, " was killed by ", " were killed by ") + signal_text(signal);
  found.saw(85, who + " exited without a traceback: killed by " + signal_text(signal) + ".");
  tell_last_calls(found, ranks);
  if (signal == kSigKill || signal == 0) {
    found.saw(0,
              "A process cannot see who sent the signal: the kernel's out-of-memory killer, a scheduler, or a person.");
    found.propose(
        RepairKind::kConfiguration,
        "look for \"Out of memory: Killed process\" in the kernel's log (dmesg), and use less host memory in each "
        "rank: fewer DataLoader workers, no copy of the checkpoint in every rank");
  } else {
    found.propose(RepairKind::kConfiguration,
                  form(ranks, "run that rank with faulthandler (python -X faulthandler) to see its stack",
                       "run those ranks with faulthandler (python -X faulthandler) to see their stacks"));
  }
}

void tell_exit(RankHypothesis& found, const Ranks& ranks, const std::string& who) {
  found.title = who + " exited with code " + std::to_string(ranks.front()->exit_code);
  found.saw(80, {"{title}, and raised no exception.", {{"title", found.title}}});
  tell_last_calls(found, ranks);
  found.propose(RepairKind::kUseSite,
                form(ranks, "find out why it calls sys.exit or os._exit; its own output shows more",
                     "find out why they call sys.exit or os._exit; their own output shows more"));
}

void tell_silence(RankHypothesis& found, const Ranks& ranks, const std::string& who) {
  found.title = who + " stopped reporting";
  found.saw(60, who + form(ranks,
                           " recorded neither its end nor an exception: it was killed, called os._exit, or "
                           "still runs.",
                           " recorded neither their end nor an exception: they were killed, called os._exit, or "
                           "still run."));
  tell_last_calls(found, ranks);
  found.propose(RepairKind::kConfiguration,
                form(ranks,
                     "find out what ended it: see the launcher's output, or \"Out of memory: Killed process\" in "
                     "the kernel's log",
                     "find out what ended them: see the launcher's output, or \"Out of memory: Killed process\" in "
                     "the kernel's log"));
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
    const std::string who = ranks_text(found.ranks);
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
