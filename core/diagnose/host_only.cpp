#include "diagnose/host_only.h"

#include <algorithm>

#include "diagnose/codes.h"
#include "diagnose/predicates.h"

namespace devsan::diagnose {

using model::FixKind;
using model::Operand;
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
std::optional<Hypothesis> forked(const Context&) {
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
  const model::Model* model = context.model();
  const bool offloaded = model != nullptr && is_sharded(*model) && !is_on_gpu(*model);
  if (offloaded) {
    // torch/distributed/fsdp/_fully_shard/_fsdp_api.py
    found.add_evidence(5,
                       "FSDP keeps the sharded parameters and their gradients on the CPU (CPUOffloadPolicy): what is "
                       "computed of them, such as their norm, is reduced there.");
  }
  // The other tensors of the call are on a GPU: a backend for the CPU does not join the two.
  const bool mixed =
      std::ranges::any_of(context.operands(), [](const Operand& operand) { return operand.device.is_accelerator(); });
  const auto host =
      std::ranges::find_if(context.operands(), [](const Operand& operand) { return operand.device.is_host(); });
  if (host != context.operands().end()) {
    found.operands = {context.index_of(*host)};
    found.origin = placement_of(host->provenance);
    found.title = {"{name} is on the CPU, but the process group uses NCCL", {{"name", name_of(*host)}}};
  }
  if (!mixed) {
    found.propose(FixKind::kConfiguration,
                  "add a CPU backend to the process group: init_process_group(\"cpu:gloo,cuda:nccl\")");
  }
  if (!offloaded) found.propose(FixKind::kUseSite, "move the tensor to the rank's GPU before the collective");
  return found;
}

}  // namespace

HostOnly host_only(model::SentenceKind kind) {
  switch (kind) {
    case SentenceKind::kNumpy:
      return numpy;
    case SentenceKind::kHost:
      return read_on_host;
    case SentenceKind::kFork:
      return forked;
    case SentenceKind::kGroup:
      return collective;
    default:
      return nullptr;
  }
}

}  // namespace devsan::diagnose
