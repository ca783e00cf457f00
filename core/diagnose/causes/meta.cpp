#include "diagnose/causes.h"
#include "diagnose/functional_call.h"
#include "diagnose/predicates.h"
#include "diagnose/source_text.h"

#include <algorithm>

namespace devsan::diagnose {

using model::FixKind;
using model::Message;
using model::Operand;
using model::SentenceKind;

namespace {

std::string path_of(const model::Module& module, const model::ModuleTensor& tensor) {
  return module.path.empty() ? tensor.name : module.path + "." + tensor.name;
}

/// Which registered tensors of the model have no data, where the failing one has no name.
void tell_of_model(const model::Model& model, Hypothesis& found) {
  std::string first;
  long count = 0;
  for (const model::Module& module : model.modules) {
    const bool offloaded = is_offloaded(module);
    for (const model::ModuleTensor& tensor : module.tensors) {
      if (!tensor.device.is_meta() || offloaded) continue;
      if (count == 0) first = path_of(module, tensor);
      ++count;
    }
  }
  if (count == 0) return;
  found.add_evidence(10, {"{n} parameter or buffer of the model has no data: {name}.",
                          "{n} parameters and buffers of the model have no data, the first is {name}.",
                          count,
                          {{"name", quoted(first)}, {"n", std::to_string(count)}}});
}

/// Whether the model keeps this buffer out of its state dict, so that no checkpoint can give it data.
bool is_in_no_checkpoint(const Context& context, const Operand& operand) {
  const std::string path = context.path_of(operand);
  const model::Module* module =
      context.model() == nullptr || path.empty() ? nullptr : context.model()->find(model::parent_of(path));
  if (module == nullptr || operand.kind != model::OperandKind::kBuffer) return false;
  return std::ranges::any_of(module->tensors, [&](const model::ModuleTensor& tensor) {
    return !tensor.is_persistent && path == path_of(*module, tensor);
  });
}

/// Whether a checkpoint gave data to everything that it can: what is left without any is in no state dict.
bool is_loaded_but_for_these(const Context& context) {
  if (context.model() == nullptr) return false;
  return std::ranges::all_of(context.model()->modules, [](const model::Module& module) {
    return is_offloaded(module) || std::ranges::none_of(module.tensors, [](const model::ModuleTensor& tensor) {
             return tensor.device.is_meta() && tensor.is_persistent;
           });
  });
}

}  // namespace

// A tensor of shapes only: made that way on purpose, and then nobody gave it data.
std::optional<Hypothesis> meta(const Context& context) {
  const bool copies = context.failure().kind == SentenceKind::kMeta || context.sentence_has("meta tensor");
  // accelerate/utils/modeling.py, set_module_tensor_to_device: what a checkpoint has no value for.
  if (context.sentence_has("is on the meta device, we need a `value`")) {
    Hypothesis left(code::kMeta);
    left.add_evidence(95, "accelerate found no value for it: a buffer that is not persistent is in no checkpoint.");
    left.title = "a tensor of the model is on the meta device, and the checkpoint has no value for it";
    left.propose(FixKind::kCreationSite, {"create the model with {code}, so that its buffers have their data",
                                          {{"code", std::string("init_empty_weights(include_buffers=False)")}}});
    return left;
  }
  if (!copies && !context.has_meta()) return std::nullopt;
  Hypothesis found(code::kMeta);
  found.title = "a tensor on the meta device has no data";
  if (copies) found.add_evidence(85, "The tensors to copy have shapes but no data.");
  const auto& operands = context.operands();
  bool functional = false;
  const auto meta =
      std::find_if(operands.begin(), operands.end(), [](const Operand& each) { return each.device.is_meta(); });
  if (meta != operands.end()) {
    found.origin = placement_of(meta->provenance);
    // Of a gradient that autograd refuses nobody says whose it is.
    const bool named = !meta->name.empty() || !meta->qualified_name.empty() || !meta->output_of.empty();
    if (named) {
      found.operands = {context.index_of(*meta)};
      found.title = {"{name} has no data: it is still on the meta device", {{"name", name_of(*meta)}}};
    }
    // What to_empty and a loader cannot reach: that it is not registered is the cause.
    if (!copies && meta->kind == model::OperandKind::kAttribute) found.score -= 30;
    // A kernel's own operand has no name: the buffers are what a call leaves out.
    const std::string buffer = is_in_functional_call(context) ? buffer_left_out(context) : "";
    const bool is_named = is_left_out_of_call(context, *meta);
    functional = !copies && (is_named || !buffer.empty());
    if (functional) {
      const Message left_out = is_named ? name_of(*meta) : Message(buffer);
      found.add_evidence(40, left_out_text(left_out));
      found.title = {"functional_call was given nothing for {name}, which is on the meta device", {{"name", left_out}}};
      found.propose(give_buffers_to_call());
    }
    if (!copies) {
      found.add_evidence(
          70, named ? Message{"{name} is on the meta device: it has a shape but no data.", {{"name", name_of(*meta)}}}
                    : Message{"A tensor on the meta device has a shape but no data."});
    }
  }
  const model::Model* model = context.model();
  if (model != nullptr) {
    if (!functional && (meta == operands.end() || meta->qualified_name.empty())) tell_of_model(*model, found);
    const bool offloaded = std::any_of(model->device_map.begin(), model->device_map.end(), [](const auto& entry) {
      return entry.device.is_host() || entry.device.type == "disk";
    });
    if (offloaded) {
      found.add_evidence(
          10, "The device map offloads modules to the CPU or to disk and leaves placeholders in their place.");
      found.propose(FixKind::kMap, "give the map enough memory on the GPUs, or leave the model where the map put it");
    }
  }
  if (functional) return found;
  if (meta != operands.end() && is_in_no_checkpoint(context, *meta) && (!copies || is_loaded_but_for_these(context))) {
    found.add_evidence(15,
                       "It is a buffer that is not persistent: no state dict has it, so loading one leaves it there.");
    found.title = {"{name} has no data: it is in no checkpoint, and was created on the meta device",
                   {{"name", name_of(*meta)}}};
    found.propose(FixKind::kCreationSite,
                  {"compute {name} again after loading, on the device of its module, or create the model with its "
                   "buffers on a real device",
                   {{"name", name_of(*meta)}}});
    return found;
  }
  // peft/tuners/tuners_utils.py, inject_adapter. The weight beside it, which it adapts, has its data.
  if (meta != operands.end() && meta->kind == model::OperandKind::kParameter && is_sidecar(*meta) &&
      meta->beside_device.is_known() && !meta->beside_device.is_meta()) {
    found.add_evidence(10,
                       "It is an adapter's weight: PEFT creates it without data where it is given "
                       "low_cpu_mem_usage=True, for a checkpoint that is loaded later.");
    found.propose(FixKind::kCreationSite,
                  "leave out low_cpu_mem_usage=True where the adapter is added, or load its weights before the move");
    return found;
  }
  found.propose(FixKind::kConfiguration,
                "load without low_cpu_mem_usage or the meta device, or let the owner of the placeholders load them "
                "before the move");
  found.propose(FixKind::kCreationSite,
                "after to_empty, load every parameter and compute every non-persistent buffer again");
  return found;
}

}  // namespace devsan::diagnose
