#include "diagnose/memory_advice.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "diagnose/held_memory.h"
#include "memory/out_of_memory.h"

namespace devsan::diagnose {

using memory::format_size;
using model::Confidence;
using model::FixKind;
using model::HeldMemory;
using model::HolderKind;
using model::MemoryHolder;
using model::MemoryPart;
using model::Message;
using model::Phase;

namespace {

/// What is to be freed, at least, and what is known to say how: with the figures of one refusal.
class Advice {
 public:
  Advice(const Context& context, const HeldMemory& held, Hypothesis& found)
      : context_(context), held_(held), found_(found) {}

  void give() {
    if (held_.requested > held_.total) {
      found_.propose(FixKind::kUseSite,
                     {"make this tensor smaller, or compute it in parts: {requested} do not fit on a GPU of {total}",
                      {{"requested", format_size(held_.requested)}, {"total", format_size(held_.total)}}});
      return;
    }
    outside_of_tensors();
    on_another_gpu();
    gradients_of_before();
    kept_graphs();
    kept_in_a_list();
    results_of_operators();
    results_of_a_step();
    if (!held_.parts.empty()) largest(held_.parts.front());
    if (context_.failure().phase == Phase::kOptimizer && bytes_of(HolderKind::kOptimizerState) > 0 &&
        held_.parts.front().kind != HolderKind::kOptimizerState) {
      optimizer_state(bytes_of(HolderKind::kOptimizerState));
    }
    std::ranges::stable_sort(proposals_, std::greater{}, &Proposal::frees);
    for (Proposal& each : proposals_) {
      found_.propose(each.kind, std::move(each.text),
                     each.frees >= missing() ? Confidence::kLikely : Confidence::kPossible);
    }
    found_.ranked = true;
  }

 private:
  struct Proposal {
    FixKind kind;
    std::uint64_t frees;
    Message text;
  };

  /// What frees most is told first. Likely where it frees enough, else possible.
  void propose(FixKind kind, std::uint64_t frees, Message text) {
    proposals_.push_back({kind, frees, std::move(text)});
  }

  [[nodiscard]] std::uint64_t missing() const { return missing_of(held_); }
  [[nodiscard]] std::uint64_t cached() const { return cached_of(held_); }

  [[nodiscard]] std::uint64_t bytes_of(HolderKind kind) const {
    const auto found = std::ranges::find(held_.parts, kind, &MemoryPart::kind);
    return found == held_.parts.end() ? 0 : found->bytes;
  }

  void outside_of_tensors() {
    const std::string device = held_.device.str();
    if (held_.allowed > 0 && held_.free >= held_.tried) {
      propose(FixKind::kConfiguration, held_.free,
              {"raise the limit of torch.cuda.set_per_process_memory_fraction: it allows {allowed}, and {free} of "
               "{device} are free",
               {{"allowed", format_size(held_.allowed)}, {"free", format_size(held_.free)}, {"device", device}}});
    }
    if (cached() >= held_.requested && !held_.expandable_segments) {
      const bool is_large = cached() >= held_.reserved / 4;
      propose(FixKind::kConfiguration, is_large ? cached() : 0,
              {"set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: {cached} are reserved but unallocated, in pieces "
               "of which none holds {requested}",
               {{"cached", format_size(cached())}, {"requested", format_size(held_.requested)}}});
    }
    if (held_.others > 0 && held_.others >= missing()) {
      propose(FixKind::kConfiguration, held_.others,
              {"end the other processes on {device}, or use another GPU: they take {others}, and {missing} are missing",
               {{"device", device}, {"others", format_size(held_.others)}, {"missing", format_size(missing())}}});
    }
  }

  /// Of several ranks the other GPUs are those of other ranks. A model in two parts frees about half.
  void on_another_gpu() {
    if (context_.process().world_size > 1) return;
    const auto roomiest = std::ranges::max_element(held_.elsewhere, {}, &model::GpuRoom::free);
    if (roomiest == held_.elsewhere.end() || roomiest->free < held_.tried) return;
    propose(FixKind::kMap, std::min(roomiest->free, held_.allocated / 2),
            {"place a part of the model on {device}: {free} of its {total} are free",
             {{"device", roomiest->device.str()},
              {"free", format_size(roomiest->free)},
              {"total", format_size(roomiest->total)}}});
  }

  void gradients_of_before() {
    const Phase phase = context_.failure().phase;
    const std::uint64_t bytes = bytes_of(HolderKind::kGradient);
    if (bytes == 0 || (phase != Phase::kForward && phase != Phase::kLoss)) return;
    propose(FixKind::kUseSite, bytes,
            {"free the gradients of the step before with optimizer.zero_grad(set_to_none=True) before the forward "
             "pass, unless they are accumulated: they hold {bytes}",
             {{"bytes", format_size(bytes)}}});
  }

  /// It grows in each step: losses that are summed, or collected, before a backward pass has freed their graphs.
  void kept_graphs() {
    const auto kept = std::ranges::find(held_.parts, HolderKind::kHistory, &MemoryPart::kind);
    if (kept == held_.parts.end()) return;
    const MemoryHolder& holder = kept->largest.front();
    propose(
        FixKind::kUseSite, holder.bytes,
        {"detach what is kept of earlier steps in {name} (.detach(), or .item() for a number; torch.no_grad() where "
         "nothing is trained), unless one backward pass is to go through all of it: the autograd graphs hold {bytes} "
         "in {count}",
         {{"name", holder.name}, {"bytes", format_size(holder.bytes)}, {"count", tensors_text(holder.tensors)}}});
  }

  /// A list that grows: what is in it is held until the list is gone.
  void kept_in_a_list() {
    const auto kept = std::ranges::find(held_.parts, HolderKind::kCollected, &MemoryPart::kind);
    if (kept == held_.parts.end()) return;
    const MemoryHolder& holder = kept->largest.front();
    if (holder.tensors < 2 || holder.bytes < missing()) return;
    propose(FixKind::kUseSite, holder.bytes,
            {"keep what is in {name} on the CPU, or only numbers of it (.item()): it holds {bytes} "
             "in {count}",
             {{"name", holder.name}, {"bytes", format_size(holder.bytes)}, {"count", tensors_text(holder.tensors)}}});
  }

  void largest(const MemoryPart& part) {
    if (part.kind == HolderKind::kCache) cache(part.bytes);
    if (part.kind == HolderKind::kOptimizerState) optimizer_state(part.bytes);
    if (part.kind == HolderKind::kParameter) parameters();
    if (part.kind == HolderKind::kGradient) sharded("the gradients", part.bytes);
  }

  /// Whether the failing call runs within torch.utils.checkpoint, or is computed again by it.
  [[nodiscard]] bool is_checkpointed() const {
    return std::ranges::any_of(context_.failure().frames, [](const model::Frame& frame) {
      return frame.package == "torch" && frame.file.ends_with("/torch/utils/checkpoint.py");
    });
  }

  /// They grow with the batch: worth it where they are the largest part, or where a pass over the batch needs more.
  void results_of_operators() {
    const Phase phase = context_.failure().phase;
    const bool in_a_pass = phase == Phase::kForward || phase == Phase::kLoss || phase == Phase::kBackward;
    const std::uint64_t bytes = bytes_of(HolderKind::kActivation) + (in_a_pass ? bytes_of(HolderKind::kTemporary) : 0);
    const bool is_largest = !held_.parts.empty() && held_.parts.front().kind == HolderKind::kActivation;
    if (bytes == 0 || !(is_largest || (in_a_pass && bytes >= missing()))) return;
    propose(FixKind::kUseSite, bytes, {smaller_results(), {{"bytes", format_size(bytes)}}});
  }

  [[nodiscard]] const char* smaller_results() const {
    if (is_checkpointed()) {
      return "make the results of operators smaller, which hold {bytes}: a smaller batch or a shorter "
             "sequence; those of the part that failed are checkpointed already";
    }
    if (held_.checkpoints) {
      return "make the results of operators smaller, which hold {bytes}: a smaller batch or a shorter sequence; the "
             "model checkpoints its layers already";
    }
    return "make the results of operators smaller, which hold {bytes}: a smaller batch or a shorter sequence, and "
           "torch.utils.checkpoint for those that the backward pass needs";
  }

  /// torch's optimizers compute with all parameters at once (foreach), and so hold copies of all of them for a moment.
  void results_of_a_step() {
    const std::uint64_t bytes = bytes_of(HolderKind::kActivation) + bytes_of(HolderKind::kTemporary);
    const bool is_foreach = std::ranges::any_of(context_.failure().frames, [](const model::Frame& frame) {
      return frame.package == "torch" && frame.function.find("_multi_tensor_") != std::string::npos;
    });
    if (!is_foreach || bytes < missing()) return;
    const bool has_fused = context_.runs_function({"_multi_tensor_adam", "_multi_tensor_adamw", "_multi_tensor_sgd"});
    propose(FixKind::kUseSite, bytes,
            {has_fused ? "give the optimizer foreach=False or fused=True: it computes with all parameters at once, and "
                         "what it computes for a moment holds {bytes}"
                       : "give the optimizer foreach=False: it computes with all parameters at once, and what it "
                         "computes for a moment holds {bytes}",
             {{"bytes", format_size(bytes)}}});
  }

  void cache(std::uint64_t bytes) {
    propose(
        FixKind::kUseSite, bytes,
        {"have the model keep fewer keys and values, which hold {bytes}: fewer sequences at a time, fewer new tokens, "
         "or a cache that is offloaded or quantized (cache_implementation)",
         {{"bytes", format_size(bytes)}}});
  }

  void optimizer_state(std::uint64_t bytes) {
    propose(FixKind::kCreationSite, bytes,
            {"use an optimizer that keeps less state, for example one of 8 bits: the state takes {bytes}",
             {{"bytes", format_size(bytes)}}});
    sharded("the optimizer state", bytes);
  }

  void parameters() {
    std::uint64_t wide = 0;
    for (const model::Model& model : context_.facts().models) {
      for (const model::Module& module : model.modules) {
        for (const model::ModuleTensor& tensor : module.tensors) {
          if (!tensor.is_buffer && tensor.device == held_.device && tensor.dtype == "float32") wide += tensor.bytes;
        }
      }
    }
    if (wide > 0 && wide >= bytes_of(HolderKind::kParameter) / 2) {  // adapters in float32 are not the model
      propose(FixKind::kCreationSite, wide / 2,
              {"load the model in bfloat16: its parameters in float32 hold {bytes}, and would hold {half}",
               {{"bytes", format_size(wide)}, {"half", format_size(wide / 2)}}});
    }
    sharded("the parameters", bytes_of(HolderKind::kParameter));
  }

  void sharded(const char* what, std::uint64_t bytes) {
    const std::uint64_t gpus = held_.elsewhere.size() + 1;
    if (gpus < 2) return;
    const std::uint64_t share = (bytes + gpus - 1) / gpus;
    propose(FixKind::kCreationSite, bytes - share,
            {"shard {what} over the {gpus} GPUs (FSDP, ZeRO): {share} on each instead of {bytes}",
             {{"what", Message(what)},
              {"gpus", std::to_string(gpus)},
              {"share", format_size(share)},
              {"bytes", format_size(bytes)}}});
  }

  const Context& context_;
  const HeldMemory& held_;
  Hypothesis& found_;
  std::vector<Proposal> proposals_;
};

}  // namespace

void advise(const Context& context, const HeldMemory& held, Hypothesis& found) { Advice(context, held, found).give(); }

}  // namespace devsan::diagnose
