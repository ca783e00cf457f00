#include "diagnose/carried_state.h"

#include <string>
#include <string_view>
#include <vector>

#include "diagnose/codes.h"
#include "diagnose/predicates.h"
#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::Event;
using model::EventKind;
using model::FixKind;
using model::Operand;

namespace {

/// The attribute that the move's statement puts in its own place: "self.prio" of `self.prio = self.prio.to(fresh)...`.
/// Empty where the statement does something else.
std::string_view replaced_by(const Event& move) {
  const model::Frame* site = move.site();
  if (site == nullptr || !site->is_program()) return {};
  const std::string_view statement = site->source;
  const auto equals = statement.find(" = ");
  if (equals == std::string_view::npos) return {};
  const std::string_view target = statement.substr(0, equals);
  const std::string_view value = statement.substr(equals + 3);
  const bool moves = value.starts_with(std::string(target) + ".to(") ||
                     value.starts_with(std::string(target) + ".cuda(") ||
                     value.starts_with(std::string(target) + ".type_as(");
  return moves && target.find('.') != std::string_view::npos ? target : std::string_view();
}

/// Whether a tensor said the device: `x.to(y)`. Of a name that only its value tells apart from a device.
bool is_by_tensor(const Event& move) {
  const auto has = [&](std::string_view word) { return move.device_value.find(word) != std::string::npos; };
  if (move.device_text.find("device") != std::string::npos) return false;
  return source_of(move) == model::DeviceSource::kPeer ||
         (has("(") && !has("device") && !has("\"") && !has("cuda") && !has("int("));
}

/// The move of a state, by the program's own statement, from where `partner` was made and still is; null where there is
/// none.
const Event* carried_from(const Operand& operand, const Operand& partner) {
  const Event* move = placement_of(operand.provenance);
  const Event* made = placement_of(partner.provenance);
  if (move == nullptr || made == nullptr || is_weight(operand)) return nullptr;
  const bool carried = move->kind == EventKind::kMoved && move->from == partner.device &&
                       move->owner.is(model::owners::kProgram) && !replaced_by(*move).empty();
  return carried && made->kind == EventKind::kMade && Context::at_construction(*made) ? move : nullptr;
}

}  // namespace

std::optional<Hypothesis> carried_state(const Context& context) {
  for (const Operand& operand : context.operands()) {
    const Operand* partner = context.partner_of(operand);
    const Event* move = partner == nullptr ? nullptr : carried_from(operand, *partner);
    if (move == nullptr) continue;
    Hypothesis found(code::kSingleDeviceAssumption);
    found.origin = move;
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    std::vector<model::Argument> facts = pair_of(operand, *partner);
    facts.push_back({"state", quoted(replaced_by(*move))});
    facts.push_back({"at", at_text(*move)});
    const std::string said = device_text_of(*move);
    facts.push_back({"convert", quoted(".to(" + said + ".dtype)")});
    const bool itself = operand.provenance.front().kind != EventKind::kComputed;
    found.add_evidence(95,
                       {"{state} was made on {other_device}, as {other} was, and was replaced by a copy of itself on "
                        "{device}{at}.",
                        facts});
    if (!itself) found.add_evidence(0, {"{name} was computed from {state}.", facts});
    if (is_by_tensor(*move))
      found.add_evidence(0, {"`to` with a tensor takes its device as well as its dtype.", facts});
    found.title = {"{state} was moved from {other_device} to {device}, {other} is still on {other_device}", facts};
    found.propose(
        FixKind::kCreationSite,
        {is_by_tensor(*move) ? "keep {state} on {other_device}: convert it with {convert}, and move to it what it is "
                               "combined with{at}"
                             : "keep {state} on {other_device}, and move to it what it is combined with{at}",
         facts});
    return found;
  }
  return std::nullopt;
}

}  // namespace devsan::diagnose
