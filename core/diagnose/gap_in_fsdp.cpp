// Gaps in what FSDP manages.
#include "diagnose/gap.h"
#include "diagnose/predicates.h"

#include <algorithm>

namespace devsan::diagnose {

using model::Event;
using model::FixKind;
using model::Message;

namespace {

/// Whether the tensor was put in when the others had been placed. Of what fully_shard has sharded no move is known.
bool is_made_later(const Gap& gap) {
  const auto made = gap.operand.provenance.empty() ? 0 : gap.operand.provenance.front().sequence;
  const auto later_than = [&](auto sequence) {
    return std::ranges::any_of(gap.model().placements, [&](const Event& event) {
      return event.device.is_accelerator() && event.sequence > sequence;
    });
  };
  return made > 0 && later_than(decltype(made){0}) && !later_than(made);
}

}  // namespace

bool is_ignored_by_fsdp(const Gap& gap, Hypothesis& found) {
  if (!gap.never_moved || !gap.operand.ignored_at.is_known() || !gap.operand.device.is_host() || is_made_later(gap))
    return false;
  const std::string& root = gap.model().expression;
  const std::string path = root.empty() || gap.module.empty() ? gap.module : root + "." + gap.module;
  const std::vector<model::Argument> facts = {
      {"module", quoted(gap.module.empty() ? gap.operand.best_name() : gap.module)},
      {"place", text_of(&gap.operand.ignored_at)},
      {"code", path + ".to(torch.cuda.current_device())"}};
  found.add_evidence(90, {"FSDP was told at {place} what it has to ignore: it neither shards that nor moves it to the "
                          "GPU, and nothing else has moved {module}, which has never left the CPU.",
                          facts});
  found.propose(FixKind::kConfiguration,
                gap.module.empty()
                    ? Message{"move {module} to this rank's GPU by hand, before {place}", facts}
                    : Message{"move {module} to this rank's GPU by hand, before {place}: {code}", facts});
  return true;
}

bool is_added_to_sharded(const Gap& gap, Hypothesis& found) {
  if (!gap.operand.device.is_host() || !gap.never_moved || !is_sharded(gap.model()) || !is_on_gpu(gap.model()) ||
      std::ranges::any_of(gap.context.devices_below(gap.module), &model::Device::is_accelerator)) {
    return false;
  }
  found.add_evidence(75, {"fully_shard moved the parameters that the model had to the GPU; {module} has never left the "
                          "CPU: it was put in later, and FSDP neither moves it nor sums its gradients over the ranks.",
                          {{"module", gap.name}}});
  found.propose(FixKind::kConfiguration,
                {"put {module} in before fully_shard is called on the model, so that FSDP manages it as well",
                 {{"module", gap.name}}});
  return true;
}

}  // namespace devsan::diagnose
