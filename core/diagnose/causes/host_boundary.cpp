#include "diagnose/before_move.h"
#include "diagnose/causes.h"
#include "diagnose/edits.h"
#include "diagnose/moves.h"
#include "diagnose/predicates.h"
#include "diagnose/source_text.h"

#include <algorithm>

namespace devsan::diagnose {

using model::Confidence;
using model::Event;
using model::FixKind;
using model::Message;
using model::Operand;
using model::OperandKind;
using model::SentenceKind;

namespace {

std::optional<Hypothesis> numpy(const Context& context) {
  Hypothesis found(code::kHostBoundary);
  found.add_evidence(70, "NumPy reads host memory only.");
  found.title = "a GPU tensor is passed to NumPy";
  if (!context.operands().empty()) {
    const Operand& operand = context.operands().front();
    found.operands = {0};
    found.title = {"{name} on {device} is passed to NumPy",
                   {{"name", name_of(operand)}, {"device", operand.device.str()}}};
    found.origin = placement_of(operand.provenance);
    if (follows_default_device(context, operand)) found.score -= 40;
  }
  found.propose(FixKind::kUseSite, "convert at the consumer: `.detach().cpu().numpy()`, outside of hot loops");
  return found;
}

/// A function that reads an argument on the host, whatever the others are: lengths of sequences, sections of a split.
std::optional<Hypothesis> read_on_host(const Context& context) {
  Hypothesis found(code::kHostBoundary);
  found.add_evidence(90, "The function reads this argument on the host, and does not copy it there.");
  found.title = "a GPU tensor is passed where a CPU tensor is required";
  for (const Operand& operand : context.operands()) {
    if (!operand.offending) continue;
    found.operands = {context.index_of(operand)};
    found.title = {"{name} on {device} is passed where a CPU tensor is required",
                   {{"name", name_of(operand)}, {"device", operand.device.str()}}};
    found.origin = placement_of(operand.provenance);
    if (found.origin == nullptr || found.origin->kind != model::EventKind::kLoaded) continue;
    found.add_evidence(
        5, {"{name} was read from a checkpoint to {device}{at}: `map_location` moves all tensors of the file.",
            {{"name", name_of(operand)}, {"device", operand.device.str()}, {"at", at_text(*found.origin)}}});
    found.propose(FixKind::kCreationSite,
                  "read it with map_location=\"cpu\": what is used on a GPU is moved there later");
  }
  found.propose(FixKind::kCreationSite, "leave it on the CPU: do not move it with the rest of the batch");
  found.propose(FixKind::kUseSite, "copy it to the CPU for this call: `.cpu()`, which waits for the GPU");
  return found;
}

/// A worker of a data loader, or another child, that was forked from a process that had used CUDA.
std::optional<Hypothesis> forked() {
  Hypothesis found(code::kHostBoundary);
  found.add_evidence(90, "A forked process has no CUDA of its own: the driver's state is its parent's.");
  found.title = "a worker process that was forked uses a GPU";
  found.propose(FixKind::kCreationSite,
                "keep what the worker returns on the CPU, and move each batch in the loop that reads it");
  found.propose(FixKind::kConfiguration,
                "load in the process that computes (num_workers=0), or start the workers afresh: "
                "multiprocessing_context=\"spawn\"");
  return found;
}

std::optional<Hypothesis> collective(const Context& context) {
  if (!context.sentence_has("No backend type associated with device type cpu") &&
      !context.sentence_has("Tensors must be CUDA and dense")) {
    return std::nullopt;
  }
  Hypothesis found(code::kHostBoundary);
  found.add_evidence(90, "NCCL supports only GPU tensors, and the collective was passed a CPU tensor.");
  found.title = "a CPU tensor is passed to an NCCL collective";
  if (!context.operands().empty()) {
    found.operands = {0};
    found.origin = placement_of(context.operands().front().provenance);
    found.title = {"{name} is on the CPU, but the process group uses NCCL",
                   {{"name", name_of(context.operands().front())}}};
  }
  found.propose(FixKind::kConfiguration,
                "add a CPU backend to the process group: init_process_group(\"cpu:gloo,cuda:nccl\")");
  found.propose(FixKind::kUseSite, "move the tensor to the rank's GPU before the collective");
  return found;
}

/// What the module is called that fails: "the model", unless another one is on a GPU: a criterion with weights is told by
/// its name.
Message called(const Context& context) {
  const auto& all = context.facts().models;
  const model::Model& own = *context.model();
  const bool others =
      std::any_of(all.begin(), all.end(), [&](const model::Model& each) { return &each != &own && is_on_gpu(each); });
  if (!others) return "the model";
  return quoted(own.expression.empty() ? own.type : own.expression);
}

/// The model is on the host as a whole, and what it is given is not.
std::optional<Hypothesis> model_left_behind(const Context& context) {
  if (context.model() == nullptr) return std::nullopt;
  const auto devices = context.model()->devices();
  const auto& moves = context.model()->placements;
  const bool was_moved = std::any_of(moves.begin(), moves.end(), [](const Event& move) {
    return move.subject.empty() && move.device.is_accelerator();
  });
  if (devices.size() != 1 || !devices.front().is_host() || was_moved) return std::nullopt;
  for (const Operand& operand : context.operands()) {
    if (!operand.device.is_host() || !is_weight(operand)) continue;
    const Operand* partner = context.partner_of(operand);
    if (partner == nullptr || !partner->device.is_accelerator() || is_built_for_use(context, operand)) continue;
    Hypothesis found(code::kHostBoundary);
    const Message what = called(context);
    const bool replaced = operand.replaced_at.is_known();
    if (replaced) {
      found.add_evidence(80,
                         {"Every parameter and buffer of {model} is on the CPU; {name} was put there at {place}, in "
                          "the place of the one that {model} had.",
                          {{"model", what}, {"name", name_of(operand)}, {"place", text_of(&operand.replaced_at)}}});
    } else {
      found.add_evidence(
          80, {"Every parameter and buffer of {model} is on the CPU; nothing has moved it.", {{"model", what}}});
    }
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    found.origin = placement_of(operand.provenance);
    if (context.is_hooked() || context.setting("offload") != nullptr) found.score -= 50;  // kept there on purpose
    found.title = {"{model} is on the CPU, its input {name} is on {device}",
                   {{"model", what}, {"name", name_of(*partner)}, {"device", partner->device.str()}}};
    const auto& name = context.model()->expression;
    found.propose(
        FixKind::kCreationSite,
        {replaced ? "move {model} after its weights were replaced: {code}"
                  : "move {model} once, where it is created: {code}",
         {{"model", what}, {"code", (name.empty() ? "model" : name) + ".to(\"" + partner->device.str() + "\")"}}});
    return found;
  }
  return std::nullopt;
}

/// Whether one of those has placed it who move the batches of a loader, too.
bool moves_batches(const Operand& operand) {
  const Event* placed = placement_of(operand.provenance);
  return placed != nullptr && (placed->owner.is("lightning") || placed->owner.is("pytorch_lightning") ||
                               placed->owner.mechanism == "Accelerator.prepare");
}

/// What Accelerator.prepare was not given: a module with weights of its own, such as a loss.
void tell_of_unprepared(const Operand& operand, const Operand& partner, Hypothesis& found) {
  const Event* placed = placement_of(operand.provenance);
  const Event* prepared = placement_of(partner.provenance);
  if (placed == nullptr || prepared == nullptr || !Context::at_construction(*placed) ||
      prepared->owner.mechanism != "Accelerator.prepare") {
    return;
  }
  found.add_evidence(15, {"The object in whose constructor it was made was not passed to accelerator.prepare{at}.",
                          {{"at", at_text(*prepared)}}});
  found.propose(FixKind::kCreationSite,
                "pass that module to accelerator.prepare as well, or move it to "
                "accelerator.device before the optimizer is built");
}

/// That the result of a move was thrown away, and the statement that keeps it. What is moved is the operand itself, what
/// it was computed from, or the object that holds it.
void tell_of_dropped(const Operand& operand, const Event& dropped, Hypothesis& found) {
  const Message at = at_text(dropped);
  if (!dropped.op.starts_with("Tensor.")) {
    found.add_evidence(70, {"That object was moved{at}, but the result was discarded: its `to` returns another object.",
                            {{"at", at}}});
    found.propose(FixKind::kCreationSite, "move the object before others are given it, and keep what the move returns");
    return;
  }
  const bool itself = dropped.followed.empty() || dropped.followed == operand.name;
  if (itself && operand.device.is_host()) {
    found.add_evidence(60, {"It was moved{at}, but the result was discarded: Tensor.to returns a copy.", {{"at", at}}});
  } else {
    found.add_evidence(operand.device.is_host() ? 60 : 95,
                       {"{moved} was moved{at}, but the result was discarded: Tensor.to returns a copy, so {name} is "
                        "still on {device}.",
                        {{"moved", itself ? name_of(operand) : Message(quoted(dropped.followed))},
                         {"at", at},
                         {"name", name_of(operand)},
                         {"device", place_text(operand.device)}}});
  }
  std::optional<model::Edit> edit = amended_edit(dropped);
  const std::string& moved = itself ? operand.best_name() : dropped.followed;
  if (edit || itself) {
    const std::string kept = moved + " = ...";
    const bool assigns = dropped.amended.empty() || dropped.amended.starts_with(moved + " = ");
    found.propose(FixKind::kCreationSite,
                  {"keep the result of the move: {code}", {{"code", assigns ? kept : dropped.amended}}},
                  Confidence::kCertain, std::move(edit));
  } else {
    found.propose(FixKind::kCreationSite,
                  {"put the result of the move where {moved} came from{at}", {{"moved", quoted(moved)}, {"at", at}}},
                  Confidence::kCertain);
  }
}

/// Between two GPUs, too, a tensor stays where it was if the result of its move is thrown away.
std::optional<Hypothesis> dropped_between_gpus(const Context& context) {
  if (!context.across_gpus()) return std::nullopt;
  for (const Operand& operand : context.operands()) {
    const Event* dropped = dropped_move_of(context, operand);
    const Operand* partner = context.partner_of(operand);
    if (dropped == nullptr || partner == nullptr || is_weight(operand) || !operand.device.is_accelerator() ||
        !partner->device.is_accelerator()) {
      continue;
    }
    Hypothesis found(code::kHostBoundary);
    found.origin = placement_of(operand.provenance);
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    tell_of_dropped(operand, *dropped, found);
    found.title = {
        "{name} is still on {device}, because the result of a move was discarded; {other} is on "
        "{other_device}",
        pair_of(operand, *partner)};
    return found;
  }
  return std::nullopt;
}

/// Whether a factory of the program made it, and not of random numbers, which are data.
bool is_constant(const Event& placed) {
  return placed.kind == model::EventKind::kMade && !placed.op.empty() && !wraps_host_memory(placed) &&
         placed.owner.is(model::owners::kProgram) && placed.op.find("rand") == std::string::npos;
}

}  // namespace

// The edge between the host and the GPU: an input that nobody moved, a second name that was bound before the move, NumPy, a
// collective on a host tensor. And a move whose result was dropped, between two GPUs as well.
std::optional<Hypothesis> host_boundary(const Context& context) {
  if (context.failure().kind == SentenceKind::kNumpy) return numpy(context);
  if (context.failure().kind == SentenceKind::kHost) return read_on_host(context);
  if (context.failure().kind == SentenceKind::kFork) return forked();
  if (context.failure().kind == SentenceKind::kGroup) return collective(context);
  if (auto dropped = dropped_between_gpus(context)) return dropped;
  if (!context.host_meets_gpu()) return std::nullopt;
  std::optional<Hypothesis> best = model_left_behind(context);
  for (const Operand& operand : context.operands()) {
    if (!operand.device.is_host() || is_weight(operand) || operand.kind == OperandKind::kOptimizerState ||
        !operand.registered) {
      continue;
    }
    const bool attribute = operand.kind == OperandKind::kAttribute;
    const Event* placed = placement_of(operand.provenance);
    const bool taken_off = placed != nullptr && is_brought_to_host(*placed);
    const Event* dropped = dropped_move_of(context, operand);
    const bool kept = operand.kind == OperandKind::kInput && !operand.kept_as.empty();  // a callback's, a trainer's
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
    const Event* snapshot = moved_after_snapshot(operand, *partner);
    const Message name = name_of(operand);
    const Message at = placed == nullptr ? Message() : at_text(*placed);
    if (attribute && dropped != nullptr) {
      found.add_evidence(30, {"{name} is held by an object that is not a module.", {{"name", name}}});
    } else if (moves_batches(*partner) && !is_weight(*partner) && !operand.left_in.empty() &&
               operand.moved_part.empty()) {
      found.add_evidence(80,
                         {"{name} is {part}, of an object whose class has no `to`: {owner} moves tensors, containers "
                          "and what has a `to`, and left it on the CPU.",
                          {{"name", name},
                           {"part", quoted(operand.left_in)},
                           {"owner", placement_of(partner->provenance)->owner.name}}});
      found.propose(FixKind::kCreationSite,
                    "give its class a method `to(device)` that moves its tensors and returns it");
    } else if (!operand.moved_part.empty()) {
      found.add_evidence(
          75, {"{name} is {part}, on the CPU; {other} beside it is on a GPU: what moved the one has not moved "
               "the other.",
               {{"name", name}, {"part", quoted(operand.left_in)}, {"other", quoted(operand.moved_part)}}});
      if (operand.left_in.find('[') != std::string::npos || operand.kind == OperandKind::kInput) {
        found.propose(FixKind::kCreationSite, "move everything that the batch holds: its lists and dictionaries, too");
      } else {
        found.propose(FixKind::kCreationSite,
                      {"move {part} as well, where {other} is moved",
                       {{"part", quoted(operand.left_in)}, {"other", quoted(operand.moved_part)}}});
      }
    } else if (snapshot != nullptr) {
      found.add_evidence(80, {"{name} is a copy of the model's weights{at}, from before they were moved to "
                              "{other_device}{to}.",
                              {{"name", name},
                               {"at", at_text(operand.provenance.front())},
                               {"other_device", partner->device.str()},
                               {"to", at_text(*snapshot)}}});
      found.propose(FixKind::kCreationSite,
                    {"copy the weights after the model is moved{to}", {{"to", at_text(*snapshot)}}});
    } else if (attribute && taken_off) {
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
    } else if (operand.kind == OperandKind::kInput) {
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
    } else if (placed != nullptr && placed->kind == model::EventKind::kLoaded && placed->owner.is("torch.load")) {
      found.add_evidence(65, {"{name} was read from a checkpoint to the CPU{at}, and nothing has moved it.",
                              {{"name", name}, {"at", at}}});
    } else if (placed != nullptr && placed->op.empty() && placed->kind == model::EventKind::kMade) {
      found.add_evidence(55, {"{name} was computed on the CPU{at}, from CPU tensors.", {{"name", name}, {"at", at}}});
    } else if (placed != nullptr && !context.made_for_use(*placed) &&
               context.failure().kind != SentenceKind::kGradient) {
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
    if (found.score == 0) continue;
    const bool told = placed != nullptr && placed->kind == model::EventKind::kMade && !placed->device_value.empty();
    if (told) found.add_evidence(0, device_value_of(*placed));
    tell_of_unprepared(operand, *partner, found);
    // A table of numbers goes to the index, once; rows that are kept on the host stay, and the index comes.
    const bool table = operand.shape && operand.shape->size() == 1;
    if (context.failure().kind == SentenceKind::kIndex && !table) {
      const Event* chosen = placement_of(partner->provenance);
      if (chosen != nullptr && !device_text_of(*chosen).empty()) {
        found.add_evidence(10, {"{name} was put on {device} by one device value, {value}{at}.",
                                {{"name", name_of(*partner)},
                                 {"device", partner->device.str()},
                                 {"value", quoted(device_text_of(*chosen))},
                                 {"at", at_text(*chosen)}}});
      }
      found.title = {"{other} on {other_device} indexes {name}, which is on the CPU",
                     {{"name", name}, {"other", name_of(*partner)}, {"other_device", partner->device.str()}}};
      if (told) {
        found.propose(FixKind::kCreationSite,
                      {"give another value for {argument}: {name} is then made on {other_device}{at}",
                       {{"argument", quoted(device_text_of(*placed))},
                        {"name", name},
                        {"other_device", partner->device.str()},
                        {"at", at}}});
      }
      found.propose(move_at_use(context, *partner, operand));
    } else {
      if (operand.kind != OperandKind::kInput && operand.copies.empty() && placed != nullptr && is_constant(*placed)) {
        found.propose(create_with(context, operand, *placed, *partner));
      } else if (snapshot == nullptr && operand.moved_part.empty() &&
                 context.failure().kind != SentenceKind::kGradient) {
        found.propose(
            FixKind::kCreationSite,
            attribute || kept
                ? "create or load it on the device of the tensors that it is used with, or move it with the model"
                : "move the data once, where it enters: the collate function, the loop's first line or "
                  "the wrapper");
      }
      found.propose(move_at_use(context, operand, *partner));
    }
    if (!best || found.score > best->score) best = std::move(found);
  }
  return best;
}

}  // namespace devsan::diagnose
