#include "diagnose/edits.h"

#include <cstdint>

#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::Confidence;
using model::Edit;
using model::Operand;
using model::Repair;
using model::RepairKind;

namespace {

/// Whether `name` can stand before ".device" in another line: a variable or attribute, not an expression.
bool is_reference(const std::string& name) {
  return !name.empty() && name.find_first_of(" ()[]{}+-*/%@=,:'\"") == std::string::npos;
}

std::uint64_t size_of(const Operand& operand) {
  if (operand.bytes > 0) return operand.bytes;
  std::uint64_t elements = 1;
  if (operand.shape) {
    for (const auto size : *operand.shape) elements *= static_cast<std::uint64_t>(size);
  }
  return elements;
}

}  // namespace

Repair create_with(const Scene& scene, const Operand& operand, const model::Event& made, const Operand& partner) {
  Repair repair{RepairKind::kCreationSite, "", std::nullopt, Confidence::kLikely};
  const model::Frame* site = made.written();
  const model::Frame* used = scene.failure().site();
  const bool same_function = site != nullptr && used != nullptr && site->file == used->file &&
                             site->function == used->function && site->span.line <= used->span.line;
  const std::string place = text_of(site);
  repair.text = "create " + quoted(operand.best_name()) + " on the device of " + quoted(partner.best_name()) +
                (place.empty() ? "" : " (" + place + ")");
  if (same_function && is_reference(partner.name)) {
    if (auto after = with_device(site->source, made.op, partner.name + ".device")) {
      repair.edit = Edit{site->file, site->span.line, site->source, std::move(*after)};
    }
  }
  return repair;
}

Repair move_at_use(const Scene& scene, const Operand& operand, const Operand& partner) {
  Repair repair{RepairKind::kUseSite, "", std::nullopt, Confidence::kLikely};
  repair.text =
      "move " + quoted(operand.best_name()) + " to the device of " + quoted(partner.best_name()) + " where they meet";
  const model::Frame* site = scene.failure().site();
  if (site != nullptr && is_reference(operand.name) && is_reference(partner.name)) {
    const std::string moved = operand.name + ".to(" + partner.name + ".device)";
    if (auto after = replace_word(site->source, operand.name, moved)) {
      repair.edit = Edit{site->file, site->span.line, site->source, std::move(*after)};
    }
  }
  return repair;
}

const Operand& smaller_of(const Operand& one, const Operand& other) {
  return size_of(other) < size_of(one) ? other : one;
}

}  // namespace devsan::diagnose
