#include "emulate/runtime/momentary.h"

#include <memory>
#include <string_view>

#include <ATen/record_function.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/graph_task.h>

namespace devsan::emulate {
namespace {

thread_local int t_steps = 0;  ///< that run on this thread, one in another

struct Step final : at::ObserverContext {};

/// torch.optim.Optimizer.profile_hook_step (torch/optim/optimizer.py) records each step under such a name, a failing one
/// to its end.
std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  if (!std::string_view(function.name()).starts_with("Optimizer.step#")) return nullptr;
  ++t_steps;
  return std::make_unique<Step>();
}

void end(const at::RecordFunction& /*function*/, at::ObserverContext* context) {
  if (dynamic_cast<Step*>(context) != nullptr) --t_steps;
}

}  // namespace

// A step computes without gradients, and enables them for a closure, whose forward pass keeps activations as any other does.
bool computes_for_a_moment() noexcept {
  return (t_steps > 0 && !c10::GradMode::is_enabled()) || torch::autograd::get_current_graph_task_id() != -1;
}

void watch_optimizer_steps() {
  static const at::CallbackHandle handle =
      at::addGlobalCallback(at::RecordFunctionCallback(&begin, &end).scopes({at::RecordScope::USER_SCOPE}));
  static_cast<void>(handle);
}

}  // namespace devsan::emulate
