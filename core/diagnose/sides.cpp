#include "diagnose/sides.h"

#include <algorithm>
#include <utility>

#include "diagnose/handed_on.h"
#include "diagnose/moves.h"
#include "diagnose/predicates.h"
#include "diagnose/results.h"
#include "diagnose/said_device.h"
#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::DeviceSource;
using model::Event;
using model::Operand;

namespace {

/// The move by which a library left what one of its objects holds on another GPU: a schedule's table. Null: none.
const Event* left_by_library(const Operand& operand) {
  const Event* placed = placement_of(operand.provenance);
  const bool held = operand.kind == model::OperandKind::kAttribute ||
                    (operand.name.find('.') != std::string::npos && operand.name.find('(') == std::string::npos);
  if (brought_back(operand) != nullptr) return nullptr;  // to where the inputs are, on purpose
  const bool by_library = placed != nullptr && placed->owner.is_known() && !placed->owner.is(model::owners::kProgram) &&
                          source_of(*placed) != DeviceSource::kMap;
  return by_library && held && !is_weight(operand) && !is_of_replica(placed) && placed->kind == model::EventKind::kMoved
             ? placed
             : nullptr;
}

/// One number is applied to the tensors of a model that is on several GPUs, such as a factor of all gradients.
bool is_number_for_all(const Context& context, const Operand& number, const Operand& other) {
  const bool single =
      number.shape && std::all_of(number.shape->begin(), number.shape->end(), [](auto size) { return size == 1; });
  const bool placed = placement_of(number.provenance) != nullptr;
  return single && is_result(number) && placed && !is_weight(number) && is_weight(other) &&
         context.failing_module() == nullptr && context.model_spans_gpus();
}

/// Whether `index`, made by the call that runs, selects from a table that an object has kept since it was constructed: what
/// is selected is wanted where the indices are.
bool selects_from_table(const Context& context, const Operand& table, const Operand& index) {
  const Event* kept = placement_of(table.provenance);
  const Event* made = placement_of(index.provenance);
  return context.op_is({"index", "index_select", "gather"}) && table.role == "self" && !is_weight(table) &&
         kept != nullptr && made != nullptr && Context::at_construction(*kept) && !Context::at_construction(*made);
}

/// Whether the program's call gave `given` to a library as it was, which computed `result`: then the program has to move
/// what it gave, to where something else that it gave is.
bool is_given_beside(const Operand& given, const Operand& result) {
  return !given.given.empty() && placement_of(given.provenance) != nullptr && result.given.empty() &&
         !result.asked.empty() && is_result(result) && !is_weight(result) &&
         result.kind != model::OperandKind::kAttribute;
}

/// "route" of `self.route[name]`.
std::string table_in(std::string_view text) {
  text = text.substr(0, text.find('['));
  return std::string(text.starts_with("self.") ? text.substr(5) : text);
}

bool is_by_table(const Event* placed) {
  return placed != nullptr && source_of(*placed) == DeviceSource::kMap && placed->owner.is(model::owners::kProgram);
}

bool are_results(const Context& context, const Sides& sides) {
  return part_of_result(*sides.culprit) != nullptr && part_of_result(*sides.partner) != nullptr && !context.has_map() &&
         !combines_results(context);
}

/// What one table of the program's sent to a GPU meets a weight that another table put on another one: the tables disagree.
std::optional<Sides> sent_by_tables(const Context& context) {
  const Operand* sent = nullptr;
  for (const Operand& operand : context.operands()) {
    const Event* placed = placement_of(operand.provenance);
    if (!is_by_table(placed) || !operand.device.is_accelerator()) return std::nullopt;
    if (sent == nullptr && !is_weight(operand) && placed->op != "Module.to" && placed->kind == model::EventKind::kMoved)
      sent = &operand;
  }
  const Operand* partner = sent == nullptr ? nullptr : context.partner_of(*sent);
  if (partner == nullptr || !is_weight(*partner)) return std::nullopt;
  const std::string its = table_in(device_text_of(*placement_of(sent->provenance)));
  if (its.empty() || its == table_in(device_text_of(*placement_of(partner->provenance)))) return std::nullopt;
  Sides sides;
  sides.culprit = sent;
  sides.partner = partner;
  sides.weight = kWeightOfLiteral;
  sides.are_results = are_results(context, sides);
  return sides;
}

/// The state of a metric whose device was said, beside `operand`, which is none; null without one.
const Operand* metric_beside(const Context& context, const Operand& operand) {
  if (is_of_metric(context, operand)) return nullptr;
  const Operand* found = nullptr;
  for (const Operand& each : context.operands()) {
    const Event* placed = placement_of(each.provenance);
    if (&each != &operand && placed != nullptr && is_of_metric(context, each) && weight_of(*placed) > 0) found = &each;
  }
  return found;
}

/// What came to `weight` by a device of its own: a weight is where the model is meant to be. Null where nothing did, or
/// the program's own factory made the weight there, and not with a layer that was told its device.
const Operand* arrived_at(const Context& context, const Operand& weight) {
  const Event& its = *placement_of(weight.provenance);
  const bool made_there = its.kind == model::EventKind::kMade && its.op == "aten::" + its.owner.mechanism;
  if (!is_weight(weight) || made_there || is_of_metric(context, weight)) return nullptr;
  for (const Operand& operand : context.operands()) {
    const Event* placed = placement_of(operand.provenance);
    if (is_weight(operand) || placed == nullptr || operand.device == weight.device) continue;
    const bool picked = is_by_table(placed) && placed->op != "Module.to";
    if (weight_of(*placed) != 0 || picked) return &operand;
  }
  return nullptr;
}

/// Returns whether the partner is rather to blame, and notes what it has seen. See NOTE [Whose device is to blame].
using Rule = bool (*)(const Context&, Sides&);

/// The one that is alone where it is: a result that has not come along, or what the function that failed made for the
/// others.
bool is_outnumbered(const Context& context, Sides& sides) {
  if (context.outnumbered() != sides.partner) return false;
  const Event* placed = placement_of(sides.partner->provenance);
  const bool made_for_others = placed != nullptr && placed->kind == model::EventKind::kMade && weight_of(*placed) > 0 &&
                               !is_weight(*sides.partner) && context.made_for_use(*placed);
  return made_for_others || part_of_result(*sides.partner) != nullptr;
}

/// What learns is where the model is; what an object has kept has to come there.
bool is_kept_beside_what_learns(const Context& context, Sides& sides) {
  const Event* learns = placement_of(sides.culprit->provenance);
  const Event* kept = placement_of(sides.partner->provenance);
  return sides.culprit->requires_grad && learns != nullptr && learns->op == "Module.to" &&
         !sides.partner->requires_grad && kept != nullptr && sides.partner->kind == model::OperandKind::kAttribute &&
         !context.in_failing_call(*kept);
}

bool is_left_by_library(const Context&, Sides& sides) {
  sides.left = left_by_library(*sides.culprit) == nullptr ? left_by_library(*sides.partner) : nullptr;
  if (sides.left != nullptr) sides.weight = kWeightOfMove;
  return sides.left != nullptr;
}

/// Of an object whose other members are all elsewhere, the one that is alone is what the object should not have.
bool is_alone_in_object(const Context&, Sides& sides) {
  return sides.culprit->member.empty() && sides.partner->member_home == sides.culprit->device &&
         !sides.partner->member.empty();
}

/// Of two results the one that nothing is learned from comes to the other: a teacher's to the student's, a reward to
/// the policy's.
bool is_learned_from_less(const Context& context, Sides& sides) {
  const bool results = part_of_result(*sides.culprit) != nullptr && part_of_result(*sides.partner) != nullptr;
  return results && learns_from(context, *sides.culprit) > learns_from(context, *sides.partner);
}

/// Of two that a statement joins with others, the one that is where no other is. What a checkpoint
/// holds came by one decision, however many tensors it is: it outvotes nobody.
bool is_alone_in_statement(const Context& context, Sides& sides) {
  const Event* placed = placement_of(sides.culprit->provenance);
  const bool loaded = placed != nullptr && placed->kind == model::EventKind::kLoaded;
  return !loaded && context.alone_in_statement() == sides.partner;
}

bool is_table(const Context& context, Sides& sides) {
  sides.is_table = selects_from_table(context, *sides.partner, *sides.culprit);
  return sides.is_table;
}

/// One of the two was taken on, and the other was not.
bool is_left_behind(const Context& context, Sides& sides) {
  for (const bool is_partner : {true, false}) {
    const Operand& moved = is_partner ? *sides.culprit : *sides.partner;
    const Operand& stayed = is_partner ? *sides.partner : *sides.culprit;
    sides.handed = handed_on(context, moved, stayed);
    sides.without = sides.handed != nullptr ? nullptr : moved_without(context, moved, stayed);
    if (sides.onward() == nullptr) continue;
    sides.weight = kWeightOfMove;
    return is_partner;
  }
  return false;
}

bool is_given(const Context&, Sides& sides) {
  const bool explained = sides.left != nullptr || sides.onward() != nullptr;
  return !explained && is_given_beside(*sides.partner, *sides.culprit);
}

bool is_number(const Context& context, Sides& sides) {
  sides.is_number = is_number_for_all(context, *sides.partner, *sides.culprit);
  return sides.is_number;
}

/// NOTE [Whose device is to blame] The first to be blamed is the operand whose device was said by one value that stands
/// for "the device". What else is known of the two may speak for the other one. Each rule is asked of the two as the rule
/// before it has left them, so that the last one that holds decides: what is surer comes later.
constexpr Rule kRules[] = {is_outnumbered,
                           is_kept_beside_what_learns,
                           is_left_by_library,
                           is_alone_in_object,
                           is_learned_from_less,
                           is_alone_in_statement,
                           is_table,
                           is_left_behind,
                           is_given,
                           is_number};

}  // namespace

const Event& Sides::placed() const { return *placement_of(culprit->provenance); }

const Event* Sides::other() const { return placement_of(partner->provenance); }

bool Sides::is_chosen() const { return source_of(placed()) == DeviceSource::kMap && !device_text_of(placed()).empty(); }

bool Sides::is_lone_member() const { return !culprit->member.empty() && culprit->member_home == partner->device; }

int learns_from(const Context& context, const Operand& result) {
  return result.requires_grad ? 2 : context.trains_on(result.device) ? 1 : 0;
}

std::optional<Sides> sides_of(const Context& context) {
  if (auto sides = sent_by_tables(context)) return sides;
  const Operand* heaviest = heaviest_of(context);
  if (heaviest == nullptr) return std::nullopt;
  Sides sides;
  sides.culprit = heaviest;
  sides.weight = weight_of(*placement_of(heaviest->provenance));
  if (const Operand* of_metric = metric_beside(context, *heaviest); of_metric != nullptr) {
    sides.culprit = of_metric;
    sides.weight = std::max(sides.weight, weight_of(*placement_of(of_metric->provenance)));
  }
  if (const Operand* arrived = arrived_at(context, *sides.culprit); arrived != nullptr) sides.culprit = arrived;
  sides.partner = context.partner_of(*sides.culprit);
  if (sides.partner == nullptr) return std::nullopt;
  for (const Rule is_partner : kRules) {
    if (is_partner(context, sides)) std::swap(sides.culprit, sides.partner);
  }
  sides.are_results = are_results(context, sides);
  return sides;
}

}  // namespace devsan::diagnose
