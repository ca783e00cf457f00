#include "diagnose/causes.h"
#include "diagnose/edits.h"
#include "diagnose/moves.h"
#include "diagnose/predicates.h"
#include "diagnose/source_text.h"

#include <algorithm>

namespace devsan::diagnose {

using model::Event;
using model::FixKind;
using model::Operand;
using model::OperandKind;

namespace {

/// Whether the whole model is on `device`: there is no layer on another GPU that the cache could belong to.
bool is_all_on(const Context& context, const model::Device& device) {
  if (context.model() == nullptr) return false;
  const auto devices = context.model()->devices();
  return devices.size() == 1 && devices.front() == device;
}

/// Whether the program itself has put `operand`, which is no index, on the CPU.
bool is_put_on_host(const Operand& operand) {
  const Event* placed = placement_of(operand.provenance);
  return !operand.role.starts_with("ind") && placed != nullptr && is_brought_to_host(*placed) &&
         placed->owner.is(model::owners::kProgram);
}

}  // namespace

// Keys and values of earlier steps live with their layer. A hook that moves them, one allocation for all layers, or an
// index that stays with the inputs puts them apart.
std::optional<Hypothesis> kv_cache(const Context& context) {
  if (!context.is_mismatch()) return std::nullopt;
  const auto& operands = context.operands();
  const auto is_index = [](const Operand& operand) {
    return operand.role.starts_with("ind") || Context::is_called(operand, words::kv_cache::kIndices);
  };
  auto state = std::find_if(operands.begin(), operands.end(),
                            [&](const Operand& each) { return is_generation_state(each) && !is_index(each); });
  if (state == operands.end()) state = std::find_if(operands.begin(), operands.end(), is_generation_state);
  if (state == operands.end()) return std::nullopt;
  // Of hidden and cell state, or keys and values, the one that is not where everything else is.
  const Operand* alone = context.outnumbered();
  if (alone != nullptr && is_generation_state(*alone) && !is_index(*alone))
    state = operands.begin() + static_cast<std::ptrdiff_t>(context.index_of(*alone));
  const Operand* partner = context.partner_of(*state);
  if (partner == nullptr) return std::nullopt;
  Hypothesis found(code::kKvCache);
  found.operands = {context.index_of(*state), context.index_of(*partner)};
  if (is_index(*partner)) std::swap(found.operands[0], found.operands[1]);  // the index is what can follow
  const Event* placed = placement_of(state->provenance);
  found.origin = placed;
  found.add_evidence(state->kind == OperandKind::kCache ? 80 : 55,
                     {"{name} is generation state.", {{"name", name_of(*state)}}});
  if (placed != nullptr) {
    if (model::Message said = device_value_of(*placed); !said.empty()) {
      found.add_evidence(
          0, {"It was made on {value}{at}.", {{"value", quoted(device_text_of(*placed))}, {"at", at_text(*placed)}}});
      found.add_evidence(0, std::move(said));
    }
  }
  if (const Operand* along = moved_without(context, *state)) {
    found.add_evidence(15, {"{other} was moved to {device}{at}, {name} was not.",
                            {{"other", name_of(*along)},
                             {"device", along->device.str()},
                             {"at", at_text(*placement_of(along->provenance))},
                             {"name", name_of(*state)}}});
  }
  if (context.runs_file("cache_utils") ||
      context.runs_function({"reorder_cache", "_reorder_cache", "update", "_update_cache"})) {
    found.add_evidence(20, "The operation updates or reorders the cache.");
  }
  if (context.failure().phase == model::Phase::kGenerate) found.add_evidence(10, "It runs in generation.");
  if (is_put_on_host(*partner)) found.score -= 60;  // the state is where its layer is
  const bool moved_by_hook = placed != nullptr && placed->owner.is(model::owners::kAccelerate);
  const bool index = Context::is_called(*state, words::kv_cache::kIndices) || context.op_is({"index_select", "index"});
  const bool indexed = is_index(*partner);
  if (indexed) {
    found.add_evidence(15, {"{name} is an index into it.", {{"name", name_of(*partner)}}});
    found.propose(move_at_use(context, *partner, *state));
  }
  if (indexed || (index && !moved_by_hook)) {
    found.propose(FixKind::kUseSite,
                  "move the index to each layer's device, or keep it on the CPU: indices may be there");
  } else if (moved_by_hook) {
    found.add_evidence(15, {"accelerate's hook moved it{at}.", {{"at", at_text(*placed)}}});
    const bool listed = context.model() != nullptr && !context.model()->skip_keys.empty();
    if (!listed) found.add_evidence(5, "The hooks have no skip keys, so they move whatever is passed.");
    found.propose(
        FixKind::kConfiguration,
        {"load with from_pretrained({code}), or pass skip_keys={keys} to dispatch_model, and pass the cache by keyword",
         {{"code", std::string("device_map=...")}, {"keys", std::string("\"past_key_values\"")}}});
  } else if (placed != nullptr && placed->kind == model::EventKind::kLoaded &&
             placed->owner.setting.starts_with("map_location=")) {
    found.add_evidence(
        20, {"It was read from a file{at}, and {value} put all of it on {device}, whichever GPU each layer "
             "is on.",
             {{"at", at_text(*placed)}, {"value", quoted(placed->owner.setting)}, {"device", state->device.str()}}});
    found.propose(
        FixKind::kCreationSite,
        {"read it without map_location, which leaves each layer's keys and values where they were saved from, "
         "or move them to their layer's GPU afterwards{at}",
         {{"at", at_text(*placed)}}});
  } else if (const Operand* along = moved_without(context, *state)) {
    found.propose(
        FixKind::kCreationSite,
        {"move {name} where {other} is moved{at}",
         {{"name", name_of(*state)}, {"other", name_of(*along)}, {"at", at_text(*placement_of(along->provenance))}}});
  } else if (context.across_gpus() && is_all_on(context, partner->device)) {
    found.add_evidence(10, {"The whole model is on {device}.", {{"device", partner->device.str()}}});
    found.propose(
        FixKind::kCreationSite,
        "make the cache where the model is; where it is kept for several models, make the device part of its key");
  } else {
    found.propose(FixKind::kCreationSite,
                  "allocate the cache for each layer on that layer's device, from the device map");
  }
  found.title = {"{name} on {device} is generation state, but its layer is on {other_device}",
                 {{"name", name_of(*state)}, {"device", state->device.str()}, {"other_device", partner->device.str()}}};
  return found;
}

}  // namespace devsan::diagnose
