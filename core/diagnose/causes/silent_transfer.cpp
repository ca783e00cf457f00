#include "diagnose/causes.h"

namespace devsan::diagnose {

using model::FixKind;

// Nothing fails: a copy between two GPUs arrives changed. Found by testing the links, whatever else is wrong.
std::optional<Hypothesis> silent_transfer(const Context& context) {
  Hypothesis found(code::kSilentTransfer);
  found.independent = true;
  found.severity = model::Severity::kWarning;
  for (const model::Link& link : context.facts().links) {
    if (link.tested && link.damaged) {
      const std::vector<model::Argument> way = {{"device", link.from.str()}, {"other_device", link.to.str()}};
      found.add_evidence(95, {"A test pattern that was copied from {device} to {other_device} arrived changed.", way});
      if (found.title.empty()) found.title = {"copies from {device} to {other_device} are corrupted", way};
      found.severity = model::Severity::kError;
    }
  }
  if (found.evidence.empty()) return std::nullopt;
  for (const model::Link& link : context.facts().links) {
    if (link.damaged && link.bytes > 0) {
      found.add_evidence(0, {"This program copied {n} byte from {device} to {other_device}.",
                             "This program copied {n} bytes from {device} to {other_device}.",
                             static_cast<long>(link.bytes),
                             {{"device", link.from.str()}, {"other_device", link.to.str()}}});
    }
  }
  found.propose(FixKind::kConfiguration, "turn off IOMMU/ACS on the host, then test the links again");
  found.propose(FixKind::kConfiguration,
                "copy through the host: NCCL_P2P_DISABLE=1, and no peer access in this program");
  return found;
}

}  // namespace devsan::diagnose
