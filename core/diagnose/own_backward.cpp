#include "diagnose/own_backward.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "diagnose/codes.h"
#include "diagnose/edits.h"
#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::Event;
using model::FixKind;
using model::Operand;

namespace {

/// A backward of the program's own returns a gradient where its output is, and its input was on another GPU.
std::optional<Hypothesis> returned_gradient(const Context& context) {
  const auto& operands = context.operands();
  if (!context.sentence_has("returned an invalid gradient") || operands.size() != 2) return std::nullopt;
  const Operand& input = operands.front();
  const Operand& gradient = operands.back();
  if (!gradient.provenance.empty() || gradient.name.empty()) return std::nullopt;  // it was made there
  Hypothesis found(code::kSingleDeviceAssumption);
  found.operands = {1, 0};
  const std::vector<model::Argument> both = pair_of(gradient, input);
  found.add_evidence(75,
                     {"{name} is where the gradient of the result is, on {device}; a backward returns the gradient of "
                      "{other} on the device of {other}, {other_device}.",
                      both});
  found.title = {"the backward returns {name} on {device}, and {other} was on {other_device}", both};
  found.propose(FixKind::kUseSite, {"keep the device of {other} in the context, and move the gradient there",
                                    {{"other", name_of(input)}}});
  return found;
}

/// In a backward of the program's own, what forward kept meets the gradient, which is where forward left its result.
std::optional<Hypothesis> in_own_backward(const Context& context) {
  const model::Frame* site = context.failure().site();
  if (site == nullptr || !site->function.ends_with(".backward") || !context.runs_file("autograd/function.py") ||
      !context.across_gpus()) {
    return std::nullopt;
  }
  const auto follows_gradient = [](const Operand& operand) {
    return std::any_of(operand.provenance.begin(), operand.provenance.end(), [](const Event& event) {
      return event.op.ends_with("backward") || Context::in_function(event, "backward");
    });
  };
  const auto& operands = context.operands();
  const auto gradient = std::find_if(operands.begin(), operands.end(), follows_gradient);
  const Operand* kept = gradient == operands.end() ? nullptr : context.partner_of(*gradient);
  if (kept == nullptr || follows_gradient(*kept)) return std::nullopt;
  Hypothesis found(code::kSingleDeviceAssumption);
  const Event* placed = placement_of(gradient->provenance);
  found.origin = placed;
  found.operands = {context.index_of(*gradient), context.index_of(*kept)};
  const std::vector<model::Argument> both = pair_of(*gradient, *kept);
  if (placed != nullptr && Context::in_function(*placed, "backward") && !device_text_of(*placed).empty()) {
    std::vector<model::Argument> facts = both;
    facts.push_back({"at", at_text(*placed)});
    found.add_evidence(90,
                       {"{name} was put on {device} by the backward itself{at}; forward kept {other} as it was given, "
                        "on {other_device}.",
                        std::move(facts)});
    found.title = {"the backward computes on {device}; forward kept {other} on {other_device}", both};
    found.propose(move_at_use(context, *kept, *gradient));
    found.propose(FixKind::kCreationSite, {"move {other} to {device} in forward, and keep that copy", both});
    return found;
  }
  found.add_evidence(90, {"{name} is on {device}, where the gradient of the result comes from; forward kept {other} on "
                          "{other_device}: it moved its result away, and the backward does not move the gradient back.",
                          both});
  found.title = {"the backward computes on {device}, where the gradient is; {other} was kept on {other_device}", both};
  found.propose(FixKind::kUseSite, {"move the gradient to the device of {other} first, in the backward", both});
  return found;
}

}  // namespace

std::optional<Hypothesis> own_backward(const Context& context) {
  auto found = returned_gradient(context);
  return found ? found : in_own_backward(context);
}

}  // namespace devsan::diagnose
