#include "diagnose/handed_on.h"

#include <algorithm>

#include "diagnose/predicates.h"

namespace devsan::diagnose {

using model::Event;
using model::Operand;

namespace {

/// Whether it is of the function that fails, or of one that was called there, before.
bool is_by_failing_function(const Context& context, const Event& event) {
  const model::Frame* site = event.site();
  const model::Frame* fails = context.failure().site();
  return site != nullptr && fails != nullptr && site->file == fails->file && site->function == fails->function &&
         site->span.line <= fails->span.line;
}

}  // namespace

const Event* handed_on(const Context& context, const Operand& moved, const Operand& stayed) {
  const Event* move = placement_of(moved.provenance);
  const Event* before = placement_of(stayed.provenance);
  if (move == nullptr || before == nullptr || is_weight(moved) || is_weight(stayed)) return nullptr;
  if (move->kind != model::EventKind::kMoved || move->from != stayed.device || !move->from.is_accelerator())
    return nullptr;
  if (!move->owner.is(model::owners::kProgram) || !is_by_failing_function(context, *move)) return nullptr;
  // Both stages are parts of the module that runs: a device that is wrong for all of it is another mistake.
  const model::Module* module = context.failing_module();
  if (module == nullptr || !stands_in_module(context)) return nullptr;
  const auto devices = context.devices_below(module->path);
  const auto holds = [&](const model::Device& device) { return std::ranges::find(devices, device) != devices.end(); };
  return holds(move->device) && holds(move->from) ? move : nullptr;
}

}  // namespace devsan::diagnose
