#include "diagnose/causes.h"

namespace devsan::diagnose {

using model::FixKind;

namespace {

const std::string kOneGpu = "device_map={\"\": local_rank}";

}  // namespace

// A library saw the second owner coming and refused in its own words. What is wrong is the configuration.
std::optional<Hypothesis> refused_owners(const Context& context) {
  Hypothesis found(code::kRefusedOwners);
  if (context.sentence_has("in any distributed mode")) {
    found.add_evidence(
        95, "accelerate refuses to prepare a model that a map has spread over several GPUs for several processes.");
    found.title = "the ranks and the device map both place the model";
  } else if (context.sentence_has("not compatible with passing a `device_map`") ||
             context.sentence_has("not compatible with passing a device_map")) {
    found.add_evidence(95, "Under ZeRO-3 DeepSpeed places every parameter; transformers refuses a map beside it.");
    found.title = "DeepSpeed ZeRO-3 and the device map both place the model";
  } else if (context.sentence_has("DistributedDataParallel device_ids and output_device arguments only work with")) {
    found.add_evidence(95, "DDP refuses device_ids for a module whose parameters are on several devices.");
    found.title = "DDP wraps a module that is already spread over several devices";
  } else if (context.sentence_has("You can't move a model that has some modules offloaded")) {
    found.add_evidence(95, "accelerate refuses to move a model whose modules it keeps on the CPU or on disk.");
    found.title = "a dispatched model with offloaded modules is moved";
  } else if (context.sentence_has("materialized on CPU when enabling CPU offloading")) {
    // _validate_cpu_offload_params of torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py
    found.add_evidence(
        95,
        "FSDP keeps the parameters on the CPU (CPUOffloadPolicy) and moves each to the GPU when it is used; the "
        "program also moved them to the GPU, which FSDP refuses.");
    found.title = "FSDP's offload policy and a move of the model both place it";
    found.propose(FixKind::kUseSite, "leave out the move: .to(device), .cuda() or a loaded state that is on the GPU",
                  model::Confidence::kCertain);
    found.propose(FixKind::kConfiguration, "leave out CPUOffloadPolicy: the parameters stay on the GPU");
    return found;
  } else if (context.sentence_has("cannot be moved to a specific device")) {
    found.add_evidence(
        95, "A pipeline was given a device for a model that a map has placed; transformers refuses to move it.");
    found.title = "the device map and the pipeline's device both place the model";
    found.propose(FixKind::kConfiguration, "leave out device=: the map says where the model is",
                  model::Confidence::kCertain);
    return found;
  } else if (context.sentence_has("activated a device mapping strategy on the pipeline") ||
             context.sentence_has("activated sequential model offloading")) {
    found.add_evidence(
        95, "The pipeline places its parts itself, by its map or its offload; diffusers refuses a second owner.");
    found.title = "the pipeline's own placement and a later move both place the model";
    found.propose(FixKind::kConfiguration, "leave out the move, or the map or the offload",
                  model::Confidence::kCertain);
    return found;
  } else if (context.sentence_has("is not supported for `8-bit`") ||
             context.sentence_has("is not supported for `4-bit`") ||
             context.sentence_has("is not supported for 4-bit") ||
             context.sentence_has("8-bit or 4-bit precision on a")) {
    found.add_evidence(95,
                       "A quantized model was placed when it was loaded; the libraries refuse to move it afterwards.");
    found.title = "a quantized model is placed a second time";
    found.propose(FixKind::kConfiguration, {"name the GPU where the model is loaded: {code}", {{"code", kOneGpu}}},
                  model::Confidence::kCertain);
    return found;
  } else {
    return std::nullopt;
  }
  const model::Model* model = context.model();
  if (model != nullptr && model->device_map.size() > 1) {
    const auto entries = static_cast<long>(model->device_map.size());
    if (model->device_map_text.empty()) {
      found.add_evidence(3, {"The map has {n} entry.", "The map has {n} entries.", entries});
    } else {
      found.add_evidence(3, {"The map has {n} entry: {map}.",
                             "The map has {n} entries: {map}.",
                             entries,
                             {{"map", model->device_map_text}}});
    }
  }
  if (context.process().world_size > 1)
    found.add_evidence(2, {"There is {n} rank.", "There are {n} ranks.", context.process().world_size});
  found.propose(FixKind::kConfiguration, "for data parallelism: no device_map, one GPU per rank");
  found.propose(FixKind::kConfiguration, {"for a quantized model in each rank: {code}", {{"code", kOneGpu}}});
  found.propose(FixKind::kConfiguration, "for sharding by map: one process (python train.py, not torchrun)");
  return found;
}

}  // namespace devsan::diagnose
