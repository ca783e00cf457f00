#include "diagnose/sides.h"

#include <algorithm>
#include <utility>

#include "diagnose/handed_on.h"
#include "diagnose/moves.h"
#include "diagnose/predicates.h"
#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::DeviceSource;
using model::Event;
using model::Operand;

bool is_of_metric(const Context& context, const Operand& operand) {
  if (operand.kind != model::OperandKind::kBuffer || context.model() == nullptr) return false;
  const auto& modules = context.model()->modules;
  return std::all_of(modules.begin(), modules.end(), [](const model::Module& module) {
    return std::all_of(module.tensors.begin(), module.tensors.end(), [](const auto& each) { return each.is_buffer; });
  });
}

bool is_of_replica(const Event* placed) {
  return placed != nullptr && (placed->owner.mechanism == "scatter" || placed->owner.mechanism == "replicate");
}

namespace {

constexpr int kWeightOfTable = 30;

/// How much it weighs that the device of `placed` was said in this way: one value that stands for "the device".
int weight_of(const Event& placed) {
  const bool own = placed.owner.is(model::owners::kProgram) || !placed.owner.is_known();
  if (placed.kind == model::EventKind::kLoaded) return placed.owner.is("torch.load") ? 65 : 0;  // by its map_location
  if (is_deep_copy(placed)) return 65;
  if (is_of_replica(&placed)) return 0;                 // each on its own GPU
  if (placed.owner.is(model::owners::kPeft)) return 0;  // an adapter, where its layer is
  switch (source_of(placed)) {
    case DeviceSource::kScalar:
      return 50;
    case DeviceSource::kLiteral:
    case DeviceSource::kCurrent:
      return own ? 30 : 10;
    case DeviceSource::kPeer:  // another tensor's, which is as much one value where a part of the model is met
      return own ? 12 : 0;
    default:
      return 0;
  }
}

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
  sides.weight = kWeightOfTable;
  return sides;
}

}  // namespace

int learns_from(const Context& context, const Operand& result) {
  return result.requires_grad ? 2 : context.trains_on(result.device) ? 1 : 0;
}

std::optional<Sides> sides_of(const Context& context) {
  if (auto sides = sent_by_tables(context)) return sides;
  const Operand* culprit = nullptr;
  bool culprit_by_model = false;
  bool culprit_idle = false;
  int best = 0;
  for (const Operand& operand : context.operands()) {
    const Event* placed = placement_of(operand.provenance);
    if (placed == nullptr || !operand.device.is_accelerator() || context.is_placed_by_map(operand)) continue;
    // Of two that weigh the same the one that was sent for nothing to where it was, or that no part of the model
    // computed, then the one that torch names.
    const int weight = weight_of(*placed);
    const bool by_model = placed->op == "Module.to";
    const bool idle = is_move_without_effect(*placed);
    const bool rather = idle != culprit_idle           ? idle
                        : by_model == culprit_by_model ? operand.offending && culprit != nullptr && !culprit->offending
                                                       : culprit_by_model;
    if (weight > best || (weight == best && weight > 0 && rather)) {
      best = weight;
      culprit = &operand;
      culprit_by_model = by_model;
      culprit_idle = idle;
    }
  }
  if (culprit == nullptr) return std::nullopt;
  for (const Operand& operand : context.operands()) {
    const Event* placed = placement_of(operand.provenance);
    if (&operand == culprit || placed == nullptr || !is_of_metric(context, operand) || weight_of(*placed) == 0)
      continue;
    culprit = &operand;
    best = std::max(best, weight_of(*placed));
  }
  // A weight is where the model is meant to be: what comes to it by a value of its own is the side to tell of.
  const Event& its = *placement_of(culprit->provenance);
  // By the program's own factory, and not with a layer that was told its device.
  const bool made_there = its.kind == model::EventKind::kMade && its.op == "aten::" + its.owner.mechanism;
  if (is_weight(*culprit) && !made_there && !is_of_metric(context, *culprit)) {
    for (const Operand& operand : context.operands()) {
      const Event* placed = placement_of(operand.provenance);
      if (is_weight(operand) || placed == nullptr || operand.device == culprit->device) continue;
      const bool picked = is_by_table(placed) && placed->op != "Module.to";
      if (weight_of(*placed) == 0 && !picked) continue;
      culprit = &operand;
      break;
    }
  }
  const Operand* partner = context.partner_of(*culprit);
  if (partner == nullptr) return std::nullopt;
  // Of two results the one that is alone where it is has not come along.
  if (context.outnumbered() == partner && part_of_result(*partner) != nullptr) std::swap(culprit, partner);
  // What learns is where the model is; what an object has kept has to come there.
  const Event* kept = placement_of(partner->provenance);
  if (culprit->requires_grad && its.op == "Module.to" && !partner->requires_grad && kept != nullptr &&
      partner->kind == model::OperandKind::kAttribute && !context.in_failing_call(*kept)) {
    std::swap(culprit, partner);
  }
  const Event* left = left_by_library(*culprit) == nullptr ? left_by_library(*partner) : nullptr;
  if (left != nullptr) {
    std::swap(culprit, partner);
    best = 65;
  }
  // Of an object whose other members are all elsewhere, the one that is alone is what the object should not have.
  if (culprit->member.empty() && partner->member_home == culprit->device && !partner->member.empty()) {
    std::swap(culprit, partner);
  }
  // Of two results the one that nothing is learned from comes to the other: a teacher's to the student's, a reward to
  // the policy's.
  const bool results = part_of_result(*culprit) != nullptr && part_of_result(*partner) != nullptr;
  if (results && learns_from(context, *culprit) > learns_from(context, *partner)) std::swap(culprit, partner);
  // Of two that a statement joins with others, the one that is where no other is.
  if (context.alone_in_statement() == partner) std::swap(culprit, partner);
  const bool table = selects_from_table(context, *partner, *culprit);
  if (table) std::swap(culprit, partner);
  const Event* handed = handed_on(context, *culprit, *partner);
  const Event* without = handed != nullptr ? nullptr : moved_without(context, *culprit, *partner);
  if (handed != nullptr || without != nullptr) {
    std::swap(culprit, partner);
    best = 65;
  } else if (without = moved_without(context, *partner, *culprit); without != nullptr) {
    best = 65;
  }
  const bool explained = left != nullptr || handed != nullptr || without != nullptr;
  if (!explained && is_given_beside(*partner, *culprit)) std::swap(culprit, partner);
  const bool number = is_number_for_all(context, *partner, *culprit);
  if (number) std::swap(culprit, partner);
  return Sides{culprit, partner, best, left, handed, without, table, number};
}

}  // namespace devsan::diagnose
