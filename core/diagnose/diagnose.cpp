#include "diagnose/diagnose.h"

#include <algorithm>
#include <utility>

#include "diagnose/causes.h"
#include "diagnose/codes.h"
#include "diagnose/identity.h"
#include "diagnose/trainer_replicas.h"

namespace devsan::diagnose {

using model::Confidence;
using model::Finding;

namespace {

constexpr Cause kCauses[] = {
#define DEVSAN_CAUSE(name) name,
#include "diagnose/causes.inc"
#undef DEVSAN_CAUSE
};

/// Not even a candidate below this.
constexpr int kWorthNaming = 20;

Confidence confidence_of(int score) {
  return score >= kConclusive ? Confidence::kCertain : score >= kEnough ? Confidence::kLikely : Confidence::kPossible;
}

/// Whether the best fix moves a value without a name, where it is used: no other line uses it, so that nothing is left for
/// a naive `.to(device)` to break.
bool moves_what_has_no_name(const Context& context, const Finding& finding) {
  if (finding.code != code::kSingleDeviceAssumption || finding.fixes.empty() || finding.operands.empty()) return false;
  const model::Fix& best = finding.fixes.front();
  return best.kind == model::FixKind::kUseSite && best.edit &&
         context.operands()[finding.operands.front()].best_name().find('(') != std::string::npos;
}

Finding finding_of(const Context& context, Hypothesis hypothesis) {
  Finding finding;
  const Code* code = find_code(hypothesis.code);
  finding.code = hypothesis.code;
  finding.name = code->name;
  finding.naive_fix = code->naive_fix;
  finding.cause = cause_id(context, hypothesis);
  finding.title = std::move(hypothesis.title);
  finding.severity = hypothesis.severity;
  finding.confidence = confidence_of(hypothesis.score);
  finding.operands = std::move(hypothesis.operands);
  finding.evidence = std::move(hypothesis.evidence);
  finding.fixes = std::move(hypothesis.fixes);
  if (!hypothesis.ranked) std::ranges::stable_sort(finding.fixes, {}, &model::Fix::kind);
  if (moves_what_has_no_name(context, finding)) finding.naive_fix.clear();
  return finding;
}

Finding undecided(const Context& context, const std::vector<Hypothesis>& fits) {
  Finding finding;
  finding.code = kUndecided;
  finding.name = "undecided";
  finding.confidence = Confidence::kPossible;
  finding.title = "the evidence does not single out one cause";
  for (std::size_t index = 0; index < context.operands().size(); ++index) finding.operands.push_back(index);
  for (const Hypothesis& fit : fits) {
    finding.candidates.emplace_back(fit.code);
    for (const model::Message& sentence : fit.evidence) {
      finding.evidence.push_back({"{code}: {sentence}", {{"code", std::string(fit.code)}, {"sentence", sentence}}});
    }
    if (!fit.fixes.empty()) {
      finding.fixes.push_back(fit.fixes.front());
      finding.fixes.back().confidence = Confidence::kPossible;
    }
  }
  return finding;
}

/// What the devices alone leave possible, where nothing else is known.
std::vector<std::string_view> possible_codes(const Context& context) {
  if (context.has_meta()) return {code::kMeta, code::kOffloadEngine};
  if (context.across_gpus()) {
    return context.is_hooked() || context.model_spans_gpus()
               ? std::vector<std::string_view>{code::kSingleDeviceAssumption, code::kSplitBlock,
                                               code::kMovedAfterDispatch, code::kMapGap}
               : std::vector<std::string_view>{code::kSingleDeviceAssumption, code::kFreshTensor, code::kCurrentDevice};
  }
  return {code::kHostBoundary, code::kFreshTensor, code::kUnregisteredState, code::kOptimizerState};
}

}  // namespace

std::span<const Cause> causes() { return kCauses; }

std::vector<Finding> diagnose(const model::Facts& facts) {
  const Context context(facts);
  std::vector<Hypothesis> fits;
  std::vector<Hypothesis> beside;
  for (const Cause cause : causes()) {
    if (auto hypothesis = cause(context)) {
      if (hypothesis->independent) {
        beside.push_back(std::move(*hypothesis));
      } else if (hypothesis->score >= kWorthNaming) {
        fits.push_back(std::move(*hypothesis));
      }
    }
  }
  std::stable_sort(fits.begin(), fits.end(),
                   [](const auto& one, const auto& other) { return one.score > other.score; });
  // Only what comes close to the best is a candidate.
  const auto close = [&](const Hypothesis& fit) { return fit.score > fits.front().score - kMargin; };
  const std::size_t rivals = static_cast<std::size_t>(std::count_if(fits.begin(), fits.end(), close));

  std::vector<Finding> findings;
  const model::Failure& failure = facts.failure;
  if (!fits.empty() && fits.front().score >= kEnough && rivals == 1) {
    findings.push_back(finding_of(context, std::move(fits.front())));
  } else if (failure.kind != model::SentenceKind::kMemory && !failure.sentence.empty()) {
    if (!fits.empty() && fits.front().score >= kEnough)
      fits.erase(fits.begin() + static_cast<long>(rivals), fits.end());
    findings.push_back(undecided(context, fits));
    if (fits.empty() && context.is_mismatch()) {
      const auto possible = possible_codes(context);
      findings.back().candidates.assign(possible.begin(), possible.end());
    }
  }
  if (!findings.empty()) tell_of_trainer_replicas(context, findings.front());
  for (Hypothesis& other : beside) findings.push_back(finding_of(context, std::move(other)));
  for (Finding& finding : findings) {
    finding.id = failure_id(context, finding.code);
    if (finding.cause.empty()) finding.cause = finding.id;
    if (const model::Frame* site = failure.site(); site != nullptr) {
      finding.sites.push_back({*site, failure.op, failure.sentence, 1});
    }
  }
  return findings;
}

std::vector<Finding> merge(std::vector<Finding> findings) {
  std::vector<Finding> merged;
  for (Finding& finding : findings) {
    const auto same = std::find_if(merged.begin(), merged.end(), [&](const Finding& other) {
      return other.code == finding.code && other.cause == finding.cause;
    });
    if (same == merged.end()) {
      merged.push_back(std::move(finding));
      continue;
    }
    for (model::Site& site : finding.sites) {
      const auto known = std::find_if(same->sites.begin(), same->sites.end(), [&](const model::Site& other) {
        return other.frame.file == site.frame.file && other.frame.span == site.frame.span && other.op == site.op;
      });
      if (known == same->sites.end()) {
        same->sites.push_back(std::move(site));
      } else {
        known->count += site.count;
      }
    }
    same->confidence = std::max(same->confidence, finding.confidence);
  }
  return merged;
}

}  // namespace devsan::diagnose
