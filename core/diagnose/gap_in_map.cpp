// Gaps in what a device map and its hooks cover.
#include "diagnose/gap.h"

#include <algorithm>

namespace devsan::diagnose {

using model::Confidence;
using model::FixKind;
using model::Message;
using model::Module;

namespace {

/// Whether the map could have named the module. The root's own tensors are not in one.
bool is_mapped(const Gap& gap) {
  return !gap.model().device_map.empty() && !gap.module.empty() && !is_beside_map(gap) && !is_cut_by_map(gap);
}

/// An entry for a parameter of `module`, where an entry for the module was needed.
const model::MapEntry* entry_for_parameter(const model::Model& model, std::string_view module) {
  for (const model::MapEntry& entry : model.device_map) {
    if (model::parent_of(entry.key) == module && model.find(entry.key) == nullptr) return &entry;
  }
  return nullptr;
}

/// Whether the call went through the forward of `module`, where its hook works.
bool went_through(const Context& context, const Module& module) {
  return std::ranges::any_of(context.failure().frames,
                             [&](const model::Frame& frame) { return frame.module == module.path; });
}

}  // namespace

bool is_uncovered(const Gap& gap, Hypothesis& found) {
  if (!is_mapped(gap) || entry_for(gap.model().device_map, gap.module) != nullptr) return false;
  found.add_evidence(95, {"No entry of the device map covers {module}.", {{"module", gap.name}}});
  if (const auto* entry = entry_for_parameter(gap.model(), gap.module)) {
    found.add_evidence(0, {"The map names the parameter {name}; it has to name modules.", {{"name", entry->key}}});
  }
  found.propose(
      FixKind::kMap,
      {"add the module to the map: {code}", {{"code", "\"" + gap.module + "\": \"" + gap.partner.device.str() + "\""}}},
      Confidence::kCertain);
  return true;
}

bool is_added_to_map(const Gap& gap, Hypothesis& found) {
  if (!is_mapped(gap) || !gap.context.is_hooked()) return false;
  const Module* hooked = gap.context.hooked_parent(gap.module);
  if (hooked != nullptr && !hooked->path.empty()) return false;
  found.add_evidence(
      88, {"The map covers {module}, but neither it nor a parent module has a hook: it was added after dispatch.",
           {{"module", gap.name}}});
  found.propose(FixKind::kMap, "dispatch the model again after the module was replaced");
  return true;
}

bool is_call_past_hook(const Gap& gap, Hypothesis& found) {
  const Module* hooked = gap.context.hooked_parent(gap.module);
  if (hooked == nullptr || gap.context.failing_module() == nullptr || went_through(gap.context, *hooked) ||
      !gap.operand.device.is_host()) {
    return false;
  }
  const model::Hook& hook = hooked->hooks.front();
  found.add_evidence(hook.offload || hook.type.find("Offload") != std::string::npos ? 85 : 65,
                     {"The hook that moves {module} to the GPU runs in its forward, but the call bypassed forward.",
                      {{"module", hooked->path.empty() ? Message("the model") : Message(hooked->path)}}});
  found.propose(FixKind::kConfiguration, "call the hooked module itself, not a part of it, or place that part by hand");
  return true;
}

}  // namespace devsan::diagnose
