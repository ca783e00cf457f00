#include "diagnose/predicates.h"

#include <algorithm>
#include <cctype>

#include "diagnose/codes.h"
#include "diagnose/moves.h"
#include "diagnose/results.h"
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

}  // namespace

bool is_weight(const Operand& operand) {
  return operand.kind == OperandKind::kParameter || operand.kind == OperandKind::kBuffer;
}

bool is_of_same_statement(const model::Event& event, const model::Event* other) {
  const model::Frame* first = event.site();
  const model::Frame* second = other == nullptr ? nullptr : other->site();
  return first != nullptr && second != nullptr && first->file == second->file && first->span.line == second->span.line;
}

bool is_sidecar(const Operand& operand) {
  const model::Event* placed = placement_of(operand.provenance);
  // What an adapter computes is none: it is where its operands are.
  if (placed != nullptr && placed->owner.is(model::owners::kPeft) && !is_result(operand)) return true;
  return !operand.beside.empty() || Context::is_called(operand, words::sidecar_state::kParts);
}

bool joins_adapter_and_weight(const Context& context, const Operand& operand, const Operand& partner) {
  if (Context::is_called(partner, {"base_layer."}) && !Context::is_called(operand, {"base_layer."})) return true;
  if (is_sidecar(partner)) return false;
  if (merges_adapter(context, operand, partner)) return true;
  const model::Module* failing = context.failing_module();
  if (failing == nullptr || partner.kind != model::OperandKind::kParameter || !partner.registered) return false;
  // Its own weight is no partner; that of a layer which it wraps is, and so is one elsewhere in the model.
  if (failing->path.empty() || model::parent_of(context.path_of(partner)) == failing->path) return false;
  return is_lora(*failing) || failing->type.find("dapter") != std::string::npos;
}

bool is_lora(const model::Module& module) {
  constexpr std::string_view kNames[] = {"Lora", "oRA", "LORA", "_lora"};  // DoRA, too; a TemporalBlock is none
  return module.type.starts_with("lora") || std::ranges::any_of(kNames, [&](std::string_view name) {
           return module.type.find(name) != std::string::npos;
         });
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

bool is_result(const Operand& operand) {
  return !operand.provenance.empty() && operand.provenance.front().kind == model::EventKind::kComputed;
}

const model::Event* part_of_result(const Operand& operand) {
  const model::Event* placed = placement_of(operand.provenance);
  if (placed == nullptr || placed == &operand.provenance.front()) return nullptr;
  if (operand.kind == OperandKind::kBuffer && !operand.replaced_at.is_known()) return nullptr;  // a part's own state
  if (!is_result(operand)) return nullptr;
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
         is_result(operand);
}

bool is_generation_state(const Operand& operand) {
  const model::Event* placed = placement_of(operand.provenance);
  // The state with which a decoder's recurrent network begins is a result as any other where a moved encoder computed it.
  if (operand.role.starts_with("hx") && is_result(operand) && placed != nullptr && placed->op == "Module.to")
    return false;
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

bool is_captured(const Operand& operand) { return operand.holder.find("<locals>") != std::string::npos; }

bool is_kept_by_function(const Operand& operand) {
  return operand.kind == OperandKind::kGlobal && !operand.holder.empty() && !is_captured(operand);
}

bool is_cache_entry(const Operand& operand) {
  const std::string& path = operand.kept_as;
  return path.ends_with("]") && (path.ends_with("[...]") || path.find("cache") != std::string::npos);
}

bool is_as_constructed(const Operand& operand) {
  const model::Event* placed = placement_of(operand.provenance);
  if (placed == nullptr) return false;
  if (is_result(operand) && placed->op == "Module.to") return false;
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
  return is_weight(operand) && operand.replaced_at.is_known() && is_result(operand);
}

bool is_remembered_result(const Operand& operand) {
  const model::Event* placed = placement_of(operand.provenance);
  return operand.kind == OperandKind::kGlobal && placed != nullptr && is_result(operand) &&
         !Context::at_module_level(*placed) && !Context::at_construction(*placed);
}

std::string twin_of(const Operand& weight) {
  const bool is_named = weight.name.ends_with(weight.tied_to);  // by the source, as it is known by another name
  return quoted(is_named ? weight.qualified_name : weight.tied_to);
}

model::Message tie_of(const Operand& weight) {
  return {"{name} is tied to {other}: both are one tensor, on {device}.",
          {{"name", name_of(weight)}, {"other", twin_of(weight)}, {"device", weight.device.str()}}};
}

bool is_sharded(const model::Model& model) {
  return std::ranges::any_of(model.modules, [](const model::Module& each) { return each.type.starts_with("FSDP"); });
}

bool is_on_gpu(const model::Model& model) {
  return std::ranges::any_of(model.devices(), [](const auto& device) { return device.is_accelerator(); });
}

bool original_has_moved(const Context& context, const Operand& partner) {
  return is_weight(partner) || std::ranges::any_of(context.facts().models, is_on_gpu);
}

bool is_offloaded(const model::Module& module) { return std::ranges::any_of(module.hooks, &model::Hook::offload); }

model::Message place_text(const model::Device& device) {
  return device.is_host() ? model::Message("the CPU") : model::Message(device.str());
}

}  // namespace devsan::diagnose
