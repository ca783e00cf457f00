#include "diagnose/causes.h"
#include "diagnose/moves.h"
#include "diagnose/source_text.h"

#include <algorithm>

namespace devsan::diagnose {

using model::FixKind;
using model::Operand;
using model::SentenceKind;

namespace {

/// The move of a module from a GPU to the host that took the first operand along; null where there was none.
const model::Event* brought_to_host_whole(const Context& context) {
  if (context.operands().empty()) return nullptr;
  const model::Event* placed = placement_of(context.operands().front().provenance);
  return placed != nullptr && placed->op == "Module.to" && is_brought_to_host(*placed) ? placed : nullptr;
}

/// Whether all weights below `root` are on one GPU.
bool is_in_one_place(const model::Model& model, std::string_view root) {
  const model::Device* first = nullptr;
  for (const model::Module& module : model.modules) {
    if (!model::is_under(module.path, root)) continue;
    for (const model::ModuleTensor& tensor : module.tensors) {
      if (tensor.is_buffer) continue;
      if (first == nullptr) first = &tensor.device;
      if (*first != tensor.device) return false;
    }
  }
  return first != nullptr;
}

/// Whether the first operand is a buffer that is not where all weights around it are: nobody has spread the model. A
/// plain object may hold several models, of which one is wrapped.
bool is_stray_buffer(const Context& context) {
  const model::Model* model = context.model();
  if (model == nullptr || context.is_hooked() || context.has_map() || context.operands().empty()) return false;
  const Operand& operand = context.operands().front();
  const std::string path = context.path_of(operand);
  return operand.kind == model::OperandKind::kBuffer &&
         (is_in_one_place(*model, "") || is_in_one_place(*model, path.substr(0, path.find('.'))));
}

}  // namespace

// DataParallel wants its module on the first GPU and copies it to the others; DDP wants one device a rank. A map, or a
// second wrapper, has placed it otherwise.
std::optional<Hypothesis> data_parallel_on_placed_model(const Context& context) {
  const bool demands = context.failure().kind == SentenceKind::kModule;
  const bool parallel = context.is_wrapped_by(model::owners::kDataParallel) || context.is_wrapped_by("DDP") ||
                        context.runs_file("parallel/data_parallel") || context.runs_file("parallel/replicate");
  if (!demands && (!parallel || !context.across_gpus())) return std::nullopt;
  Hypothesis found(code::kDataParallelOnPlacedModel);
  const model::Model* model = context.model();
  const bool stray = demands && is_stray_buffer(context);
  const bool placed = !stray && ((model != nullptr && model->device_map.size() > 1) || context.model_spans_gpus() ||
                                 context.is_hooked());
  const bool nested = parallel && context.on_stack("torch") && context.runs_file("parallel/distributed") && demands;
  if (demands) found.add_evidence(55, "DataParallel expects every parameter and buffer on its first GPU.");
  if (!demands && parallel) found.add_evidence(35, "The model runs under a wrapper that gives each replica one GPU.");
  if (placed) found.add_evidence(35, "The model was spread over several GPUs before that, by a map or by hand.");
  if (nested)
    found.add_evidence(
        35, "DataParallel runs inside DDP: each rank has one GPU, and the inner wrapper requires the first.");
  for (const Operand& operand : context.operands()) found.operands.push_back(context.index_of(operand));
  if (!placed && !demands) return std::nullopt;
  found.title = placed ? "a model that is spread over several GPUs is wrapped for data parallelism"
                       : "part of the module is not on DataParallel's first GPU";
  if (nested) {
    found.propose(FixKind::kConfiguration, "leave out the inner DataParallel: DDP gives each rank its GPU");
  } else if (placed) {
    found.propose(FixKind::kConfiguration,
                  "one of the two: no wrapper (the map uses all GPUs), or no device_map (each replica fits one GPU); "
                  "a Trainer wraps by itself when n_gpu is above 1");
  } else if (const model::Event* away = brought_to_host_whole(context)) {
    found.origin = away;
    found.add_evidence(30,
                       {"The module itself was moved to the CPU{at}: Module.cpu and Module.to move a module in place.",
                        {{"at", at_text(*away)}}});
    found.propose(FixKind::kUseSite, {"copy the weights, and leave the module where it is: {code}",
                                      {{"code", std::string("{k: v.cpu() for k, v in net.state_dict().items()}")}}});
  } else {
    const auto& operands = context.operands();
    const model::Event* made = operands.empty() ? nullptr : placement_of(operands.front().provenance);
    if (made != nullptr && made->owner.is(model::owners::kProgram)) {
      const std::vector<model::Argument> facts = {
          {"name", name_of(operands.front())}, {"device", operands.front().device.str()}, {"at", at_text(*made)}};
      found.origin = made;
      found.add_evidence(10, {"{name} was made on {device}{at}; nothing has moved it since.", facts});
      if (made->kind == model::EventKind::kMade)
        found.propose(FixKind::kCreationSite, {"move it to DataParallel's first GPU where it is made{at}", facts});
    }
    found.propose(FixKind::kCreationSite, stray ? "move it to DataParallel's first GPU before the module is wrapped"
                                                : "move the whole module to the first GPU before it is wrapped");
  }
  return found;
}

}  // namespace devsan::diagnose
