#include "diagnose/before_move.h"
#include "diagnose/causes.h"
#include "diagnose/dropped_move.h"
#include "diagnose/edits.h"
#include "diagnose/host_only.h"
#include "diagnose/moves.h"
#include "diagnose/predicates.h"
#include "diagnose/source_text.h"
#include "diagnose/unmoved_model.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace devsan::diagnose {

using model::Confidence;
using model::Event;
using model::FixKind;
using model::Message;
using model::Operand;
using model::OperandKind;
using model::SentenceKind;

namespace {

/// Whether one of those has placed it who move the batches of a loader, too.
bool moves_batches(const Operand& operand) {
  const Event* placed = placement_of(operand.provenance);
  return placed != nullptr && (placed->owner.is("lightning") || placed->owner.is("pytorch_lightning") ||
                               placed->owner.mechanism == "Accelerator.prepare");
}

/// What Accelerator.prepare was not given: a loader of batches, a module with weights of its own, such as a loss.
void tell_of_unprepared(const Operand& operand, const Operand& partner, Hypothesis& found) {
  const Event* placed = placement_of(operand.provenance);
  const Event* prepared = placement_of(partner.provenance);
  if (placed == nullptr || prepared == nullptr || prepared->owner.mechanism != "Accelerator.prepare") return;
  const Message at = at_text(*prepared);
  if (placed->owner.is(model::owners::kDataLoader)) {
    found.add_evidence(15, {"The loader that it comes from was not passed to accelerator.prepare{at}: that moves the "
                            "batches of the loaders that it is given.",
                            {{"at", at}}});
    found.propose(FixKind::kCreationSite, {"pass the loader to accelerator.prepare as well{at}", {{"at", at}}});
  } else if (Context::at_construction(*placed)) {
    found.add_evidence(
        15, {"The object in whose constructor it was made was not passed to accelerator.prepare{at}.", {{"at", at}}});
    found.propose(FixKind::kCreationSite,
                  "pass that module to accelerator.prepare as well, or move it to "
                  "accelerator.device before the optimizer is built");
  }
}

/// A tensor on the host, and what it meets on a GPU.
struct Pair {
  const Operand& operand;
  const Operand& partner;
  const Event* placed;    ///< that put the operand where it is; null where it is not known
  const Event* dropped;   ///< a move whose result was thrown away
  const Event* snapshot;  ///< the move of the model that came after its weights were copied
  bool attribute;
  bool kept;  ///< by an object that is no module: a callback's, a trainer's
};

/// Whether a factory of the program made it, and not of random numbers, which are data.
bool is_constant(const Event& placed) {
  return placed.kind == model::EventKind::kMade && !placed.op.empty() && !wraps_host_memory(placed) &&
         placed.owner.is(model::owners::kProgram) && placed.op.find("rand") == std::string::npos;
}

/// The tensor on whose device it was made: "lengths" of `device=lengths.device`; "" where there is none.
std::string followed_by(const Event& placed) {
  constexpr std::string_view kDevice = ".device";
  const std::string text = device_text_of(placed);
  const bool follows = placed.kind == model::EventKind::kMade && source_of(placed) == model::DeviceSource::kPeer;
  if (!follows || !text.ends_with(kDevice)) return "";
  const std::string peer = text.substr(0, text.size() - kDevice.size());
  return peer == "self" ? "" : peer;
}

/// Why the operand is on the host still.
void tell_why(const Context& context, const Pair& pair, Hypothesis& found) {
  const auto& [operand, partner, placed, dropped, snapshot, attribute, kept] = pair;
  const Message name = name_of(operand);
  const Message at = placed == nullptr ? Message() : at_text(*placed);
  if (attribute && dropped != nullptr) {
    found.add_evidence(30, {"{name} is held by an object that is not a module.", {{"name", name}}});
  } else if (moves_batches(partner) && !is_weight(partner) && !operand.left_in.empty() && operand.moved_part.empty()) {
    found.add_evidence(
        80,
        {"{name} is {part}, of an object whose class has no `to`: {owner} moves tensors, containers "
         "and what has a `to`, and left it on the CPU.",
         {{"name", name}, {"part", quoted(operand.left_in)}, {"owner", placement_of(partner.provenance)->owner.name}}});
    found.propose(FixKind::kCreationSite, "give its class a method `to(device)` that moves its tensors and returns it");
  } else if (!operand.moved_part.empty()) {
    const std::vector<model::Argument> both = {
        {"name", name}, {"part", quoted(operand.left_in)}, {"other", quoted(operand.moved_part)}};
    const bool itself = operand.name == operand.left_in;
    found.add_evidence(
        75, {itself ? "{name} is on the CPU; {other} beside it is on a GPU: what moved the one has not moved the other."
                    : "{name} is {part}, on the CPU; {other} beside it is on a GPU: what moved the one has not moved "
                      "the other.",
             both});
    if (operand.left_in.find('[') != std::string::npos || operand.kind == OperandKind::kInput) {
      found.propose(FixKind::kCreationSite, "move everything that the batch holds: its lists and dictionaries, too");
    } else {
      found.propose(FixKind::kCreationSite, {"move {part} as well, where {other} is moved", {both[1], both[2]}});
    }
  } else if (snapshot != nullptr) {
    found.add_evidence(80, {"{name} is a copy of the model's weights{at}, from before they were moved to "
                            "{other_device}{to}.",
                            {{"name", name},
                             {"at", at_text(operand.provenance.front())},
                             {"other_device", partner.device.str()},
                             {"to", at_text(*snapshot)}}});
    found.propose(FixKind::kCreationSite,
                  {"copy the weights after the model is moved{to}", {{"to", at_text(*snapshot)}}});
  } else if (attribute && placed != nullptr && is_brought_to_host(*placed)) {
    found.add_evidence(75, {"{name} was moved to the CPU{at}, and is kept there.", {{"name", name}, {"at", at}}});
    found.propose(FixKind::kCreationSite,
                  {"keep {name} where it is used, and move a copy to the CPU", {{"name", name}}});
  } else if (attribute && (placed == nullptr || !context.in_failing_call(*placed))) {
    found.add_evidence(
        65, {"{name} is kept on the CPU by an object that is not a module{at}: moving the model does not move it.",
             {{"name", name}, {"at", at}}});
  } else if (kept) {
    found.add_evidence(65, {"{name} is {path}, kept on the CPU by an object that is not a module: moving the model "
                            "does not move it.",
                            {{"name", name}, {"path", quoted(operand.kept_as)}}});
  } else if (came_with_data(operand, placed)) {
    if (operand.copies.empty()) {
      found.add_evidence(70, {"{name} came with the data, and nothing has moved it from the CPU.", {{"name", name}}});
    } else {
      found.add_evidence(70, {"{name} came with the data, on the CPU.", {{"name", name}}});
    }
  } else if (placed != nullptr && wraps_host_memory(*placed)) {
    found.add_evidence(70, {"{name} shares memory with NumPy{at}, which is host memory, and nothing has moved it.",
                            {{"name", name}, {"at", at}}});
  } else if (placed != nullptr && is_brought_to_host(*placed)) {
    found.add_evidence(50, {"{name} was moved to the CPU{at}.", {{"name", name}, {"at", at}}});
  } else if (placed != nullptr && is_read_from_checkpoint(*placed)) {
    found.add_evidence(65, {"{name} was read from a checkpoint to the CPU{at}, and nothing has moved it.",
                            {{"name", name}, {"at", at}}});
  } else if (const std::string peer = placed == nullptr ? "" : followed_by(*placed); !peer.empty()) {
    found.add_evidence(60, {"{name} was created on the device of {peer}{at}; {peer} is on the CPU.",
                            {{"name", name}, {"at", at}, {"peer", quoted(peer)}}});
    found.propose(FixKind::kCreationSite,
                  {"move {peer} to {other_device} where it comes from: what is created on its device follows",
                   {{"peer", quoted(peer)}, {"other_device", partner.device.str()}}});
  } else if (placed != nullptr && placed->op.empty() && placed->kind == model::EventKind::kMade) {
    found.add_evidence(55, {"{name} was computed on the CPU{at}, from CPU tensors.", {{"name", name}, {"at", at}}});
  } else if (placed != nullptr && !context.made_for_use(*placed) && context.failure().kind != SentenceKind::kGradient) {
    if (operand.copies.empty()) {
      found.add_evidence(60,
                         {"{name} was made on the CPU outside of the call that failed{at}, and nothing has moved it.",
                          {{"name", name}, {"at", at}}});
    } else {
      found.add_evidence(
          60, {"{name} was made on the CPU outside of the call that failed{at}.", {{"name", name}, {"at", at}}});
    }
  }
  if (placed != nullptr && placed->owner.is(model::owners::kDataLoader)) {
    found.add_evidence(15, "It is from a DataLoader, whose tensors are on the CPU.");
  }
  if (dropped != nullptr) {
    tell_of_dropped(operand, *dropped, found);
  } else if (!operand.copies.empty()) {
    const Event& copy = operand.copies.front();
    found.add_evidence(60, {"A copy of it was moved to {device}{at}, but this name still refers to the original.",
                            {{"device", copy.device.str()}, {"at", at_text(copy)}}});
    found.propose(FixKind::kCreationSite, {"bind {name} after the move, not before it", {{"name", name}}});
  }
}

/// Where the two are brought together, unless the reason has said so.
void propose_moves(const Context& context, const Pair& pair, bool told, Hypothesis& found) {
  const auto& [operand, partner, placed, dropped, snapshot, attribute, kept] = pair;
  const Message name = name_of(operand);
  const Message at = placed == nullptr ? Message() : at_text(*placed);
  // A table of numbers goes to the index, once; rows that are kept on the host stay, and the index comes.
  const bool table = operand.shape && operand.shape->size() == 1;
  if (context.failure().kind == SentenceKind::kIndex && !table) {
    const Event* chosen = placement_of(partner.provenance);
    if (chosen != nullptr && !device_text_of(*chosen).empty()) {
      found.add_evidence(10, {"{name} was put on {device} by one device value, {value}{at}.",
                              {{"name", name_of(partner)},
                               {"device", partner.device.str()},
                               {"value", quoted(device_text_of(*chosen))},
                               {"at", at_text(*chosen)}}});
    }
    found.title = {"{other} on {other_device} indexes {name}, which is on the CPU",
                   {{"name", name}, {"other", name_of(partner)}, {"other_device", partner.device.str()}}};
    if (told) {
      found.propose(FixKind::kCreationSite,
                    {"give another value for {argument}: {name} is then made on {other_device}{at}",
                     {{"argument", quoted(device_text_of(*placed))},
                      {"name", name},
                      {"other_device", partner.device.str()},
                      {"at", at}}});
    }
    found.propose(move_at_use(context, partner, operand));
  } else if (placed != nullptr && is_brought_to_host(*placed) && snapshot == nullptr && !attribute) {
    found.propose(move_at_use(context, operand, partner));
    found.propose(FixKind::kCreationSite, {"leave {name} on {other_device}{at}, without the move to the CPU",
                                           {{"name", name}, {"other_device", partner.device.str()}, {"at", at}}});
  } else {
    if (operand.copies.empty() && placed != nullptr && is_constant(*placed) && !came_with_data(operand, placed)) {
      found.propose(create_with(context, operand, *placed, partner));
    } else if (placed != nullptr && is_read_from_checkpoint(*placed) && operand.copies.empty()) {
      found.propose(load_to(operand, partner, *placed));
    } else if (snapshot == nullptr && operand.moved_part.empty() && context.failure().kind != SentenceKind::kGradient &&
               !move_before_call(context, operand, partner)) {
      found.propose(
          FixKind::kCreationSite,
          attribute || kept
              ? "create or load it on the device of the tensors that it is used with, or move it with the model"
              : "move the data once, where it enters: the collate function, the loop's first line or "
                "the wrapper");
    }
    found.propose(move_at_use(context, operand, partner));
  }
}

}  // namespace

// The edge between the host and the GPU: an input that nobody moved, a second name that was bound before the move, NumPy, a
// collective on a host tensor. And a move whose result was dropped, between two GPUs as well.
std::optional<Hypothesis> host_boundary(const Context& context) {
  if (const HostOnly cause = host_only(context.failure().kind); cause != nullptr) return cause(context);
  if (auto dropped = dropped_between_gpus(context)) return dropped;
  if (!context.host_meets_gpu()) return std::nullopt;
  std::optional<Hypothesis> best = unmoved_model(context);
  for (const Operand& operand : context.operands()) {
    if (!operand.device.is_host() || is_weight(operand) || operand.kind == OperandKind::kOptimizerState ||
        !operand.registered || !context.path_of(operand).empty()) {  // made of a weight: the model's part is not there
      continue;
    }
    const bool attribute = operand.kind == OperandKind::kAttribute;
    const Event* placed = placement_of(operand.provenance);
    const bool taken_off = placed != nullptr && is_brought_to_host(*placed);
    const Event* dropped = dropped_move_of(context, operand);
    // A module's: whether it is registered is the question, unless the program took it off a GPU, or meant to move it.
    if (attribute && !operand.holder.empty() && !taken_off && dropped == nullptr) continue;
    if (operand.kind == OperandKind::kGlobal && operand.copies.empty()) continue;  // a constant: not data
    const Operand* partner = context.partner_of(operand);
    if (partner == nullptr || is_sidecar(operand) || is_generation_state(operand)) continue;
    Hypothesis found(code::kHostBoundary);
    found.origin = placed;
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    found.title = {"{name} is still on the CPU, {other} is on {other_device}",
                   {{"name", name_of(operand)}, {"other", name_of(*partner)}, {"other_device", partner->device.str()}}};
    const bool kept = operand.kind == OperandKind::kInput && !operand.kept_as.empty();
    const Pair pair{operand, *partner, placed, dropped, moved_after_snapshot(operand, *partner), attribute, kept};
    tell_why(context, pair, found);
    if (found.score == 0) continue;
    const bool told = placed != nullptr && placed->kind == model::EventKind::kMade && !placed->device_value.empty();
    if (told) found.add_evidence(0, device_value_of(*placed));
    tell_of_unprepared(operand, *partner, found);
    propose_moves(context, pair, told, found);
    if (!best || found.score > best->score) best = std::move(found);
  }
  return best;
}

}  // namespace devsan::diagnose
