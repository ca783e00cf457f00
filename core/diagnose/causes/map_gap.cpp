#include "diagnose/causes.h"
#include "diagnose/edits.h"
#include "diagnose/functional_call.h"
#include "diagnose/hooks_removed.h"
#include "diagnose/inner_part.h"
#include "diagnose/left_behind.h"
#include "diagnose/moves.h"
#include "diagnose/predicates.h"
#include "diagnose/replaced_adapter.h"

#include <algorithm>

namespace devsan::diagnose {

using model::Confidence;
using model::FixKind;
using model::Message;
using model::Module;
using model::Operand;
using model::OperandKind;

namespace {

/// Whether FSDP2 manages it: fully_shard gives such a module a class of its own, "FSDP" and the name of its class
/// (torch/distributed/fsdp/_fully_shard/_fully_shard.py).
bool is_sharded(const model::Model& model) {
  return std::ranges::any_of(model.modules, [](const model::Module& each) { return each.type.starts_with("FSDP"); });
}

bool is_of_model(const Operand& operand) { return is_weight(operand) && operand.registered; }

/// An entry for a parameter of `module`, where an entry for the module was needed.
const model::MapEntry* entry_for_parameter(const model::Model& model, std::string_view module) {
  for (const model::MapEntry& entry : model.device_map) {
    if (model::parent_of(entry.key) == module && model.find(entry.key) == nullptr) return &entry;
  }
  return nullptr;
}

/// Whether the map has entries for modules below `module`.
bool has_mapped_child(const model::Model& model, std::string_view module) {
  return std::any_of(model.device_map.begin(), model.device_map.end(), [&](const model::MapEntry& entry) {
    return entry.key != module && model::is_under(entry.key, module) && model.find(entry.key) != nullptr;
  });
}

/// Whether the maps are those of other parts of the model, each dispatched by itself.
bool is_beside_map(const model::Model& model, std::string_view module) {
  const auto reaches = [&](const std::string& part) { return model::is_under(module, part); };
  return !model.mapped.empty() && std::none_of(model.mapped.begin(), model.mapped.end(), reaches);
}

/// Whether the call went through the forward of `module`, where its hook works.
bool went_through(const Context& context, const Module& module) {
  const auto& frames = context.failure().frames;
  return std::any_of(frames.begin(), frames.end(),
                     [&](const model::Frame& frame) { return frame.module == module.path; });
}

/// The move of the whole model that came after `operand`, a tensor of its on the host, was made; null without one.
const model::Event* moved_after(const Context& context, const Operand& operand) {
  if (operand.provenance.empty() || operand.provenance.front().sequence == 0 || !operand.device.is_host())
    return nullptr;
  const auto& all = context.model()->placements;
  const auto found = std::find_if(all.begin(), all.end(), [&](const model::Event& event) {
    return event.subject.empty() && event.device.is_accelerator() &&
           event.sequence > operand.provenance.front().sequence;
  });
  return found == all.end() ? nullptr : &*found;
}

/// The first move of the model or of a part of it to a GPU; null without one.
const model::Event* moved_to_gpu(const model::Model& model) {
  const auto found = std::find_if(model.placements.begin(), model.placements.end(), [](const model::Event& event) {
    return event.kind == model::EventKind::kMoved && event.device.is_accelerator();
  });
  return found == model.placements.end() ? nullptr : &*found;
}

/// What was put in the place of a weight stays where it was made: the move of the model came before.
bool weigh_replaced(const Context& context, const Operand& operand, const Operand& partner, const std::string& module,
                    Hypothesis& found) {
  // A hook puts weights back by itself.
  if (!operand.replaced_at.is_known() || context.hooked_parent(module) != nullptr) return false;
  const model::Event* move = moved_to_gpu(*context.model());
  const model::Event* placed = placement_of(operand.provenance);
  const bool loaded = placed != nullptr && placed->kind == model::EventKind::kLoaded && placed->owner.is("torch.load");
  // What was made before the move had its chance to be moved along: it was put in for the first time.
  if (move != nullptr && placed != nullptr && placed->kind == model::EventKind::kMade && placed->sequence != 0 &&
      placed->sequence < move->sequence) {
    return false;
  }
  const bool sharded = move == nullptr && is_sharded(*context.model());
  if (move == nullptr && !loaded && !sharded) return false;
  const std::string by = text_of(&operand.replaced_at);
  if (loaded) {
    found.add_evidence(
        85,
        {"{name} was read from a checkpoint to {device}{at}, and put there in the place of the model's own, "
         "at {by}.",
         {{"name", name_of(operand)}, {"device", place_text(operand.device)}, {"at", at_text(*placed)}, {"by", by}}});
    found.title = {"{name} was replaced by a tensor of a checkpoint, on {device}; {other} is on {other_device}",
                   pair_of(operand, partner)};
    found.propose(FixKind::kCreationSite, {"copy what is loaded into the model's own weights: load_state_dict without "
                                           "assign=True"});
    return true;
  }
  const model::Device there = sharded ? partner.device : move->device;
  found.add_evidence(
      85, {sharded ? "fully_shard moved the model to the GPU; {name} was replaced by a tensor on {place}, "
                     "at {by}."
                   : "The model was moved to {device}{at}; {name} was replaced by a tensor on {place}, at {by}.",
           {{"device", there.str()},
            {"at", sharded ? Message() : at_text(*move)},
            {"name", name_of(operand)},
            {"place", place_text(operand.device)},
            {"by", by}}});
  found.title = {"{name} was replaced by a tensor on {device} after the model was moved to {other_device}",
                 {{"name", name_of(operand)}, {"device", operand.device.str()}, {"other_device", there.str()}}};
  found.propose(FixKind::kCreationSite,
                {"put the new {name} on the device of the one that it replaces", {{"name", name_of(operand)}}});
  return true;
}

/// A buffer of a module that functional_call was given other tensors for, and none for the buffer.
std::optional<Hypothesis> left_out_of_call(const Context& context) {
  for (const Operand& operand : context.operands()) {
    const Operand* partner = context.partner_of(operand);
    if (partner == nullptr || operand.kind != OperandKind::kBuffer || !is_left_out_of_call(context, operand)) continue;
    Hypothesis found(code::kMapGap);
    found.origin = placement_of(operand.provenance);
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    found.add_evidence(90, left_out_text(name_of(operand)));
    found.title = {"functional_call was given nothing for {name}, which is on {device}; {other} is on {other_device}",
                   pair_of(operand, *partner)};
    found.propose(give_buffers_to_call());
    return found;
  }
  return std::nullopt;
}

/// FSDP was told to leave parameters where they are, and this one was there when it placed the others.
bool weigh_ignored(const Context& context, const Operand& operand, const std::string& module, Hypothesis& found) {
  if (!operand.ignored_at.is_known() || !operand.device.is_host()) return false;
  const model::Model& model = *context.model();
  // Of what fully_shard has sharded no move is known.
  const auto made = operand.provenance.empty() ? 0 : operand.provenance.front().sequence;
  const bool any_move = std::ranges::any_of(
      model.placements, [](const model::Event& event) { return event.device.is_accelerator() && event.sequence > 0; });
  const bool later = made > 0 && any_move && std::ranges::none_of(model.placements, [&](const model::Event& event) {
                       return event.device.is_accelerator() && event.sequence > made;
                     });
  if (later) return false;  // it was put in when the others had been placed
  const std::string path = model.expression.empty() || module.empty() ? module : model.expression + "." + module;
  const std::vector<model::Argument> facts = {{"module", module.empty() ? quoted(operand.best_name()) : quoted(module)},
                                              {"place", text_of(&operand.ignored_at)},
                                              {"code", path + ".to(torch.cuda.current_device())"}};
  found.add_evidence(90, {"FSDP was told at {place} what it has to ignore: it neither shards that nor moves it to the "
                          "GPU, and nothing else has moved {module}, which has never left the CPU.",
                          facts});
  found.propose(FixKind::kConfiguration,
                module.empty() ? Message{"move {module} to this rank's GPU by hand, before {place}", facts}
                               : Message{"move {module} to this rank's GPU by hand, before {place}: {code}", facts});
  return true;
}

/// Weighs why nothing brought `operand` to where it is used.
void weigh(const Context& context, const Operand& operand, const Operand& partner, const std::string& module,
           Hypothesis& found) {
  const model::Model& model = *context.model();
  const std::string& name = module.empty() ? model.type : module;
  const bool never_moved = operand.provenance.empty() || placement_of(operand.provenance) == nullptr ||
                           placement_of(operand.provenance)->kind != model::EventKind::kMoved;
  // A map that cuts into a block names the block's own parameter and its children: nothing is missing there.
  const bool cut = entry_for(model.device_map, context.path_of(operand)) != nullptr && has_mapped_child(model, module);
  // The root's own tensors are not a module that a map could have named.
  const bool beside = is_beside_map(model, module);
  const bool mapped = !model.device_map.empty() && !module.empty() && !beside;
  if (mapped && entry_for(model.device_map, module) == nullptr && !cut) {
    found.add_evidence(95, {"No entry of the device map covers {module}.", {{"module", name}}});
    if (const auto* entry = entry_for_parameter(model, module)) {
      found.add_evidence(0, {"The map names the parameter {name}; it has to name modules.", {{"name", entry->key}}});
    }
    found.propose(
        FixKind::kMap,
        {"add the module to the map: {code}", {{"code", "\"" + module + "\": \"" + partner.device.str() + "\""}}},
        Confidence::kCertain);
    return;
  }
  const Module* hooked = context.hooked_parent(module);
  if (mapped && !cut && context.is_hooked() && (hooked == nullptr || hooked->path.empty())) {
    found.add_evidence(
        88, {"The map covers {module}, but neither it nor a parent module has a hook: it was added after dispatch.",
             {{"module", name}}});
    found.propose(FixKind::kMap, "dispatch the model again after the module was replaced");
    return;
  }
  if (hooked != nullptr && context.failing_module() != nullptr && !went_through(context, *hooked) &&
      operand.device.is_host()) {
    found.add_evidence(
        hooked->hooks.front().offload || hooked->hooks.front().type.find("Offload") != std::string::npos ? 85 : 65,
        {"The hook that moves {module} to the GPU runs in its forward, but the call bypassed forward.",
         {{"module", hooked->path.empty() ? Message("the model") : Message(hooked->path)}}});
    found.propose(FixKind::kConfiguration,
                  "call the hooked module itself, not a part of it, or place that part by hand");
    return;
  }
  if (const model::Event* whole = moved_after(context, operand);
      whole != nullptr && is_copy(operand.provenance.front())) {
    const model::Event& copied = operand.provenance.front();
    found.add_evidence(80, {"{name} is a copy{at}, older than the move of the model to {device}{to}, and stands in for "
                            "the model's own weight.",
                            {{"name", name_of(operand)},
                             {"at", at_text(copied)},
                             {"device", whole->device.str()},
                             {"to", at_text(*whole)}}});
    found.title = {"{name} is a copy of a weight from before the model was moved to {device}",
                   {{"name", name_of(operand)}, {"device", whole->device.str()}}};
    found.propose(FixKind::kCreationSite, "move the model, then copy its weights");
    return;
  }
  const model::Event* placed = placement_of(operand.provenance);
  if (placed != nullptr && is_deep_copy(*placed) && operand.device.is_host() && original_has_moved(context, partner)) {
    found.add_evidence(80, {"{module} is a copy{at}, which is where the original was: on {device}.",
                            {{"module", name}, {"at", at_text(*placed)}, {"device", place_text(operand.device)}}});
    found.propose(FixKind::kCreationSite, "copy the model after it was moved, or move the copy");
    return;
  }
  if (weigh_replaced(context, operand, partner, module, found)) return;
  if (never_moved && weigh_ignored(context, operand, module, found)) return;
  if (const auto inner = never_moved ? inner_part(context, operand, partner) : std::nullopt) {
    weigh_inner_part(context, *inner, partner, 80, found);
    return;
  }
  const bool others_moved =
      std::any_of(model.placements.begin(), model.placements.end(), [&](const model::Event& event) {
        return !event.subject.empty() && !model::is_under(module, event.subject) && event.device.is_accelerator();
      });
  if (const model::Event* moved = put_in_after(context, operand)) {
    const bool whole = moved->subject.empty();
    found.add_evidence(
        75, {whole ? "The model was moved as a whole{at}; {module} was added to it later."
                   : "{around} was moved to {device}{at}; {module} was put into it later.",
             {{"at", at_text(*moved)}, {"module", name}, {"around", moved->subject}, {"device", moved->device.str()}}});
    if (placed != nullptr && placed->kind == model::EventKind::kMade) {
      found.propose(FixKind::kCreationSite, {"create it on {device}{at}, or move it there before it is used",
                                             {{"device", partner.device.str()}, {"at", at_text(*placed)}}});
    }
    found.propose(FixKind::kConfiguration,
                  whole ? Message("move the model after its last module is added")
                        : Message("move {around} after its last module is added", {{"around", moved->subject}}));
    return;
  }
  if (others_moved && never_moved && operand.device.is_host() && !beside) {
    const auto mover = std::find_if(model.placements.begin(), model.placements.end(), [](const model::Event& event) {
      return !event.subject.empty() && event.device.is_accelerator();
    });
    const bool known = mover->owner.is_known();
    const std::string part = module.empty() ? context.path_of(operand) : module;  // the root's own parameter
    found.add_evidence(75, {known ? "Other modules were moved one by one by {owner}{at}; {module} is not among them."
                                  : "Other modules were moved one by one{at}; {module} is not among them.",
                            {{"owner", text_of(mover->owner)}, {"at", at_text(*mover)}, {"module", part}}});
    found.propose(FixKind::kMap,
                  {mover->owner.is(model::owners::kProgram) ? "move {module} as well, where the other modules are moved"
                                                            : "add {module} to what the loader moves",
                   {{"module", part}}});
    return;
  }
  const bool mostly_on_gpu = is_on_gpu(model);
  if (operand.device.is_host() && mostly_on_gpu && never_moved && is_sharded(model) &&
      std::ranges::none_of(context.devices_below(module), &model::Device::is_accelerator)) {
    found.add_evidence(75,
                       {"fully_shard moved the parameters that the model had to the GPU; {module} has never left the "
                        "CPU: it was put in later, and FSDP neither moves it nor sums its gradients over the ranks.",
                        {{"module", name}}});
    found.propose(FixKind::kConfiguration,
                  {"put {module} in before fully_shard is called on the model, so that FSDP manages it as well",
                   {{"module", name}}});
    return;
  }
  if (operand.device.is_host() && mostly_on_gpu && never_moved) {
    found.add_evidence(60,
                       {"Other parts of the model are on a GPU, {module} has never left the CPU.", {{"module", name}}});
    found.propose(FixKind::kMap,
                  {"move {module} with the rest of the model, where the model is placed", {{"module", name}}});
  }
}

/// The map has an entry for a module and one for a part of it, and they disagree.
std::optional<Hypothesis> nested_entries(const Context& context, const Operand& torn, const Operand& partner) {
  const std::string path = context.path_of(torn);
  std::vector<const model::MapEntry*> entries;
  for (const model::MapEntry& entry : context.model()->device_map) {
    if (!entry.key.empty() && model::is_under(path, entry.key)) entries.push_back(&entry);
  }
  const auto inner =
      std::ranges::max_element(entries, {}, [](const model::MapEntry* each) { return each->key.size(); });
  const auto outer = std::ranges::find(entries, partner.device, &model::MapEntry::device);
  if (inner == entries.end() || outer == entries.end() || (*inner)->device != torn.device) return std::nullopt;
  const std::vector<model::Argument> both{{"outer", quoted((*outer)->key)},
                                          {"device", (*outer)->device.str()},
                                          {"inner", quoted((*inner)->key)},
                                          {"other_device", (*inner)->device.str()}};
  Hypothesis found(code::kMapGap);
  found.add_evidence(
      90,
      {"The map has two entries for this weight: {outer} on {device}, and {inner}, which is inside it, "
       "on {other_device}. The weight went where the inner one says, and the hook, which the later entry of the map "
       "attached, brings inputs where the outer one says.",
       both});
  found.operands = {context.index_of(torn), context.index_of(partner)};
  found.origin = placement_of(torn.provenance);
  found.title = {"the device map puts {outer} on {device} and {inner} inside it on {other_device}", both};
  found.propose(FixKind::kMap, {"leave {inner} out of the device map, or give it the GPU of {outer}", both});
  return found;
}

}  // namespace

// The operand is registered in the model, and what placed the rest of the model did not reach it.
std::optional<Hypothesis> map_gap(const Context& context) {
  Hypothesis found(code::kMapGap);
  if (context.sentence_has("does not give any device for the following parameters")) {
    found.add_evidence(95, "accelerate compared the map with the model's parameters.");
    found.title = "the device map leaves parameters without a device";
    found.propose(FixKind::kMap, "add the modules that the error message names, or a \"\" entry for the rest");
    return found;
  }
  if (!context.is_mismatch() || context.model() == nullptr) return std::nullopt;
  if (auto left_out = left_out_of_call(context)) return left_out;
  if (auto left = left_behind(context)) return left;
  if (auto removed = hooks_removed(context)) return removed;
  if (auto replaced = replaced_adapter(context)) return replaced;
  if (const Operand* torn = is_torn_by_map(context); torn != nullptr && context.partner_of(*torn) != nullptr) {
    const Operand& partner = *context.partner_of(*torn);
    if (auto nested = nested_entries(context, *torn, partner)) return nested;
    found.add_evidence(
        85, {"The map itself put {name} on {device}, and the hook of its module brings inputs to {other_device}: "
             "two modules share this weight, and their entries disagree.",
             {{"name", name_of(*torn)}, {"device", torn->device.str()}, {"other_device", partner.device.str()}}});
    found.operands = {context.index_of(*torn), context.index_of(partner)};
    found.origin = placement_of(torn->provenance);
    const std::string shared = quoted(context.path_of(*torn));
    found.title = {"{name} is shared by modules that the map puts on different GPUs", {{"name", shared}}};
    found.propose(FixKind::kMap, {"give the modules that share {name} one GPU", {{"name", shared}}});
    return found;
  }
  for (const Operand& operand : context.operands()) {
    const Operand* partner = context.partner_of(operand);
    const std::string path = context.path_of(operand);
    const std::string module(model::parent_of(path));
    const Module* failing = context.failing_module();
    const bool followed = (operand.kind == OperandKind::kTemporary || operand.kind == OperandKind::kLocal) &&
                          (operand.device.is_host() || (failing != nullptr && failing->path == module));
    if (partner == nullptr || path.empty() || operand.device.is_meta()) continue;
    if (!is_of_model(operand) && !followed) continue;
    if (operand.device.is_accelerator() && partner->device.is_host()) continue;  // the other side is the late one
    if (is_sidecar(operand)) continue;
    Hypothesis here(code::kMapGap);
    weigh(context, operand, *partner, module, here);
    if (here.score <= found.score) continue;
    if (context.setting("zero_optimization") != nullptr || context.setting("offload") != nullptr) here.score -= 20;
    here.operands = {context.index_of(operand), context.index_of(*partner)};
    here.origin = placement_of(operand.provenance);
    if (here.title.empty())
      here.title = {"{name} on {device} belongs to {module}, which was never moved to {other_device}",
                    {{"name", name_of(operand)},
                     {"device", operand.device.str()},
                     {"module", module.empty() ? context.model()->type : module},
                     {"other_device", partner->device.str()}}};
    const Module* known = context.model()->find(module);
    if (known != nullptr && std::any_of(known->tensors.begin(), known->tensors.end(),
                                        [](const auto& tensor) { return tensor.is_buffer && !tensor.is_persistent; })) {
      here.add_evidence(5, "It holds a non-persistent buffer, which is not in the state dict.");
    }
    found = std::move(here);
  }
  return found.score > 0 ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace devsan::diagnose
