#include "diagnose/causes.h"
#include "diagnose/moves.h"
#include "diagnose/predicates.h"

#include <algorithm>
#include <vector>

namespace devsan::diagnose {

using model::Confidence;
using model::FixKind;
using model::Message;
using model::Operand;
using model::OperandKind;

namespace {

const Operand* away_from_gpu(const Context& context) {
  for (const Operand& operand : context.operands()) {
    if (operand.device.is_host() || operand.device.is_meta()) return &operand;
  }
  return nullptr;
}

/// DeepSpeed 0.14.1 and 0.14.2: the norm of the gradients is a scalar on the GPU, the offloaded gradients are on the host.
bool is_norm_regression(const Context& context) {
  const std::string version = context.version("deepspeed");
  return (version == "0.14.1" || version == "0.14.2") &&
         (context.runs_function({"unscale_and_clip_grads"}) || context.runs_file("zero/stage3"));
}

/// The buffers that zero.Init left behind: it moves what eight factories of torch make, and never calls Module.to.
bool is_left_by_zero_init(const Context& context, const Operand& operand) {
  const auto* stage = context.setting("zero_optimization.stage");
  return stage != nullptr && stage->value == "3" && operand.device.is_host() && operand.kind == OperandKind::kBuffer;
}

/// The placement, if a library made it because a setting of its own says to offload.
const model::Event* kept_by_setting(const model::Event* origin) {
  const bool by_library = origin != nullptr && origin->owner.is_known() && !origin->owner.is(model::owners::kProgram);
  return by_library && origin->owner.setting.find("offload") != std::string::npos ? origin : nullptr;
}

/// What the failing call itself brought to the GPU from the host: weights that come for each call.
const model::Event* brought_for_the_call(const Context& context) {
  if (context.model() == nullptr) return nullptr;
  const auto& all = context.model()->placements;
  const auto found = std::find_if(all.begin(), all.end(), [&](const model::Event& event) {
    return event.kind == model::EventKind::kMoved && event.device.is_accelerator() && event.from.is_host() &&
           event.owner.is(model::owners::kProgram) && context.in_failing_call(event);
  });
  return found == all.end() ? nullptr : &*found;
}

/// Whether who brought it to the host calls that an offload.
bool is_called_offload(const model::Event& event) {
  const auto speaks = [](std::string_view text) {
    return text.find("offload") != std::string_view::npos || text.find("Offload") != std::string_view::npos;
  };
  return speaks(event.device_text) || speaks(event.owner.mechanism) ||
         std::any_of(event.stack.begin(), event.stack.end(),
                     [&](const model::Frame& frame) { return speaks(frame.function) || speaks(frame.source); });
}

std::string setting_text(const model::Setting& setting) { return setting.name + " = " + setting.value; }

/// deepspeedai/DeepSpeed#5538: brought by #5256, taken back by #5461.
Hypothesis norm_regression(const Context& context, Hypothesis found, const model::Setting& offload,
                           const Operand& norm) {
  const std::string version = context.version("deepspeed");
  const model::Setting* limit = context.setting("gradient_clipping");
  found.title = {"DeepSpeed {version} clips gradients on the CPU by a norm on {device}",
                 {{"version", version}, {"device", norm.device.str()}}};
  found.add_evidence(
      80, {"DeepSpeed {version} has this defect: releases 0.14.1 and 0.14.2, and no other.", {{"version", version}}});
  const std::string bound = limit == nullptr ? "gradient_clipping" : setting_text(*limit);
  found.add_evidence(
      30, {"A step fails once the norm of its gradients exceeds {limit}: the gradients, which {setting} keeps on "
           "the CPU, are multiplied by a 0-dim GPU tensor.",
           {{"limit", bound}, {"setting", setting_text(offload)}}});
  found.propose(FixKind::kConfiguration, "install deepspeed 0.14.3 or later (or 0.14.0)", Confidence::kCertain);
  found.propose(FixKind::kUseSite, {"multiply by the value, {code}, in unscale_and_clip_grads of your copy",
                                    {{"code", std::string("(1. / combined_scale).item()")}}});
  return found;
}

bool has_placeholder(const model::Module& module) {
  return is_offloaded(module) && std::any_of(module.tensors.begin(), module.tensors.end(),
                                             [](const auto& tensor) { return tensor.device.is_meta(); });
}

/// Whether its hook has brought its weights: it is in its forward.
bool is_running(const model::Module& module) {
  return is_offloaded(module) && std::any_of(module.tensors.begin(), module.tensors.end(),
                                             [](const auto& tensor) { return tensor.device.is_accelerator(); });
}

/// A module that is in its forward and computes with the weights of a child that it does not call, as
/// torch.nn.MultiheadAttention does with those of out_proj: the child's own hook has not brought them.
std::optional<Hypothesis> reads_child(const Context& context, const Operand& meta) {
  const auto& modules = context.model()->modules;
  const auto reader = std::find_if(modules.rbegin(), modules.rend(), is_running);
  if (reader == modules.rend()) return std::nullopt;
  const auto child = std::find_if(modules.begin(), modules.end(), [&](const model::Module& module) {
    return module.path != reader->path && model::is_under(module.path, reader->path) && has_placeholder(module);
  });
  if (child == modules.end()) return std::nullopt;
  Hypothesis found(code::kOffloadEngine);
  found.operands = {context.index_of(meta)};
  const std::vector<model::Argument> both = {
      {"module", quoted(reader->path)}, {"type", reader->type}, {"child", quoted(child->path)}};
  found.add_evidence(110,
                     {"{module} ({type}) computes with the weights of {child} and does not call it: accelerate brings "
                      "them for a call of {child}, and leaves placeholders outside of it.",
                      both});
  found.title = {"{module} computes with the weights of {child}, which are offloaded", both};
  found.propose(FixKind::kConfiguration, {"load the module as a whole, where it is offloaded: {code}",
                                          {{"code", "preload_module_classes=[\"" + reader->type + "\"]"}}});
  return found;
}

/// A tensor without data, of no module's own, where accelerate has left placeholders: it was computed from one of them.
std::optional<Hypothesis> made_of_placeholder(const Context& context) {
  if (context.model() == nullptr || !context.is_hooked()) return std::nullopt;
  const auto& operands = context.operands();
  const auto meta = std::find_if(operands.begin(), operands.end(), [](const Operand& each) {
    return each.device.is_meta() && !is_weight(each) && each.provenance.empty();
  });
  const auto& modules = context.model()->modules;
  const auto offloaded = std::find_if(modules.begin(), modules.end(), has_placeholder);
  if (meta == operands.end() || offloaded == modules.end()) return std::nullopt;
  if (auto child = reads_child(context, *meta)) return child;
  Hypothesis found(code::kOffloadEngine);
  found.operands = {context.index_of(*meta)};
  found.add_evidence(100,
                     {"{name} has no data. accelerate offloads {module} and leaves placeholders on the meta device "
                      "outside of its forward; what is computed from one has no data, either.",
                      {{"name", name_of(*meta)}, {"module", quoted(offloaded->path)}}});
  found.title = {"{name} was computed from an offloaded weight, which has data only in a call of its module",
                 {{"name", name_of(*meta)}}};
  found.propose(FixKind::kUseSite, {"call the module, or enter {code} before its weight is read",
                                    {{"code", std::string("accelerate.utils.align_module_device(module)")}}});
  return found;
}

/// A weight that accelerate's hook keeps elsewhere is read beside the module's forward.
std::optional<Hypothesis> placeholder(const Context& context) {
  const auto& operands = context.operands();
  const bool copied = context.failure().kind == model::SentenceKind::kMeta;
  const auto read = std::find_if(operands.begin(), operands.end(), [&](const Operand& each) {
    return is_weight(each) && (copied || each.device.is_meta());
  });
  if (read == operands.end()) return std::nullopt;
  const Operand& weight = *read;
  const model::Event* placed = placement_of(weight.provenance);
  if (placed == nullptr || !placed->owner.is(model::owners::kAccelerate) ||
      !placed->owner.mechanism.starts_with("AlignDevicesHook")) {
    return std::nullopt;
  }
  const std::string path = context.path_of(weight);
  const Message name = path.empty() ? name_of(weight) : Message(quoted(path));
  Hypothesis found(code::kOffloadEngine);
  found.operands = {context.index_of(weight)};
  found.origin = placed;
  found.add_evidence(125,
                     {"{name} is a placeholder outside of its module's forward: {owner} keeps the weight elsewhere, "
                      "and brings it for each call.",
                      {{"name", name}, {"owner", text_of(placed->owner)}}});
  found.title = {"{name} is offloaded, and has data only in a call of its module", {{"name", name}}};
  found.propose(FixKind::kUseSite, {"call the module, or enter {code} before its weight is read",
                                    {{"code", std::string("accelerate.utils.align_module_device(module)")}}});
  return found;
}

}  // namespace

// The host's side is there on purpose: an engine keeps it there and brings it in for its own calls.
std::optional<Hypothesis> offload_engine(const Context& context) {
  if (auto found = placeholder(context)) return found;
  if (auto found = made_of_placeholder(context)) return found;
  if (!context.host_meets_gpu() && !context.has_meta()) return std::nullopt;
  const Operand* away = away_from_gpu(context);
  const Operand* partner = away == nullptr ? nullptr : context.partner_of(*away);
  if (partner == nullptr) return std::nullopt;
  Hypothesis found(code::kOffloadEngine);
  found.operands = {context.index_of(*away), context.index_of(*partner)};
  found.origin = placement_of(away->provenance);
  const model::Setting* setting = context.setting("offload");
  if (setting == nullptr) setting = context.setting("lowvram");

  if (setting != nullptr && partner->is_scalar() && is_norm_regression(context)) {
    return norm_regression(context, std::move(found), *setting, *partner);
  }
  if (context.on_stack("deepspeed") && setting != nullptr) {
    found.add_evidence(80, {"{setting} keeps it on the CPU, and the operation is in DeepSpeed's own step.",
                            {{"setting", setting_text(*setting)}}});
    if (partner->is_scalar()) {
      found.add_evidence(10, "A 0-dim CPU tensor may join GPU tensors; a 0-dim GPU tensor may not join CPU tensors.");
    }
  } else if (is_left_by_zero_init(context, *away)) {
    found.add_evidence(
        90,
        "Under ZeRO stage 3 DeepSpeed does not call Module.to: a buffer is on the GPU only if torch.tensor, empty, "
        "zeros, ones, full, arange, eye or randn made it while the module was constructed.");
    found.propose(FixKind::kCreationSite,
                  "make the buffer with one of these, called as torch.<name>, or give it its device");
  } else if (const model::Event* kept = kept_by_setting(found.origin); kept != nullptr && context.host_meets_gpu()) {
    found.add_evidence(95, {"{owner} keeps {name} on {device}, by {setting}; the operation is not part of its code.",
                            {{"owner", kept->owner.name},
                             {"name", name_of(*away)},
                             {"device", away->device.str()},
                             {"setting", kept->owner.setting}}});
  } else {
    const std::string path = context.path_of(*away);
    const model::Module* hooked = path.empty() ? nullptr : context.hooked_parent(path);
    const bool offloads =
        hooked != nullptr && std::any_of(hooked->hooks.begin(), hooked->hooks.end(), [](const auto& hook) {
          return hook.offload || hook.type.find("Offload") != std::string::npos;
        });
    const auto& frames = context.failure().frames;
    const bool through = hooked != nullptr && std::any_of(frames.begin(), frames.end(), [&](const auto& frame) {
                           return frame.module == hooked->path && last_part(frame.function) == "forward";
                         });
    const bool own = is_weight(*away);
    const model::Module* running = context.failing_module();
    const bool beside = own && (running == nullptr || running->path != model::parent_of(path));
    if (offloads && (through || beside || away->device.is_meta())) {
      const std::string& module = hooked->path.empty() ? hooked->type : hooked->path;
      if (through) {
        found.add_evidence(
            90, {"A hook offloads the weights of {module} and moves them to the GPU only for its forward; this tensor "
                 "is not among them.",
                 {{"module", module}}});
      } else {
        found.add_evidence(
            90, {"A hook offloads the weights of {module} and moves them to the GPU only for its forward; the "
                 "operation runs outside of it.",
                 {{"module", module}}});
      }
    } else if (offloads) {
      found.add_evidence(55, {"A hook keeps the weights off the GPU except in the forward of {module}.",
                              {{"module", hooked->path.empty() ? hooked->type : hooked->path}}});
    } else if (setting != nullptr) {
      found.add_evidence(60, {"{setting} keeps data on the CPU.", {{"setting", setting_text(*setting)}}});
      if (own || away->kind == OperandKind::kOptimizerState) {
        found.add_evidence(25, {"{name} on {device} is one of the tensors that it keeps there.",
                                {{"name", name_of(*away)}, {"device", away->device.str()}}});
      } else if (away->kind == OperandKind::kInput) {
        found.score -= 40;
      }
    } else if (found.origin != nullptr && is_brought_to_host(*found.origin) && is_called_offload(*found.origin)) {
      found.add_evidence(75,
                         {"{name} on {device} was offloaded to the CPU{at}.",
                          {{"name", name_of(*away)}, {"device", away->device.str()}, {"at", at_text(*found.origin)}}});
      if (partner->is_scalar()) {
        found.add_evidence(10, "A 0-dim CPU tensor may join GPU tensors; a 0-dim GPU tensor may not join CPU tensors.");
      }
    } else if (const model::Event* brought = brought_for_the_call(context); brought != nullptr && own) {
      found.add_evidence(95, {"Weights are moved to the GPU for each call{at}; this tensor is not among them.",
                              {{"at", at_text(*brought)}}});
    }
  }
  if (found.score == 0) return std::nullopt;
  if (context.failure().kind == model::SentenceKind::kMeta) found.score -= 35;
  found.title = {"{name} on {device} is kept there by an offload, the operation needs it on {other_device}",
                 {{"name", name_of(*away)}, {"device", away->device.str()}, {"other_device", partner->device.str()}}};
  found.propose(FixKind::kConfiguration,
                "read or change it through the engine's own API, inside its forward or its context");
  found.propose(FixKind::kUseSite, "run the operation where the data is kept: on the CPU", Confidence::kPossible);
  return found;
}

}  // namespace devsan::diagnose
