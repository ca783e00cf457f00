#include "diagnose/causes.h"

namespace devsan::diagnose {

using model::RepairKind;

// Nothing fails: a copy between two GPUs arrives changed. Found by testing the links, whatever else is wrong.
std::optional<Hypothesis> silent_transfer(const Scene& scene) {
  Hypothesis found(code::kSilentTransfer);
  found.independent = true;
  found.severity = model::Severity::kWarning;
  for (const model::Link& link : scene.facts().links) {
    const std::string way = link.from.str() + " to " + link.to.str();
    if (link.tested && link.damaged) {
      found.saw(95, "A pattern that was copied from " + way + " did not arrive as it was sent.");
      if (found.title.empty()) found.title = "copies from " + way + " arrive damaged";
      found.severity = model::Severity::kError;
    }
  }
  if (found.evidence.empty()) return std::nullopt;
  for (const model::Link& link : scene.facts().links) {
    if (link.damaged && link.bytes > 0) {
      found.saw(0, "This program sent " + std::to_string(link.bytes) + " bytes over " + link.from.str() + " to " +
                       link.to.str() + ".");
    }
  }
  found.propose(RepairKind::kConfiguration, "switch the IOMMU/ACS off in the host's set-up, then test the links again");
  found.propose(RepairKind::kConfiguration,
                "copy through the host: NCCL_P2P_DISABLE=1, and no peer access in this program");
  return found;
}

}  // namespace devsan::diagnose
