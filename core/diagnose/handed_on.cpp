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

bool is_computed(const Operand& operand) {
  return !operand.provenance.empty() && (operand.provenance.front().kind == model::EventKind::kComputed ||
                                         operand.provenance.front().kind == model::EventKind::kMoved);
}

/// The program's own move of `moved` from the GPU where `stayed` still is; null where there is none.
const Event* moved_away(const Operand& moved, const Operand& stayed) {
  const Event* move = placement_of(moved.provenance);
  if (move == nullptr || placement_of(stayed.provenance) == nullptr || is_weight(moved) || is_weight(stayed)) {
    return nullptr;
  }
  const Event& placed = *placement_of(stayed.provenance);
  const bool younger = placed.kind == model::EventKind::kMade && placed.sequence > move->sequence;
  if (younger) return nullptr;  // made there behind the move: nothing has left it
  const bool away = move->kind == model::EventKind::kMoved && move->from == stayed.device;
  return away && move->from.is_accelerator() && move->owner.is(model::owners::kProgram) ? move : nullptr;
}

/// Whether an operand may be a result of the function in which `move` happened: something computed, or moved there as well.
bool is_from_function_of(const Event& move, const Operand& operand) {
  if (!is_computed(operand)) return false;
  const Event& first = operand.provenance.front();
  const model::Frame* site = first.site();
  const bool there = site != nullptr && move.site() != nullptr && site->file == move.site()->file &&
                     site->function == move.site()->function;
  return first.kind == model::EventKind::kComputed || there;
}

}  // namespace

bool is_of_returned_call(const Context& context, const Event& move) {
  const model::Frame* site = move.site();
  return site != nullptr && site->is_known() &&
         std::ranges::none_of(context.failure().frames, [&](const model::Frame& frame) {
           return frame.file == site->file && frame.function == site->function;
         });
}

const Event* moved_without(const Context& context, const Operand& moved, const Operand& stayed) {
  const Event* move = moved_away(moved, stayed);
  if (move == nullptr) return nullptr;
  const model::Frame* mover = mover_of(context, *move);
  const bool here = mover != nullptr && mover == context.failure().site();
  // A function that has returned gave both back, and moved one.
  const bool returned = is_of_returned_call(context, *move) && is_computed(moved) && is_from_function_of(*move, stayed);
  const model::DeviceSource source = source_of(*move);
  const bool follows = source == model::DeviceSource::kPeer || (returned && source == model::DeviceSource::kScalar);
  return (here || returned) && follows ? move : nullptr;
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
