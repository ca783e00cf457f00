#include "diagnose/handed_on.h"

#include <algorithm>

#include "diagnose/predicates.h"

namespace devsan::diagnose {

using model::Event;
using model::Operand;

namespace {

/// The running function of the failing stack that made the move, before the line that it has come to; null where none did.
const model::Frame* mover_of(const Context& context, const Event& move) {
  const model::Frame* site = move.site();
  const auto& frames = context.failure().frames;
  const auto found = std::ranges::find_if(frames, [&](const model::Frame& frame) {
    return site != nullptr && frame.package.empty() && site->file == frame.file && site->function == frame.function &&
           site->span.line <= frame.span.line;
  });
  return found == frames.end() ? nullptr : &*found;
}

}  // namespace

const Event* handed_on(const Context& context, const Operand& moved, const Operand& stayed) {
  const Event* move = placement_of(moved.provenance);
  const Event* before = placement_of(stayed.provenance);
  if (move == nullptr || before == nullptr || is_weight(moved) || is_weight(stayed)) return nullptr;
  if (move->kind != model::EventKind::kMoved || move->from != stayed.device || !move->from.is_accelerator())
    return nullptr;
  const model::Frame* mover = mover_of(context, *move);
  if (!move->owner.is(model::owners::kProgram) || mover == nullptr) return nullptr;
  if (mover->module.empty() && last_part(mover->function) != "forward") return nullptr;
  // Both stages are parts of the module whose forward moves: a device that is wrong for all of it is another mistake.
  const auto devices = context.devices_below(mover->module);
  const auto holds = [&](const model::Device& device) { return std::ranges::find(devices, device) != devices.end(); };
  return holds(move->device) && holds(move->from) ? move : nullptr;
}

}  // namespace devsan::diagnose
