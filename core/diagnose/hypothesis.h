#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/event.h"
#include "model/finding.h"
#include "model/operand.h"

namespace devsan::diagnose {

// NOTE [Weighing the evidence]
// Each cause looks at the facts alone and says what it saw and how much that weighs. What is seen adds to the score,
// what contradicts takes away. Scores are comparable between causes: 50 is enough to name a cause when nothing else
// comes within 10 of it; 85 and more means that the facts leave little else. What decides between two causes that share
// signs (a loss is also a place where one device value is used) weighs more than the signs they share.

inline constexpr int kEnough = 50;
inline constexpr int kMargin = 10;
inline constexpr int kConclusive = 85;

/// One cause's view of the facts.
struct Hypothesis {
  explicit Hypothesis(std::string_view its_code) : code(its_code) {}

  std::string_view code;
  int score = 0;
  model::Message title;
  std::vector<std::size_t> operands;  ///< the one to change first
  std::vector<model::Message> evidence;
  std::vector<model::Fix> fixes;
  const model::Event* origin = nullptr;  ///< the placement to change; null where it is none
  std::string value;  ///< what the source says for the device where one value decides for many lines: "hparams.device"
  model::Severity severity = model::Severity::kError;
  bool ranked = false;       ///< its fixes are in their order, which else is that of their kinds
  bool independent = false;  ///< true whatever the cause of the failure is: reported beside it

  /// Adds what was seen.
  void add_evidence(int weight, model::Message sentence) {
    score += weight;
    if (sentence.text().starts_with(model::kOutputOf)) sentence.capitalize();
    evidence.push_back(std::move(sentence));
  }

  void propose(model::Fix fix) { fixes.push_back(std::move(fix)); }
  void propose(model::FixKind kind, model::Message text, model::Confidence confidence = model::Confidence::kLikely,
               std::optional<model::Edit> edit = std::nullopt) {
    fixes.push_back({kind, std::move(text), std::move(edit), confidence});
  }
};

}  // namespace devsan::diagnose
