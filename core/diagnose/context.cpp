#include "diagnose/context.h"

#include <algorithm>

#include "diagnose/source_text.h"

// The operands, and what kind of mismatch they make.

namespace devsan::diagnose {

using model::Device;
using model::DeviceSource;
using model::Event;
using model::EventKind;
using model::Operand;
namespace owners = model::owners;

bool Context::is_mismatch() const { return across_gpus() || host_meets_gpu() || has_meta(); }

bool Context::across_gpus() const {
  const Device* first = nullptr;
  for (const Operand& operand : operands()) {
    if (!operand.device.is_accelerator()) continue;
    if (first == nullptr) first = &operand.device;
    if (*first != operand.device) return true;
  }
  return false;
}

bool Context::host_meets_gpu() const {
  const auto has = [&](auto test) {
    return std::any_of(operands().begin(), operands().end(), [&](const Operand& each) { return test(each.device); });
  };
  return has([](const Device& device) { return device.is_host(); }) &&
         has([](const Device& device) { return device.is_accelerator(); });
}

bool Context::has_meta() const {
  return std::any_of(operands().begin(), operands().end(), [](const Operand& each) { return each.device.is_meta(); });
}

bool Context::op_is(std::initializer_list<std::string_view> names) const {
  const auto op = short_op(failure().op);
  return std::find(names.begin(), names.end(), op) != names.end();
}

bool Context::sentence_has(std::string_view words) const { return failure().sentence.find(words) != std::string::npos; }

const Operand* Context::partner_of(const Operand& operand) const {
  const Operand* best = nullptr;
  for (const Operand& other : operands()) {
    if (other.device == operand.device || !other.device.is_known()) continue;
    // One that the source or the model names says more than one of torch's own.
    const bool named = !other.name.empty() || !other.qualified_name.empty();
    const bool best_named = best != nullptr && (!best->name.empty() || !best->qualified_name.empty());
    if (best == nullptr || (named && !best_named) || (named == best_named && other.bytes > best->bytes)) best = &other;
  }
  return best;
}

const Operand* Context::outnumbered() const {
  const Operand* alone = nullptr;
  for (const Operand& operand : operands()) {
    const auto together = std::count_if(operands().begin(), operands().end(),
                                        [&](const Operand& other) { return other.device == operand.device; });
    if (together == 1 && alone != nullptr) return nullptr;  // everybody is somewhere else
    if (together == 1) alone = &operand;
  }
  return operands().size() > 2 ? alone : nullptr;
}

const Operand* Context::alone_in_statement() const {
  const auto& around = failure().around;
  const Operand* alone = nullptr;
  for (const Operand& operand : operands()) {
    if (std::find(around.begin(), around.end(), operand.device) != around.end()) continue;
    if (alone != nullptr) return nullptr;
    alone = &operand;
  }
  if (alone == nullptr || around.empty()) return nullptr;
  const bool together =
      std::all_of(around.begin(), around.end(), [&](const Device& each) { return each == around.front(); });
  return together && operands().size() > 1 ? alone : nullptr;
}

std::size_t Context::index_of(const Operand& operand) const {
  return static_cast<std::size_t>(&operand - operands().data());
}

std::string Context::path_of(const Operand& operand) const {
  if (!operand.qualified_name.empty()) return operand.qualified_name;
  // Introspection names what a computed operand followed where it is a tensor of the model.
  for (const Event& event : operand.provenance) {
    if (event.kind == EventKind::kComputed && model() != nullptr &&
        model()->find(model::parent_of(event.followed)) != nullptr && !model::parent_of(event.followed).empty()) {
      return event.followed;
    }
  }
  return "";
}

bool Context::is_called(const Operand& operand, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return operand.name.find(word) != std::string::npos || operand.qualified_name.find(word) != std::string::npos;
  });
}

bool Context::is_placed_by_map(const Operand& operand) const {
  if (const Event* placed = placement_of(operand.provenance)) {
    if (source_of(*placed) == DeviceSource::kMap || placed->owner.is(owners::kAccelerate)) return true;
    if (placed->owner.setting.starts_with("device_map")) return true;
    if (placed->owner.is_known()) return false;
  }
  const std::string path = path_of(operand);
  if (path.empty() || model() == nullptr) return false;
  const auto* entry = model::entry_for(model()->device_map, path);
  return entry != nullptr && entry->device == operand.device;
}

}  // namespace devsan::diagnose
