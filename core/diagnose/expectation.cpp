#include "diagnose/expectation.h"

#include <string>

#include "diagnose/codes.h"
#include "diagnose/source_text.h"
#include "diagnose/texts.h"

namespace devsan::diagnose {

using model::Operand;

std::optional<Hypothesis> expectation(const Context& context) {
  if (context.failure().kind != model::SentenceKind::kExpected) return std::nullopt;
  const auto expected = context.failure().figures.find("expected");
  const auto here = context.failure().figures.find("here");
  if (expected == context.failure().figures.end() || here == context.failure().figures.end()) return std::nullopt;
  for (const Operand& operand : context.operands()) {
    const model::Event* placed = placement_of(operand.provenance);
    if (operand.device.str() != here->second || placed == nullptr) continue;
    Hypothesis found(code::kSingleDeviceAssumption);
    found.operands = {context.index_of(operand)};
    found.origin = placed;
    const std::vector<model::Argument> facts = {{"name", name_of(operand)},
                                                {"device", operand.device.str()},
                                                {"at", at_text(*placed)},
                                                {"expected", expected->second}};
    found.add_evidence(80, {"{name} was put on {device}{at}; what is computed from it is there as well.", facts});
    found.title = {"{name} is on {device}, and {expected} was expected", facts};
    found.propose(model::FixKind::kCreationSite, {"put {name} on {expected}{at}, or move it before it is used", facts});
    return found;
  }
  return std::nullopt;
}

}  // namespace devsan::diagnose
