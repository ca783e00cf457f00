#include "diagnose/handed_on.h"

#include <algorithm>

#include "diagnose/predicates.h"
#include "diagnose/source_text.h"

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

/// The program's own move of `moved` from the GPU where `stayed` still is; null where there is none.
const Event* moved_away(const Operand& moved, const Operand& stayed) {
  const Event* move = placement_of(moved.provenance);
  if (move == nullptr || placement_of(stayed.provenance) == nullptr || is_weight(moved) || is_weight(stayed)) {
    return nullptr;
  }
  const bool away = move->kind == model::EventKind::kMoved && move->from == stayed.device;
  return away && move->from.is_accelerator() && move->owner.is(model::owners::kProgram) ? move : nullptr;
}

}  // namespace

const Event* moved_without(const Context& context, const Operand& moved, const Operand& stayed) {
  const Event* move = moved_away(moved, stayed);
  const model::Frame* mover = move == nullptr ? nullptr : mover_of(context, *move);
  const bool here = mover != nullptr && mover == context.failure().site();
  return here && source_of(*move) == model::DeviceSource::kPeer ? move : nullptr;
}

const Event* handed_on(const Context& context, const Operand& moved, const Operand& stayed) {
  const Event* move = moved_away(moved, stayed);
  const model::Frame* mover = move == nullptr ? nullptr : mover_of(context, *move);
  if (mover == nullptr) return nullptr;
  if (mover->module.empty() && last_part(mover->function) != "forward") return nullptr;
  // Both stages are parts of the module whose forward moves: a device that is wrong for all of it is another mistake.
  const auto devices = context.devices_below(mover->module);
  const auto holds = [&](const model::Device& device) { return std::ranges::find(devices, device) != devices.end(); };
  return holds(move->device) && holds(move->from) ? move : nullptr;
}

}  // namespace devsan::diagnose
