#include "diagnose/causes.h"
#include "diagnose/signs.h"

namespace devsan::diagnose {

using model::Event;
using model::Operand;
using model::RepairKind;

// An adapter or the state of a quantised weight stands beside a weight and has to be where that is.
std::optional<Hypothesis> sidecar_state(const Scene& scene) {
  if (!scene.is_mismatch()) return std::nullopt;
  for (const Operand& operand : scene.operands()) {
    if (!is_sidecar(operand)) continue;
    const Operand* partner = scene.partner_of(operand);
    if (partner == nullptr) continue;
    Hypothesis found("DV109");
    const Event* placed = placement_of(operand.trail);
    found.origin = placed;
    found.operands = {scene.index_of(operand), scene.index_of(*partner)};
    found.saw(65, quoted(operand.best_name()) + " is an adapter's weight or the state of a quantised one.");
    if (!operand.beside.empty()) {
      if (operand.beside_device == operand.device) {
        found.score -= 40;
      } else {
        found.saw(30, "It stands beside " + operand.beside + ", which is on " + operand.beside_device.str() + ".");
      }
    }
    if (placed != nullptr && placed->owner.is_known()) {
      found.saw(5, "It was placed by " + text_of(placed->owner) + at_text(*placed) + ".");
    }
    const std::string base = operand.beside.empty() ? "the weight that it stands beside" : operand.beside;
    const std::string place = operand.beside_device.is_known() ? operand.beside_device.str() : partner->device.str();
    found.title = scene.text_of(operand) + " stands beside a weight on " + place;
    found.propose(RepairKind::kConfiguration,
                  "add the adapter before the model is dispatched, or move it by the library's own method");
    found.propose(RepairKind::kCreationSite, "create it on the device of " + base + " (" + place + ")");
    return found;
  }
  return std::nullopt;
}

}  // namespace devsan::diagnose
