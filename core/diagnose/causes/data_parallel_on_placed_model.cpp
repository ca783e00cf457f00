#include "diagnose/causes.h"
#include "diagnose/signs.h"

#include <algorithm>

namespace devsan::diagnose {

using model::Operand;
using model::RepairKind;
using model::SentenceKind;

// DataParallel wants its module on the first GPU and copies it to the others; DDP wants one device a rank. A map, or a
// second wrapper, has placed it otherwise.
std::optional<Hypothesis> data_parallel_on_placed_model(const Scene& scene) {
  const bool demands = scene.failure().kind == SentenceKind::kModule;
  const bool parallel = scene.is_wrapped_by("torch.nn.DataParallel") || scene.is_wrapped_by("DDP") ||
                        scene.runs_file("parallel/data_parallel") || scene.runs_file("parallel/replicate");
  if (!demands && (!parallel || !scene.across_gpus())) return std::nullopt;
  Hypothesis found(code::kDataParallelOnPlacedModel);
  const model::Model* model = scene.model();
  const bool placed =
      (model != nullptr && model->device_map.size() > 1) || scene.model_spans_gpus() || scene.is_hooked();
  const bool nested = parallel && scene.on_stack("torch") && scene.runs_file("parallel/distributed") && demands;
  if (demands) found.saw(55, "DataParallel expects every parameter and buffer on its first GPU.");
  if (!demands && parallel) found.saw(35, "The model runs under a wrapper that gives each replica one GPU.");
  if (placed) found.saw(35, "The model was spread over several GPUs before that, by a map or by hand.");
  if (nested)
    found.saw(35,
              "DataParallel runs inside of DDP: each rank has one GPU, and the inner wrapper insists on the first.");
  for (const Operand& operand : scene.operands()) found.operands.push_back(scene.index_of(operand));
  if (!placed && !demands) return std::nullopt;
  found.title = placed ? "a model that is spread over several GPUs is wrapped for data parallelism"
                       : "part of the module is not on DataParallel's first GPU";
  if (nested) {
    found.propose(RepairKind::kConfiguration, "leave out the inner DataParallel: DDP gives each rank its GPU");
  } else if (placed) {
    found.propose(RepairKind::kConfiguration,
                  "one of the two: no wrapper (the map uses all GPUs), or no device_map (each replica fits one GPU); "
                  "a Trainer wraps by itself when n_gpu is above 1");
  } else {
    found.propose(RepairKind::kCreationSite, "move the whole module to the first GPU before it is wrapped");
  }
  return found;
}

}  // namespace devsan::diagnose
