#include "diagnose/causes.h"
#include "diagnose/edits.h"
#include "diagnose/hooks_removed.h"
#include "diagnose/predicates.h"
#include "diagnose/results.h"
#include "diagnose/source_text.h"

#include <algorithm>

namespace devsan::diagnose {

using model::Device;
using model::DeviceSource;
using model::Event;
using model::FixKind;
using model::Module;
using model::Operand;

namespace {

bool holds(const std::vector<Device>& devices, const Device& device) {
  return std::find(devices.begin(), devices.end(), device) != devices.end();
}

/// Placed by one device value of the program: not the map's doing.
bool is_own(const Operand& operand) {
  const Event* placed = placement_of(operand.provenance);
  if (placed == nullptr) return false;
  const auto source = source_of(*placed);
  return source == DeviceSource::kScalar || source == DeviceSource::kLiteral || source == DeviceSource::kDefault;
}

/// An element of a list: "model.layers.2", not "model.layers.2.self_attn".
bool is_element(std::string_view path) {
  const std::string_view parent = model::parent_of(path);
  return is_block(path.substr(parent.empty() ? 0 : parent.size() + 1));
}

/// What has to stay whole for `cut` to do so and the residuals around it: the module that the model's own list names, or
/// the element of a list of blocks.
const Module& whole_around(const Context& context, const Module& cut) {
  const Module* element = nullptr;
  for (std::string_view path = cut.path; !path.empty(); path = model::parent_of(path)) {
    const Module* around = context.model()->find(path);
    if (around == nullptr || around->is_container) continue;
    if (around->no_split) return *around;
    if (element == nullptr && is_element(path)) element = around;
  }
  return element == nullptr ? cut : *element;
}

}  // namespace

// Children of one block are on several devices, and `+`, cat or a parameter of the block itself joins them. No hook
// stands there, because it is no module. A program that places the parts itself means to: it has no map to change.
std::optional<Hypothesis> split_block(const Context& context) {
  if (!context.across_gpus() || !context.has_map()) return std::nullopt;
  const Module* block = context.failing_module();
  if (block == nullptr || block->is_container || !stands_in_module(context)) return std::nullopt;
  const Operand* first = nullptr;
  for (const Operand& operand : context.operands()) {
    if (operand.device.is_accelerator() && (first == nullptr || operand.offending)) first = &operand;
  }
  const Operand* partner = context.partner_of(*first);
  if (partner == nullptr) return std::nullopt;
  const auto devices = context.devices_below(block->path);
  const auto gpus =
      std::count_if(devices.begin(), devices.end(), [](const Device& each) { return each.is_accelerator(); });

  Hypothesis found(code::kSplitBlock);
  found.operands = {context.index_of(*first), context.index_of(*partner)};
  const std::string name = block->path.empty() ? block->type : block->path;
  if (gpus > 1 && holds(devices, first->device) && holds(devices, partner->device)) {
    found.add_evidence(55, {"The parts of {module} are on several GPUs, and the operation is in its own forward.",
                            {{"module", name}}});
  } else if (context.is_placed_by_map(*first) && context.is_placed_by_map(*partner) && is_block(block->path)) {
    found.add_evidence(45,
                       {"{module} combines results of two parts of the model that the map put on different devices.",
                        {{"module", name}}});
  } else {
    return std::nullopt;
  }
  if (context.is_placed_by_map(*first) && context.is_placed_by_map(*partner)) {
    found.add_evidence(20, "Both operands are on the device that the map gave to the module that computed them.");
  }
  const auto owns = [&](const Operand& operand) {
    return model::parent_of(operand.qualified_name) == block->path && !operand.qualified_name.empty();
  };
  if (owns(*first) || owns(*partner))
    found.add_evidence(10, "One of them belongs to the block itself, not to a submodule.");
  if (is_block(block->path)) {
    found.add_evidence(15, {"{module} is one of a sequence of blocks: the split is inside it, not between two blocks.",
                            {{"module", name}}});
  } else if (!block->path.empty() || !context.has_map()) {
    found.score -= 20;
  }
  const auto comes_from_elsewhere = [&](const Operand& operand) {
    return is_own(operand) && !is_result_in_cut_block(context, operand);
  };
  if (comes_from_elsewhere(*first) || comes_from_elsewhere(*partner)) found.score -= 50;
  // Of the whole model only what its parts computed is split; a mask came with the batch.
  const auto came_in = [&](const Operand& operand) {
    return !context.is_placed_by_map(operand) && placement_of(operand.provenance) != nullptr &&
           part_of_result(operand) == nullptr && !owns(operand);
  };
  if (block->path.empty() && context.has_map() && (came_in(*first) || came_in(*partner))) found.score -= 50;
  if (disagreeing_hook(context) != nullptr) found.score -= 40;
  if (hooks_removed(context)) found.score -= 60;  // with its hooks the module would be given what it needs
  if (is_generation_state(*first) || is_generation_state(*partner) || is_sidecar(*first) || is_sidecar(*partner)) {
    found.score -= 40;
  }
  if (is_loss_boundary(context)) found.score -= 40;
  found.title = {"the device map splits {module} ({type}): {name} is on {device}, {other} on {other_device}",
                 {{"module", name},
                  {"type", block->type},
                  {"name", name_of(*first)},
                  {"device", first->device.str()},
                  {"other", name_of(*partner)},
                  {"other_device", partner->device.str()}}};
  if (block->path.empty()) {  // the whole model: nothing that could be kept together
    const Operand& small = smaller_of(*first, *partner);
    found.propose(FixKind::kMap, "map the parts whose results are combined to one GPU", model::Confidence::kPossible);
    found.propose(move_at_use(context, small, &small == first ? *partner : *first));
    return found;
  }
  const Module& whole = whole_around(context, *block);
  found.propose(FixKind::kConfiguration,
                {"keep the block whole: no_split_module_classes=[\"{type}\"], or _no_split_modules of the model",
                 {{"type", whole.type}}});
  found.propose(FixKind::kMap, {"map {key} as one entry", {{"key", "\"" + whole.path + "\""}}});
  return found;
}

}  // namespace devsan::diagnose
