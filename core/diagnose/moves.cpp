#include "diagnose/moves.h"

#include <algorithm>

#include "diagnose/codes.h"
#include "diagnose/predicates.h"
#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::Operand;
using model::OperandKind;

const model::Event* put_in_after(const Context& context, const Operand& operand) {
  const std::string path = context.path_of(operand);
  const bool made_of_weight = !is_weight(operand) && !path.empty();
  const bool registered = (is_weight(operand) && operand.registered) || made_of_weight;
  const model::Event* placed = placement_of(operand.provenance);
  if (!registered || !operand.device.is_host() || context.model() == nullptr ||
      (placed != nullptr && placed->kind == model::EventKind::kMoved)) {
    return nullptr;
  }
  const auto& all = context.model()->placements;
  const auto found = std::find_if(all.begin(), all.end(), [&](const model::Event& event) {
    const bool around = event.op == "Module.to" && model::is_under(model::parent_of(path), event.subject);
    return (event.subject.empty() || around) && event.device.is_accelerator();
  });
  if (found == all.end()) return nullptr;
  // What is older was there, and not in the model: it was put in the place of a weight that has moved.
  const std::size_t newest = made_of_weight ? 1 : 0;  // behind what was made of it
  const bool older = operand.provenance.size() > newest && operand.provenance[newest].sequence > 0 &&
                     operand.provenance[newest].sequence < found->sequence;
  return older ? nullptr : &*found;
}

const Operand* moved_without(const Context& context, const Operand& operand) {
  const auto container = [](const Operand& each) {
    return std::string_view(each.name).substr(0, each.name.rfind('['));
  };
  if (!operand.name.ends_with(']')) return nullptr;
  for (const Operand& other : context.operands()) {
    const model::Event* placed = placement_of(other.provenance);
    if (other.name.ends_with(']') && container(other) == container(operand) && placed != nullptr &&
        placed->kind == model::EventKind::kMoved && placed->from == operand.device && other.device != operand.device) {
      return &other;
    }
  }
  return nullptr;
}

bool is_copy(const model::Event& event) {
  return short_op(event.op) == "clone" || short_op(event.op) == "_to_copy" || is_deep_copy(event);
}

const model::Event* moved_after_copy(const Operand& copy, const Operand& weight) {
  if (copy.provenance.empty()) return nullptr;
  const model::Event& made = copy.provenance.front();
  const bool copies = is_copy(made);
  const model::Event* moved = placement_of(weight.provenance);
  // A weight moves with its model, whoever moves that.
  const bool of_model = moved != nullptr && (moved->op == "Module.to" || is_weight(weight));
  const bool later =
      of_model && moved->kind == model::EventKind::kMoved && made.sequence > 0 && moved->sequence > made.sequence;
  return copies && later ? moved : nullptr;
}

bool is_moved_by_call(const Context& context, const Operand& operand) {
  const model::Event* placed = placement_of(operand.provenance);
  const model::Frame* site = context.failure().site();
  if (placed == nullptr || site == nullptr || placed->kind != model::EventKind::kMoved || placed->stack.size() < 2) {
    return false;
  }
  const auto is_site = [&](const model::Frame& frame) {
    return frame.file == site->file && frame.function == site->function && frame.span.line == site->span.line;
  };
  return placed->op.starts_with("Tensor.") && !is_site(placed->stack.front()) &&
         std::any_of(placed->stack.begin() + 1, placed->stack.end(), is_site);
}

bool wraps_host_memory(const model::Event& event) {
  return event.op == "aten::from_numpy" || event.op == "aten::frombuffer";
}

bool came_with_data(const Operand& operand, const model::Event* placed) {
  static constexpr std::string_view kFactories[] = {"aten::zeros",      "aten::ones",      "aten::full",
                                                    "aten::zeros_like", "aten::ones_like", "aten::full_like",
                                                    "aten::new_zeros",  "aten::new_ones",  "aten::new_full"};
  const bool is_filled = placed != nullptr && placed->kind == model::EventKind::kMade &&
                         placed->owner.is(model::owners::kProgram) &&
                         std::find(std::begin(kFactories), std::end(kFactories), placed->op) != std::end(kFactories);
  return operand.kind == OperandKind::kInput && !is_filled;
}

bool is_brought_to_host(const model::Event& event) {
  return event.kind == model::EventKind::kMoved && event.device.is_host();
}

bool is_read_from_checkpoint(const model::Event& event) {
  return event.kind == model::EventKind::kLoaded && event.owner.is("torch.load");
}

bool is_deep_copy(const model::Event& event) {
  return event.kind == model::EventKind::kMade && Context::in_function(event, "deepcopy");
}

const model::Event* moved_from_map(const Operand& operand) {
  const model::Event* placed = placement_of(operand.provenance);
  if (placed == nullptr || placed->kind != model::EventKind::kMoved ||
      source_of(*placed) == model::DeviceSource::kMap || !Context::in_function(*placed, "_apply")) {
    return nullptr;
  }
  const bool own = placed->owner.is(model::owners::kProgram);
  const bool mapped = std::any_of(operand.provenance.begin(), operand.provenance.end(), [&](const model::Event& event) {
    // A table of the program's own has no hooks: it may choose again.
    if (own && event.owner.is(model::owners::kProgram)) return false;
    return &event != placed && source_of(event) == model::DeviceSource::kMap;
  });
  return mapped ? placed : nullptr;
}

const model::Event* left_by_move(const Context& context, const Operand& operand, const Operand& other) {
  const model::Event* placed = placement_of(operand.provenance);
  if (operand.kind != OperandKind::kAttribute || !operand.registered || operand.holder.empty() || placed == nullptr ||
      context.in_earlier_call(*placed) || context.in_failing_call(*placed)) {
    return nullptr;
  }
  const auto made = std::max(operand.provenance.front().sequence, placed->sequence);
  const auto left_it = [&](const model::Event& move) {
    return made > 0 && move.sequence > made && move.kind == model::EventKind::kMoved && move.device == other.device;
  };
  const model::Event* its = placement_of(other.provenance);
  if (is_weight(other) && other.holder == operand.holder && its != nullptr && left_it(*its)) return its;
  if (context.model() == nullptr) return nullptr;
  const auto& all = context.model()->placements;
  const auto found = std::find_if(all.begin(), all.end(), [&](const model::Event& move) {
    return model::is_under(operand.holder, move.subject) && left_it(move);
  });
  return found == all.end() ? nullptr : &*found;
}

const model::Event* brought_back(const Operand& operand) {
  const model::Event* placed = placement_of(operand.provenance);
  const bool back = placed != nullptr && placed->owner.is(model::owners::kAccelerate) &&
                    placed->owner.setting.starts_with("io_same_device");
  return back ? placed : nullptr;
}

const model::Event* moved_there_before(const Operand& weight, const Operand& other) {
  const model::Event* last = placement_of(weight.provenance);
  const auto& all = weight.provenance;
  const bool result = is_result(weight);  // made of what was moved
  if (last == nullptr || result) return nullptr;
  const bool by_library = last->kind == model::EventKind::kMoved && is_weight(weight) && last->owner.is_known() &&
                          !last->owner.is(model::owners::kProgram) && source_of(*last) != model::DeviceSource::kMap;
  if (last->op != "Module.to" && !by_library) return nullptr;
  const auto found = std::find_if(all.begin(), all.end(), [&](const model::Event& event) {
    const bool moved = event.kind == model::EventKind::kMoved && event.op == "Module.to";
    // A layer that was told its device: what is made on the host without one is made to be moved.
    const bool made = event.kind == model::EventKind::kMade && event.device.is_accelerator();
    return &event != last && (moved || made) && event.device == other.device;
  });
  return found == all.end() ? nullptr : &*found;
}

model::Message second_move_of(const Operand& weight, const model::Event& before) {
  const model::Event& last = *placement_of(weight.provenance);
  const char* made = last.op == "Module.to"
                         ? "{name} was made on {device}{at}, then moved to {other_device}{to}."
                         : "{name} was made on {device}{at}, then moved to {other_device} by {owner}{to}.";
  const char* moved = last.op == "Module.to"
                          ? "{name} was moved twice: to {device}{at}, then to {other_device}{to}."
                          : "{name} was moved twice: to {device}{at}, then to {other_device} by {owner}{to}.";
  return {before.kind == model::EventKind::kMade ? made : moved,
          {{"name", name_of(weight)},
           {"device", before.device.str()},
           {"at", at_text(before)},
           {"other_device", weight.device.str()},
           {"owner", text_of(last.owner)},
           {"to", at_text(last)}}};
}

const model::Event* dropped_move_of(const Context& context, const Operand& operand) {
  const Operand* partner = context.partner_of(operand);
  const auto is_to_another = [&](const model::Event& copy) {  // it would not have helped
    const bool written = copy.device_text.starts_with('"');
    return partner != nullptr && ((copy.device.is_known() && copy.device != partner->device) ||
                                  (written && copy.device_text.find(':') != std::string::npos &&
                                   copy.device_text != "\"" + partner->device.str() + "\""));
  };
  const auto found = std::ranges::find_if(operand.copies, [&](const model::Event& copy) {
    // `x.cpu()` of what is there is another mistake.
    return copy.discarded && copy.device != operand.device && !is_to_another(copy);
  });
  return found == operand.copies.end() ? nullptr : &*found;
}

bool is_put_by_value(const model::Event& event) {
  if (event.kind != model::EventKind::kMade) return false;
  const auto source = source_of(event);
  const bool held = device_text_of(event).find_first_of(".[") != std::string::npos;  // no parameter of a function
  return source == model::DeviceSource::kLiteral || (source == model::DeviceSource::kScalar && held);
}

bool is_move_without_effect(const model::Event& event) {
  return event.kind == model::EventKind::kMoved && event.from.is_known() && event.from == event.device;
}

}  // namespace devsan::diagnose
