#include "diagnose/causes.h"
#include "diagnose/edits.h"
#include "diagnose/moves.h"
#include "diagnose/source_text.h"

#include <algorithm>

namespace devsan::diagnose {

using model::DeviceSource;
using model::Event;
using model::EventKind;
using model::FixKind;
using model::Message;
using model::Operand;
using model::SentenceKind;

namespace {

constexpr const char* kAnotherGpu = "name a GPU that is there, counted from 0, or show more GPUs to the process";

void propose_set_device(Hypothesis& found, const model::Process& process) {
  found.propose(FixKind::kConfiguration, set_device_text(process));
}

/// Whether a rank's number among all machines names no GPU of its own, and that within its machine does.
bool counts_all_nodes(const model::Process& process) {
  return process.is_launched() && process.rank >= process.device_count && process.local_rank < process.device_count;
}

/// The one device that the program gives torch.load for `map_location`; none where the checkpoint says where its tensors
/// go, or a table or a function does.
std::optional<std::string> asked_location(const Context& context) {
  for (const model::Frame& frame : context.failure().frames) {
    if (!frame.package.empty()) continue;
    auto location = keyword_argument(frame.source, "map_location");
    if (!location || *location == "None" || location->starts_with("{") || location->starts_with("lambda")) {
      return std::nullopt;
    }
    return location;
  }
  return std::nullopt;
}

/// Refusals that are about the process's devices by their words.
std::optional<Hypothesis> by_sentence(const Context& context) {
  Hypothesis found(code::kCurrentDevice);
  const model::Process& process = context.process();
  const std::string visible = "CUDA_VISIBLE_DEVICES=" + process.visible_devices;
  switch (context.failure().kind) {
    case SentenceKind::kPointer: {
      found.add_evidence(
          90,
          "A Triton kernel is launched on the current device and cannot access memory of another GPU; despite the "
          "error message, the tensor need not be on the CPU.");
      if (process.current_device.is_known())
        found.add_evidence(5, {"The current device is {device}.", {{"device", process.current_device.str()}}});
      found.title = {"a kernel is launched on {device} with tensors on another GPU",
                     {{"device", process.current_device.is_known() ? Message(process.current_device.str())
                                                                   : Message("the current device")}}};
      for (const Operand& operand : context.operands()) {
        if (operand.device != process.current_device) found.operands.push_back(context.index_of(operand));
      }
      found.propose(FixKind::kUseSite, {"launch with the tensors' device as the current device: {code}",
                                        {{"code", std::string("with torch.cuda.device(x.device): kernel[...](...)")}}});
      return found;
    }
    case SentenceKind::kOrdinal:
      if (process.device_count == 0) {
        if (process.visible_devices.empty()) {
          found.add_evidence(90, "The process sees no GPU.");
        } else {
          found.add_evidence(90, {"The process sees no GPU ({setting}).", {{"setting", visible}}});
        }
        found.title = "a GPU is requested in a process that has none";
        found.propose(FixKind::kConfiguration,
                      "start it where torch finds a GPU, or rehearse it here: devsan run --gpus 2");
        return found;
      }
      if (process.visible_devices.empty()) {
        found.add_evidence(88,
                           {"The process sees {n} GPU; the requested one is not among them.",
                            "The process sees {n} GPUs; the requested one is not among them.", process.device_count});
      } else {
        found.add_evidence(88, {"The process sees {n} GPU ({setting}); the requested one is not among them.",
                                "The process sees {n} GPUs ({setting}); the requested one is not among them.",
                                process.device_count,
                                {{"setting", visible}}});
      }
      found.title = "a GPU is requested that this process does not have";
      if (counts_all_nodes(process)) {
        found.add_evidence(
            5, {"This process is rank {rank} of the job, and rank {local_rank} on its machine.",
                {{"rank", std::to_string(process.rank)}, {"local_rank", std::to_string(process.local_rank)}}});
        found.propose(FixKind::kUseSite, {"take the GPU from the rank within the machine: {code}",
                                          {{"code", "int(os.environ[\"LOCAL_RANK\"])"}}});
        found.propose(FixKind::kConfiguration, kAnotherGpu);
        found.ranked = true;
        return found;
      }
      if (process.world_size > process.device_count)
        found.add_evidence(5, {"There is {n} rank.", "There are {n} ranks.", process.world_size});
      found.propose(FixKind::kConfiguration,
                    process.world_size > 1
                        ? "start as many ranks as there are visible GPUs, and count from 0 within them"
                        : kAnotherGpu);
      return found;
    case SentenceKind::kLoad:
      if (const auto location = asked_location(context)) {
        found.add_evidence(
            88, {"`map_location` is {value}, which leads to a GPU that is not there: the process sees {n} GPU.",
                 "`map_location` is {value}, which leads to a GPU that is not there: the process sees "
                 "{n} GPUs.",
                 process.device_count,
                 {{"value", quoted(*location)}}});
        found.title = "a checkpoint is loaded onto a GPU that this process does not have";
        found.propose(FixKind::kConfiguration, kAnotherGpu);
        return found;
      }
      found.add_evidence(88, "The checkpoint stores the GPU that it was saved from.");
      found.title = "a checkpoint refers to a GPU that this process does not have";
      found.propose(FixKind::kUseSite, own_location_text());
      return found;
    case SentenceKind::kGroup:
      if (!context.sentence_has("Duplicate GPU")) return std::nullopt;
      found.add_evidence(90, "Two ranks use one GPU.");
      if (!process.set_device_called && process.local_rank > 0)
        found.add_evidence(5, "torch.cuda.set_device was not called in this process.");
      found.title = "two ranks use the same GPU";
      propose_set_device(found, context.process());
      return found;
    default:
      return std::nullopt;
  }
}

}  // namespace

// "cuda" without a number is the process's current device: GPU 0 until someone says otherwise, in every rank.
std::optional<Hypothesis> current_device(const Context& context) {
  if (auto found = by_sentence(context)) return found;
  if (!context.across_gpus()) return std::nullopt;
  const model::Process& process = context.process();
  std::optional<Hypothesis> best;
  for (const Operand& operand : context.operands()) {
    const Event* placed = placement_of(operand.provenance);
    const Operand* partner = context.partner_of(operand);
    if (placed == nullptr || partner == nullptr || context.is_placed_by_map(operand)) continue;
    const bool current = source_of(*placed) == DeviceSource::kCurrent;
    const bool loaded = placed->kind == EventKind::kLoaded;
    // The rank's GPU, or the one that was made current: its tensors are there, and this one is not.
    // What another rank sent is on that one's GPU, whichever it is.
    const bool received = loaded && placed->owner.is("torch.distributed") && process.world_size > 1;
    const bool elsewhere =
        received ? operand.device.index != process.local_rank : process.local_rank > 0 && operand.device.index == 0;
    const bool of_rank = elsewhere && partner->device.index == process.local_rank;
    // A thread that another one did not choose a GPU for: what it places is on GPU 0, whoever it is for.
    const bool for_thread = std::any_of(context.operands().begin(), context.operands().end(), [&](const Operand& each) {
      const Event* other = placement_of(each.provenance);
      return other != nullptr && each.device == partner->device && each.device.index > 0 &&
             source_of(*other) == DeviceSource::kCurrent && !Context::in_function(*other, "_bootstrap_inner");
    });
    const bool in_thread = Context::in_function(*placed, "_bootstrap_inner") &&
                           (for_thread || (process.set_device_called && !context.runs_function({"_bootstrap_inner"})));
    const bool foreign = of_rank || (in_thread && for_thread) ||
                         (process.set_device_called && partner->device == process.current_device &&
                          operand.device != process.current_device);
    if (!current && !(loaded && foreign)) continue;
    Hypothesis found(code::kCurrentDevice);
    found.origin = placed;
    found.operands = {context.index_of(operand), context.index_of(*partner)};
    found.title = {"{name} was placed on the current device, {device}; {other} is on {other_device}",
                   pair_of(operand, *partner)};
    if (loaded && placed->owner.is("torch.distributed")) {
      found.add_evidence(45,
                         {"{name} was received by {call}{at}, on the same GPU as in the sender.",
                          {{"name", name_of(operand)}, {"call", placed->owner.mechanism}, {"at", at_text(*placed)}}});
      found.propose(FixKind::kUseSite, "send CPU tensors (x.cpu()), and move what was received to this rank's GPU");
    } else if (loaded) {
      found.add_evidence(45, {"{name} was loaded{at} to the GPU that it was saved from.",
                              {{"name", name_of(operand)}, {"at", at_text(*placed)}}});
      found.propose(FixKind::kUseSite,
                    of_rank ? own_gpu_location_text(process)  // on the CPU it would not meet its partner either
                            : Message("load it to the GPU where it is used, or to the CPU, with map_location"));
    } else {
      found.add_evidence(45, {"\"cuda\" without a number was the current device{at}.", {{"at", at_text(*placed)}}});
    }
    if (foreign) {
      const std::string index = std::to_string(operand.device.index);
      if (in_thread) {
        found.add_evidence(45, {"A thread of its own placed it: the current device is each thread's own, and {device} "
                                "was chosen in another one.",
                                {{"device", for_thread ? partner->device.str() : process.current_device.str()}}});
      } else if (of_rank) {
        found.add_evidence(45, {"This is local rank {rank}, and the tensor is on GPU {index}.",
                                {{"rank", std::to_string(process.local_rank)}, {"index", index}}});
      } else {
        found.add_evidence(45, {"The current device is {device}, and the tensor is on GPU {index}.",
                                {{"device", process.current_device.str()}, {"index", index}}});
      }
      if (!process.set_device_called && !in_thread)
        found.add_evidence(5, "torch.cuda.set_device was not called in this process.");
      if (in_thread) {
        found.propose(FixKind::kCreationSite, "name the GPU in the thread, or call torch.cuda.set_device there, too");
      } else if (!received && !(loaded && process.set_device_called)) {  // what a load says stays said
        propose_set_device(found, context.process());
      }
    } else if (!context.made_for_use(*placed)) {
      const Event* other = placement_of(partner->provenance);
      const bool mapped = context.is_placed_by_map(*partner) || context.is_hooked();
      if (other != nullptr && source_of(*other) != DeviceSource::kCurrent && !mapped) {
        found.add_evidence(30,
                           {"{name} on {device} was placed by number{at}.",
                            {{"name", name_of(*partner)}, {"device", partner->device.str()}, {"at", at_text(*other)}}});
      }
      found.propose(
          FixKind::kConfiguration,
          "use the same device everywhere, or make one GPU visible (CUDA_VISIBLE_DEVICES) and leave out the index");
      found.propose(move_at_use(context, operand, *partner));
    } else {
      found.score -= 30;
    }
    // What a module kept without registering it would have moved with it, whichever GPU was current when it was made.
    const bool unregistered = left_by_move(context, operand, *partner) != nullptr ||
                              (operand.kind == model::OperandKind::kAttribute && Context::at_construction(*placed));
    // What an earlier call has left, or what was made once for all calls, was on the right GPU then: the fault is that
    // it is used again.
    const bool kept = context.in_earlier_call(*placed) || is_kept_by_function(operand);
    if (!of_rank && !in_thread) found.score -= kept ? 30 : unregistered ? 15 : 0;
    if (!best || found.score > best->score) best = std::move(found);
  }
  return best;
}

}  // namespace devsan::diagnose
