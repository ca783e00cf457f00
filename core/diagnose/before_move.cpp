#include "diagnose/before_move.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/codes.h"
#include "diagnose/moves.h"
#include "diagnose/predicates.h"

namespace devsan::diagnose {

using model::Event;
using model::Operand;

const Event* moved_without_it(const Context& context, const Operand& operand, const Operand& partner) {
  const Event* placed = placement_of(operand.provenance);
  if (placed == nullptr) return nullptr;
  const auto together = [&](const Event& event) {
    return event.device == operand.device && is_of_same_statement(event, placed);
  };
  const Event* last = placement_of(partner.provenance);
  if (is_weight(partner) && last != nullptr && last->device == partner.device && !is_of_same_statement(*last, placed) &&
      std::ranges::any_of(partner.provenance, together)) {
    return last;
  }
  if (context.model() == nullptr) return nullptr;
  const auto& all = context.model()->placements;
  const auto first = std::ranges::find_if(all, together);
  if (first == all.end()) return nullptr;
  const auto later = std::ranges::find_if(all, [&](const Event& event) {
    return event.sequence > first->sequence && event.device == partner.device && event.subject == first->subject &&
           !is_of_same_statement(event, placed);
  });
  return later == all.end() ? nullptr : &*later;
}

namespace {

/// Whether one has the shape of the other, or that of some of its rows.
bool has_rows_of(const Operand& copy, const Operand& weight) {
  if (!copy.shape || !weight.shape || copy.shape->size() != weight.shape->size() || weight.shape->empty()) {
    return copy.shape == weight.shape;
  }
  return std::equal(copy.shape->begin() + 1, copy.shape->end(), weight.shape->begin() + 1);
}

}  // namespace

const Event* moved_after_snapshot(const Operand& copy, const Operand& weight) {
  const Event* moved = placement_of(weight.provenance);
  if (copy.provenance.empty() || moved == nullptr || !is_weight(weight)) return nullptr;
  const Event& made = copy.provenance.front();
  const model::Frame* written = made.site();
  constexpr std::string_view kOfWeights[] = {"parameters()", "state_dict()", "param_groups",
                                             "[\"params\"]", "['params']",   ".weight"};
  const auto reads_weights = [&] {
    return std::ranges::any_of(kOfWeights,
                               [&](std::string_view text) { return written->source.find(text) != std::string::npos; });
  };
  // What was cloned after the move would be where the weight is.
  return is_copy(made) && written != nullptr && reads_weights() && has_rows_of(copy, weight) &&
                 moved->kind == model::EventKind::kMoved && moved->from == copy.device
             ? moved
             : nullptr;
}

std::optional<Hypothesis> buffer_from_before_move(const Context& context) {
  if (!context.across_gpus()) return std::nullopt;
  for (const Operand& operand : context.operands()) {
    const Operand* partner = context.partner_of(operand);
    const Event* placed = placement_of(operand.provenance);
    if (partner == nullptr || placed == nullptr || placed->op != "Module.to" || is_weight(operand)) continue;
    if (is_result(operand)) continue;  // from one, not one itself
    const Event* moved = moved_without_it(context, operand, *partner);
    if (moved == nullptr) continue;
    Hypothesis found(code::kStaleDeviceCache);
    found.origin = placed;
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    std::vector<model::Argument> facts = pair_of(operand, *partner);
    facts.push_back({"at", at_text(*placed)});
    facts.push_back({"moved_to", moved->device.str()});
    facts.push_back({"to", at_text(*moved)});
    found.add_evidence(95,
                       {"{name} is a buffer that the model had on {device}, where it was moved{at}. The model was "
                        "then moved to {moved_to}{to}: that replaces its buffers, and this one was kept from before.",
                        facts});
    found.title = {"{name} is the model's buffer from before it was moved to {moved_to}, still on {device}", facts};
    found.propose(model::FixKind::kCreationSite,
                  {"collect the buffers after the model is moved{to}, or where they are used: {code}",
                   {{"to", at_text(*moved)}, {"code", std::string("dict(model.named_buffers())")}}});
    return found;
  }
  return std::nullopt;
}

}  // namespace devsan::diagnose
