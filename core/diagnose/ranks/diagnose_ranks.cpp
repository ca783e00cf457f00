#include "diagnose/ranks/diagnose_ranks.h"

#include <algorithm>
#include <map>

#include "diagnose/codes.h"
#include "diagnose/identity.h"
#include "diagnose/ranks/causes.h"

namespace devsan::diagnose::ranks {

using model::Confidence;
using model::Finding;
using model::OwnFinding;
using model::RankFacts;
using model::RankFinding;
using model::Severity;

namespace {

constexpr RankCause kRankCauses[] = {
#define DEVSAN_CAUSE(name) name,
#include "diagnose/rank_causes.inc"
#undef DEVSAN_CAUSE
};

/// A finding with what decides about its place among the others.
struct Entry {
  RankFinding found;
  double time = 0;
  bool is_failure = false;  ///< something failed by it
  std::vector<int> met;     ///< ranks of which its evidence has told how they wait
};

bool meet(const std::vector<int>& some, const std::vector<int>& others) {
  return std::ranges::any_of(some, [&](int each) { return std::ranges::find(others, each) != others.end(); });
}

/// The ranks' own findings, those of one cause together. A cause of two owners (DV2xx) breaks each rank at another place.
std::vector<Entry> own_findings(const Job& job) {
  std::map<std::string, Entry> groups;
  std::vector<std::string> order;
  for (const RankFacts* rank : job.ranks()) {
    if (Job::is_victim(*rank)) continue;
    for (std::size_t number = 0; number < rank->findings.size(); ++number) {
      const OwnFinding& own = rank->findings[number];
      const std::string key = own.code.starts_with("DV2") ? own.code : own.code + "\n" + own.cause;
      const auto [at, fresh] = groups.try_emplace(key);
      Entry& entry = at->second;
      if (fresh) {
        order.push_back(key);
        entry.found.of_rank = rank->process.rank;
        entry.found.of_finding = static_cast<int>(number);
        entry.found.finding.code = own.code;
        entry.found.finding.cause = own.cause;
        entry.found.finding.title = own.title;
        entry.found.finding.severity = own.severity;
        entry.is_failure = own.severity == Severity::kError;
        entry.time = rank->ended;
      }
      if (rank->ended > 0 && (entry.time == 0 || rank->ended < entry.time)) entry.time = rank->ended;
      if (entry.found.ranks.empty() || entry.found.ranks.back() != rank->process.rank) {
        entry.found.ranks.push_back(rank->process.rank);
      }
    }
  }
  std::vector<Entry> entries;
  for (const std::string& key : order) entries.push_back(std::move(groups[key]));
  return entries;
}

Entry entry_of(RankHypothesis hypothesis) {
  Entry entry;
  Finding& finding = entry.found.finding;
  const Code* code = find_code(hypothesis.code);
  finding.code = hypothesis.code;
  finding.name = code->name;
  finding.naive_fix = code->naive_fix;
  finding.title = std::move(hypothesis.title);
  finding.severity = hypothesis.severity;
  finding.confidence = hypothesis.score >= kConclusive ? Confidence::kCertain : Confidence::kLikely;
  finding.evidence = std::move(hypothesis.evidence);
  finding.fixes = std::move(hypothesis.fixes);
  std::ranges::stable_sort(finding.fixes, {}, &model::Fix::kind);
  for (model::Frame& frame : hypothesis.sites) finding.sites.push_back({std::move(frame), "", "", 1});
  finding.id = finding.cause = texts_id({hypothesis.code, hypothesis.about});
  entry.found.ranks = std::move(hypothesis.ranks);
  entry.found.site_ranks = std::move(hypothesis.site_ranks);
  entry.time = hypothesis.time;
  entry.is_failure = finding.severity == Severity::kError;
  if (finding.code == code::kMismatchedCollectives) entry.met = std::move(hypothesis.explains);
  return entry;
}

bool is_about_placement(const RankHypothesis& hypothesis) {
  return hypothesis.code == code::kMapInRanks || hypothesis.code == code::kSharedGpu ||
         hypothesis.code == code::kForeignMemory;
}

/// Whether what a rank has found by itself fails by what this is about: an operand of it was placed by the very line; or
/// the rank alone could not decide.
bool accounts_for(const RankHypothesis& hypothesis, const Entry& entry, const Job& job) {
  if (entry.found.of_rank < 0 || !is_about_placement(hypothesis) || !meet(entry.found.ranks, hypothesis.ranks)) {
    return false;
  }
  if (entry.found.finding.code == kUndecided) return true;
  const auto& own = job.rank(entry.found.of_rank)->findings[static_cast<std::size_t>(entry.found.of_finding)];
  // The model is on another GPU than its rank's, and what came with the rank met it there.
  const model::RankFacts& rank = *job.rank(entry.found.of_rank);
  const auto has = [&](const model::Device& device) {
    return device.is_known() && std::ranges::find(own.devices, device) != own.devices.end();
  };
  const model::Device meant = Job::meant(rank);
  if (hypothesis.code != code::kForeignMemory && Job::home(rank) != meant && has(meant) && has(Job::home(rank)))
    return true;
  return std::ranges::any_of(own.placed, [&](const model::Frame& placed) {
    return std::ranges::any_of(hypothesis.sites, [&](const model::Frame& site) {
      return site.file == placed.file && site.span.line == placed.span.line;
    });
  });
}

/// Adds what the other ranks show to a finding that a rank made by itself.
void add_to(Entry& entry, const RankHypothesis& hypothesis) {
  Finding& finding = entry.found.finding;
  finding.evidence.insert(finding.evidence.end(), hypothesis.evidence.begin(), hypothesis.evidence.end());
  finding.fixes.insert(finding.fixes.end(), hypothesis.fixes.begin(), hypothesis.fixes.end());
}

}  // namespace

std::span<const RankCause> rank_causes() { return kRankCauses; }

std::vector<RankFinding> diagnose_ranks(const std::vector<RankFacts>& facts) {
  const Job job(facts);
  if (job.world_size() < 2) return {};
  std::vector<RankHypothesis> hypotheses;
  for (const RankCause cause : rank_causes()) {
    for (RankHypothesis& each : cause(job)) {
      if (each.score >= kEnough) hypotheses.push_back(std::move(each));
    }
  }
  std::vector<Entry> entries = own_findings(job);
  // What a rank alone tells as something else, it tells because it does not see the others.
  for (const RankHypothesis& each : hypotheses) {
    if (each.code == code::kEndedRank || each.explains.empty() || each.severity != Severity::kError) continue;
    std::erase_if(entries, [&](Entry& entry) {
      if (std::ranges::find(each.as, entry.found.finding.code) != each.as.end()) return false;
      std::erase_if(entry.found.ranks,
                    [&](int rank) { return std::ranges::find(each.explains, rank) != each.explains.end(); });
      return entry.found.ranks.empty();
    });
  }
  std::vector<int> explained;
  for (const RankHypothesis& each : hypotheses) {
    if (each.code != code::kEndedRank && each.severity == Severity::kError) {
      explained.insert(explained.end(), each.explains.begin(), each.explains.end());
    }
  }
  for (RankHypothesis& each : hypotheses) {
    const auto same = std::ranges::find_if(entries, [&](const Entry& entry) {
      return entry.found.of_rank >= 0 && std::ranges::find(each.as, entry.found.finding.code) != each.as.end() &&
             meet(entry.found.ranks, each.ranks);
    });
    if (same != entries.end()) {
      add_to(*same, each);
      continue;
    }
    std::vector<Entry> shown;
    for (Entry& entry : entries) {
      if (accounts_for(each, entry, job)) shown.push_back(std::move(entry));
    }
    std::erase_if(entries, [](const Entry& entry) { return entry.found.finding.code.empty(); });
    if (!shown.empty()) {
      each.severity = Severity::kError;
      each.time = shown.front().time;
      for (const Entry& entry : shown) {
        each.ranks.insert(each.ranks.end(), entry.found.ranks.begin(), entry.found.ranks.end());
      }
      std::ranges::sort(each.ranks);
      each.ranks.erase(std::unique(each.ranks.begin(), each.ranks.end()), each.ranks.end());
      entries.push_back(entry_of(std::move(each)));
      entries.back().found.shown_rank = shown.front().found.of_rank;
      entries.back().found.shown_finding = shown.front().found.of_finding;
      continue;
    }
    if (each.code == code::kCurrentDevice) continue;  // it only adds to what a rank has found
    // An exception that another finding accounts for is no cause of its own.
    if (each.code == code::kEndedRank && std::ranges::all_of(each.ranks, [&](int rank) {
          return std::ranges::find(explained, rank) != explained.end();
        })) {
      continue;
    }
    entries.push_back(entry_of(std::move(each)));
  }
  std::ranges::stable_sort(entries, [](const Entry& one, const Entry& other) {
    if (one.is_failure != other.is_failure) return one.is_failure;
    return one.time < other.time;
  });
  if (!entries.empty() && entries.front().is_failure) {
    std::vector<int> culprits;
    for (const Entry& entry : entries) {
      if (!entry.is_failure) continue;
      culprits.insert(culprits.end(), entry.found.ranks.begin(), entry.found.ranks.end());
      culprits.insert(culprits.end(), entry.met.begin(), entry.met.end());
    }
    entries.front().found.victims = job.victims_of(culprits);
  }
  std::vector<RankFinding> findings;
  for (Entry& entry : entries) findings.push_back(std::move(entry.found));
  return findings;
}

}  // namespace devsan::diagnose::ranks
