#include "diagnose/predicates.h"

#include <algorithm>
#include <cctype>

#include "diagnose/codes.h"
#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::Operand;
using model::OperandKind;

namespace {

/// Whether a function that speaks of adapters adds what is no part of the model to one of its weights.
bool merges_adapter(const Context& context, const Operand& operand, const Operand& partner) {
  const model::Frame* site = context.failure().site();
  if (site == nullptr || partner.kind != model::OperandKind::kParameter || partner.qualified_name.empty() ||
      !operand.qualified_name.empty()) {
    return false;
  }
  std::string name(last_part(site->function));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name.find("lora") != std::string::npos || name.find("adapter") != std::string::npos;
}

/// What the batch says is right: `labels`, `target`, `batch["targets"]`; not `target_init`.
bool is_answer(const Operand& operand) {
  if (operand.role == "target" || Context::is_called(operand, {"label"})) return true;
  std::string_view name = operand.name;
  while (!name.empty() && (name.back() == ']' || name.back() == '"' || name.back() == '\'')) name.remove_suffix(1);
  return name.ends_with("target") || name.ends_with("targets");
}

}  // namespace

bool is_weight(const Operand& operand) {
  return operand.kind == OperandKind::kParameter || operand.kind == OperandKind::kBuffer;
}

bool is_of_same_statement(const model::Event& event, const model::Event* other) {
  const model::Frame* first = event.site();
  const model::Frame* second = other == nullptr ? nullptr : other->site();
  return first != nullptr && second != nullptr && first->file == second->file && first->span.line == second->span.line;
}

bool is_loss_boundary(const Context& context) {
  // In the backward pass both sides are what forward has kept: the batch and the labels were on one device there.
  if (context.failure().op.find("_backward") != std::string::npos) return false;
  if (context.op_is({"nll_loss", "nll_loss_forward", "nll_loss2d_forward", "nll_loss_nd", "cross_entropy_loss",
                     "binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss", "l1_loss",
                     "smooth_l1_loss", "huber_loss", "kl_div", "ctc_loss", "_ctc_loss", "soft_margin_loss",
                     "multi_margin_loss", "multilabel_margin_loss_forward", "poisson_nll_loss",
                     "linear_cross_entropy"})) {
    return true;
  }
  const auto& operands = context.operands();
  const auto any_called = [&](std::initializer_list<std::string_view> words) {
    return std::any_of(operands.begin(), operands.end(),
                       [&](const Operand& each) { return Context::is_called(each, words); });
  };
  const model::Frame* site = context.failure().site();
  const bool in_loss =
      context.failure().phase == model::Phase::kLoss ||
      context.runs_function({"compute_loss", "loss_function", "fixed_cross_entropy", "training_step"}) ||
      (site != nullptr &&
       (site->function.find("Loss") != std::string::npos || site->function.find("loss") != std::string::npos));
  if (in_loss && std::any_of(operands.begin(), operands.end(), is_answer)) return true;
  const bool numbers =
      operands.size() > 1 && std::all_of(operands.begin(), operands.end(), [](const Operand& each) {
        return each.shape && std::all_of(each.shape->begin(), each.shape->end(), [](auto size) { return size == 1; });
      });
  if (!numbers) return false;
  // Losses and totals are added up. A quotient or a product is a loss by its names alone: norms are divided as well.
  if (context.op_is({"add_"})) return true;  // into a number that is kept: a total
  if (context.op_is({"add", "sub"})) {
    // Computed numbers that are trained with are terms of an objective, whatever they are called.
    const bool trained =
        std::any_of(operands.begin(), operands.end(), [](const Operand& each) { return each.requires_grad; }) &&
        std::none_of(operands.begin(), operands.end(), is_weight);
    return in_loss || trained || any_called({"loss", "num_items", "label", "total"});
  }
  return context.op_is({"div", "div_", "mul", "mul_"}) && any_called({"loss", "num_items", "num_tokens", "label"});
}

bool is_loss_of_part(const Context& context, const model::Operand& operand) {
  return operand.kind == model::OperandKind::kAttribute && !operand.holder.empty() && operand.registered &&
         operand.is_scalar() && is_loss_boundary(context) && context.op_is({"add", "add_", "sub"}) &&
         (context.failing_module() == nullptr || context.failing_module()->path != operand.holder);
}

bool combines_a_list(const Context& context) {
  if (!context.op_is({"stack", "cat", "concat", "_foreach_norm", "linalg_vector_norm", "sum", "_foreach_add_"}))
    return false;
  const auto listed = std::count_if(context.operands().begin(), context.operands().end(), [](const Operand& operand) {
    return operand.role.starts_with("tensors") || operand.role.find('[') != std::string::npos;
  });
  return listed > 1;
}

bool combines_results(const Context& context) {
  return combines_a_list(context) &&
         std::all_of(context.operands().begin(), context.operands().end(),
                     [](const Operand& operand) { return operand.shape && operand.shape->size() <= 1; });
}

bool is_running_total(const Context& context, const Operand& operand) {
  if (!is_loss_boundary(context)) return false;
  if (context.op_is({"add_"})) return operand.role == "self";
  // `total = total + loss` puts the sum in its place.
  const model::Frame* site = context.failure().site();
  return context.op_is({"add"}) && site != nullptr && !operand.name.empty() &&
         site->source.starts_with(operand.name + " = " + operand.name + " + ");
}

bool is_sidecar(const Operand& operand) {
  const model::Event* placed = placement_of(operand.provenance);
  // What an adapter computes is none: it is where its operands are.
  const bool result = !operand.provenance.empty() && operand.provenance.front().kind == model::EventKind::kComputed;
  if (placed != nullptr && placed->owner.is(model::owners::kPeft) && !result) return true;
  return !operand.beside.empty() || Context::is_called(operand, words::sidecar_state::kParts);
}

bool joins_adapter_and_weight(const Context& context, const Operand& operand, const Operand& partner) {
  if (Context::is_called(partner, {"base_layer."}) && !Context::is_called(operand, {"base_layer."})) return true;
  if (is_sidecar(partner)) return false;
  if (merges_adapter(context, operand, partner)) return true;
  const model::Module* failing = context.failing_module();
  if (failing == nullptr || partner.kind != model::OperandKind::kParameter) return false;
  // Its own weight is no partner; that of a layer which it wraps is, and so is one elsewhere in the model.
  if (failing->path.empty() || model::parent_of(context.path_of(partner)) == failing->path) return false;
  return failing->type.find("ora") != std::string::npos || failing->type.find("oRA") != std::string::npos ||
         failing->type.find("dapter") != std::string::npos;
}

const model::Event* put_in_after(const Context& context, const Operand& operand) {
  const bool registered = is_weight(operand) && operand.registered && operand.device.is_host();
  const model::Event* placed = placement_of(operand.provenance);
  if (!registered || context.model() == nullptr || (placed != nullptr && placed->kind == model::EventKind::kMoved)) {
    return nullptr;
  }
  const auto& all = context.model()->placements;
  const std::string path = context.path_of(operand);
  const auto found = std::find_if(all.begin(), all.end(), [&](const model::Event& event) {
    const bool around = event.op == "Module.to" && model::is_under(model::parent_of(path), event.subject);
    return (event.subject.empty() || around) && event.device.is_accelerator();
  });
  if (found == all.end()) return nullptr;
  // What is older was there, and not in the model: it was put in the place of a weight that has moved.
  const bool older = !operand.provenance.empty() && operand.provenance.front().sequence > 0 &&
                     operand.provenance.front().sequence < found->sequence;
  return older ? nullptr : &*found;
}

bool is_built_for_use(const Context& context, const Operand& operand) {
  const model::Event* made = placement_of(operand.provenance);
  const model::Frame* used = context.failure().site();
  if (operand.kind != OperandKind::kBuffer || made == nullptr || used == nullptr || context.in_earlier_call(*made)) {
    return false;
  }
  const model::Frame* written = made->written();
  const bool same = made->kind == model::EventKind::kMade && written != nullptr && written->file == used->file &&
                    written->function == used->function && written->span.line <= used->span.line;
  if (!same || used->function == "<module>") return false;
  const auto& frames = context.failure().frames;
  const auto caller =
      std::find_if(frames.begin(), frames.end(), [&](const model::Frame& each) { return &each == used; });
  return caller + 1 < frames.end() && (caller + 1)->function != "<module>";
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
  const bool later = moved != nullptr && moved->kind == model::EventKind::kMoved && moved->op == "Module.to" &&
                     made.sequence > 0 && moved->sequence > made.sequence;
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

const model::Event* part_of_result(const Operand& operand) {
  const model::Event* placed = placement_of(operand.provenance);
  if (placed == nullptr || placed == &operand.provenance.front()) return nullptr;
  if (operand.kind == OperandKind::kBuffer && !operand.replaced_at.is_known()) return nullptr;  // a part's own state
  if (operand.provenance.front().kind != model::EventKind::kComputed) return nullptr;
  const bool by_layer = placed->kind == model::EventKind::kMade && !placed->owner.mechanism.empty() &&
                        placed->op != "aten::" + placed->owner.mechanism && !placed->op.empty();
  return placed->op == "Module.to" || by_layer ? placed : nullptr;
}

bool is_block(std::string_view path) {
  for (std::size_t at = 0; at < path.size(); ++at) {
    const bool starts = at == 0 || path[at - 1] == '.';
    if (starts && std::isdigit(static_cast<unsigned char>(path[at])) != 0) return true;
  }
  return false;
}

bool is_result_in_cut_block(const Context& context, const Operand& operand) {
  const model::Module* block = context.failing_module();
  if (block == nullptr || block->is_container || !is_block(block->path) || !context.has_map() ||
      !stands_in_module(context)) {
    return false;
  }
  const auto devices = context.devices_below(block->path);
  const Operand* partner = context.partner_of(operand);
  const auto holds = [&](const model::Device& device) {
    return std::find(devices.begin(), devices.end(), device) != devices.end();
  };
  return partner != nullptr && holds(operand.device) && holds(partner->device) && context.is_placed_by_map(*partner) &&
         !operand.provenance.empty() && operand.provenance.front().kind == model::EventKind::kComputed;
}

bool is_generation_state(const Operand& operand) {
  return operand.kind == OperandKind::kCache || Context::is_called(operand, words::kv_cache::kParts) ||
         Context::is_called(operand, words::kv_cache::kIndices);
}

bool follows_default_device(const Context& context, const Operand& operand) {
  const model::Device& chosen = context.process().default_device;
  if (!chosen.is_known() || chosen.is_host()) return false;
  const model::Event* placed = placement_of(operand.provenance);
  if (placed == nullptr) return false;
  if (placed->owner.is(model::owners::kDefaultDevice)) return true;
  return source_of(*placed) == model::DeviceSource::kDefault && operand.device.type == chosen.type;
}

const model::Module* disagreeing_hook(const Context& context) {
  if (context.model() == nullptr) return nullptr;
  const auto disagrees = [&](const model::Module& module) {
    return std::any_of(module.hooks.begin(), module.hooks.end(), [&](const model::Hook& hook) {
      if (hook.offload || !hook.execution_device.is_known()) return false;
      return std::any_of(module.tensors.begin(), module.tensors.end(), [&](const model::ModuleTensor& tensor) {
        return tensor.device.is_accelerator() && tensor.device != hook.execution_device;
      });
    });
  };
  // The one that the failure is about, if it is one of them.
  for (const Operand& operand : context.operands()) {
    const std::string path(model::parent_of(context.path_of(operand)));
    const model::Module* module = path.empty() ? nullptr : context.model()->find(path);
    if (module != nullptr && disagrees(*module)) return module;
  }
  const auto& modules = context.model()->modules;
  const auto found = std::find_if(modules.begin(), modules.end(), disagrees);
  return found == modules.end() ? nullptr : &*found;
}

bool stands_in_module(const Context& context) {
  const auto& frames = context.failure().frames;
  const model::Frame* site = context.failure().site();
  for (const model::Frame& frame : frames) {
    if (site != nullptr && &frame < site) continue;  // torch's own, further in
    // torch.nn.Module calls hooks from here; forward is called from _call_impl too, and is a method of the module.
    if (last_part(frame.function) == "_call_impl" || last_part(frame.function) == "inner") return false;
    const model::Frame* caller = &frame == &frames.back() ? nullptr : &frame + 1;
    if (caller != nullptr && caller->package == "torch" && caller->source.find("hook(") != std::string::npos)
      return false;
    if (!frame.module.empty() || last_part(frame.function) == "forward") return true;
  }
  return true;
}

const Operand* is_torn_by_map(const Context& context) {
  if (context.model() == nullptr) return nullptr;
  for (const Operand& operand : context.operands()) {
    const model::Event* placed = placement_of(operand.provenance);
    if (operand.kind != OperandKind::kParameter || placed == nullptr ||
        source_of(*placed) != model::DeviceSource::kMap || !operand.device.is_accelerator()) {
      continue;
    }
    const model::Module* module = context.model()->find(std::string(model::parent_of(context.path_of(operand))));
    if (module == nullptr) continue;
    const bool apart = std::any_of(module->hooks.begin(), module->hooks.end(), [&](const model::Hook& hook) {
      return !hook.offload && hook.execution_device.is_known() && hook.execution_device != operand.device;
    });
    if (apart) return &operand;
  }
  return nullptr;
}

bool wraps_host_memory(const model::Event& event) {
  return event.op == "aten::from_numpy" || event.op == "aten::frombuffer";
}

bool is_brought_to_host(const model::Event& event) {
  return event.kind == model::EventKind::kMoved && event.device.is_host();
}

bool is_cache_entry(const Operand& operand) {
  const std::string& path = operand.kept_as;
  return path.ends_with("]") && (path.ends_with("[...]") || path.find("cache") != std::string::npos);
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
    return (move.subject.empty() || move.subject == operand.holder) && left_it(move);
  });
  return found == all.end() ? nullptr : &*found;
}

bool is_as_constructed(const Operand& operand) {
  const model::Event* placed = placement_of(operand.provenance);
  if (placed == nullptr) return false;
  const bool result = operand.provenance.front().kind == model::EventKind::kComputed;
  if (result && placed->op == "Module.to") return false;
  return Context::at_construction(*placed) || Context::at_module_level(*placed);
}

bool is_of_class(const Operand& operand) { return operand.kind == OperandKind::kGlobal && !operand.kept_as.empty(); }

std::string plain_object_of(const Operand& operand) {
  if (operand.kind != OperandKind::kAttribute || !operand.registered) return "";
  const std::string path = model::is_under(operand.kept_as, operand.holder) && operand.kept_as != operand.holder
                               ? operand.kept_as.substr(operand.holder.size() + 1)
                               : operand.kept_as;  // the root's own
  const auto dot = path.rfind('.');
  // An element of a container, or what a function captured, is of no object of its own.
  return dot == std::string::npos || path.ends_with(']') || path.ends_with(')') ? "" : path.substr(0, dot);
}

bool is_replaced_by_result(const Operand& operand) {
  return is_weight(operand) && operand.replaced_at.is_known() && !operand.provenance.empty() &&
         operand.provenance.front().kind == model::EventKind::kComputed;
}

bool is_remembered_result(const Operand& operand) {
  const model::Event* placed = placement_of(operand.provenance);
  return operand.kind == OperandKind::kGlobal && placed != nullptr &&
         operand.provenance.front().kind == model::EventKind::kComputed && !Context::at_module_level(*placed) &&
         !Context::at_construction(*placed);
}

const model::Event* brought_back(const Operand& operand) {
  const model::Event* placed = placement_of(operand.provenance);
  const bool back = placed != nullptr && placed->owner.is(model::owners::kAccelerate) &&
                    placed->owner.setting.starts_with("io_same_device");
  return back ? placed : nullptr;
}

std::string twin_of(const Operand& weight) {
  const bool is_named = weight.name.ends_with(weight.tied_to);  // by the source, as it is known by another name
  return quoted(is_named ? weight.qualified_name : weight.tied_to);
}

model::Message tie_of(const Operand& weight) {
  return {"{name} is tied to {other}: both are one tensor, on {device}.",
          {{"name", name_of(weight)}, {"other", twin_of(weight)}, {"device", weight.device.str()}}};
}

const model::Event* moved_there_before(const Operand& weight, const Operand& other) {
  const model::Event* last = placement_of(weight.provenance);
  const auto& all = weight.provenance;
  const bool result = !all.empty() && all.front().kind == model::EventKind::kComputed;  // made of what was moved
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

bool is_move_without_effect(const model::Event& event) {
  return event.kind == model::EventKind::kMoved && event.from.is_known() && event.from == event.device;
}

bool is_offloaded(const model::Module& module) { return std::ranges::any_of(module.hooks, &model::Hook::offload); }

model::Message place_text(const model::Device& device) {
  return device.is_host() ? model::Message("the CPU") : model::Message(device.str());
}

}  // namespace devsan::diagnose
