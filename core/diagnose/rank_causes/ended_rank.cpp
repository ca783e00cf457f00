#include "diagnose/ranks/causes.h"
#include "diagnose/texts.h"

#include <algorithm>
#include <map>
#include <tuple>

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

/// Where the rank was by its journal: the last call that it entered.
void tell_last_call(RankHypothesis& found, const RankFacts& rank) {
  if (rank.collectives.empty()) return;
  const Collective& last = rank.collectives.front();
  found.saw(
      10, std::string(last.finished ? "Its last collective was " : "It was in ") + text_of(last) + at_text(last) + ".");
  if (last.where.is_known() && found.sites.empty()) found.sites.push_back(last.where);
}

void tell_exception(RankHypothesis& found, const RankFacts& rank, const std::string& who) {
  const std::string said = rank.sentence.empty() ? "" : ": " + rank.sentence;
  if (rank.where.is_known()) found.sites.push_back(rank.where);
  if (rank.error == "OutOfMemoryError") {
    found.title = who + " ran out of memory on " + Job::home(rank).str();
    found.saw(90, who + " raised " + rank.error + said + at_text(rank.where) + ".");
    found.propose(RepairKind::kConfiguration,
                  "make it smaller there: batch, sequence, or a larger share of the model on other GPUs");
    return;
  }
  found.title = who + " raised " + rank.error + said;
  found.saw(90, "No other rank failed before, and the exception is none of a collective" + at_text(rank.where) + ".");
  found.propose(RepairKind::kUseSite,
                "mend this exception first" + at_text(rank.where) + ": what the other ranks say follows from it");
  if (rank.error == "FileNotFoundError") {
    found.propose(RepairKind::kUseSite,
                  "if another rank writes that file, let all wait until it has: dist.barrier() behind the saving",
                  model::Confidence::kPossible);
  }
}

void tell_signal(RankHypothesis& found, const RankFacts& rank, const std::string& who) {
  found.title = who + (found.ranks.size() == 1 ? " was killed by " : " were killed by ") + signal_text(rank.signal);
  found.saw(85, who + (found.ranks.size() == 1 ? " ended" : " ended") + " without a word: killed by " +
                    signal_text(rank.signal) + ".");
  tell_last_call(found, rank);
  if (rank.signal == kSigKill || rank.signal == 0) {
    found.saw(
        0, "Whether the kernel did it for want of host memory, or a scheduler or a person, the process cannot tell.");
    found.propose(
        RepairKind::kConfiguration,
        "look for \"Out of memory: Killed process\" in the kernel's log (dmesg), and give the ranks less host "
        "memory to fill: fewer DataLoader workers, no copy of the checkpoint in every rank");
  } else {
    found.propose(RepairKind::kConfiguration,
                  "run that rank with faulthandler (python -X faulthandler) to see its stack");
  }
}

void tell_silence(RankHypothesis& found, const RankFacts& rank, const std::string& who) {
  found.title = "nothing was heard of " + who + " any more";
  found.saw(60, who + " left neither an end nor an exception: it was killed, left by os._exit, or still runs.");
  tell_last_call(found, rank);
  found.propose(
      RepairKind::kConfiguration,
      "see what ended it: the launcher's own words, or \"Out of memory: Killed process\" in the kernel's log");
}

}  // namespace

// One rank ended; the others wait for it, and fail later, with words about sockets and timeouts.
std::vector<RankHypothesis> ended_rank(const Job& job) {
  using Key = std::tuple<RankEnd, std::string, std::string, int>;
  std::map<Key, std::vector<const RankFacts*>> groups;
  bool any = false;
  for (const RankFacts* rank : job.ranks()) {
    const bool told = std::ranges::any_of(
        rank->findings, [](const model::OwnFinding& each) { return each.severity == model::Severity::kError; });
    any = any || Job::failed(*rank);
    if (!Job::failed(*rank) || told) continue;
    const std::string place = rank->where.file + ":" + std::to_string(rank->where.span.line);
    groups[{rank->end, rank->error, place, rank->signal}].push_back(rank);
  }
  if (!any) {  // of those that are silent the ones that nobody saw waiting
    for (const RankFacts* rank : job.ranks()) {
      if (rank->end == RankEnd::kUnknown && Job::waiting(*rank) == nullptr && job.any_failed()) {
        groups[{rank->end, "", "", 0}].push_back(rank);
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
        tell_exception(found, first, who);
        break;
      case RankEnd::kKilled:
        tell_signal(found, first, who);
        break;
      case RankEnd::kExited:
        found.title = who + " left with exit code " + std::to_string(first.exit_code);
        found.saw(80, {"{title}, and without an exception.", {{"title", found.title}}});
        tell_last_call(found, first);
        found.propose(RepairKind::kUseSite, "see why it calls sys.exit or os._exit; its own output says more");
        break;
      default:
        tell_silence(found, first, who);
    }
    found.about = first.error + "\n" + first.where.source + "\n" + std::to_string(first.signal);
    found.explains = found.ranks;
    all.push_back(std::move(found));
  }
  return all;
}

}  // namespace devsan::diagnose::ranks
