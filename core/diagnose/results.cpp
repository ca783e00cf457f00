#include "diagnose/results.h"

#include <algorithm>

#include "diagnose/predicates.h"
#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::Operand;
using model::OperandKind;

namespace {

/// What the batch says is right: `labels`, `target`, `batch["targets"]`; not `target_init`.
bool is_answer(const Operand& operand) {
  if (operand.role == "target" || Context::is_called(operand, {"label"})) return true;
  std::string_view name = operand.name;
  while (!name.empty() && (name.back() == ']' || name.back() == '"' || name.back() == '\'')) name.remove_suffix(1);
  return name.ends_with("target") || name.ends_with("targets");
}

}  // namespace

bool is_loss_boundary(const Context& context) {
  // In the backward pass both sides are what forward has kept: the batch and the labels were on one device there.
  if (context.failure().op.find("_backward") != std::string::npos) return false;
  if (context.op_is({"nll_loss", "nll_loss_forward", "nll_loss2d_forward", "nll_loss_nd", "cross_entropy_loss",
                     "binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss", "l1_loss",
                     "smooth_l1_loss", "huber_loss", "kl_div", "ctc_loss", "_ctc_loss", "soft_margin_loss",
                     "multi_margin_loss", "multilabel_margin_loss_forward", "poisson_nll_loss",
                     "linear_cross_entropy"})) {
    return true;
  }
  const auto& operands = context.operands();
  const auto any_called = [&](std::initializer_list<std::string_view> words) {
    return std::any_of(operands.begin(), operands.end(),
                       [&](const Operand& each) { return Context::is_called(each, words); });
  };
  const model::Frame* site = context.failure().site();
  const bool in_loss =
      context.failure().phase == model::Phase::kLoss ||
      context.runs_function({"compute_loss", "loss_function", "fixed_cross_entropy", "training_step"}) ||
      (site != nullptr &&
       (site->function.find("Loss") != std::string::npos || site->function.find("loss") != std::string::npos));
  if (in_loss && std::any_of(operands.begin(), operands.end(), is_answer)) return true;
  const bool numbers =
      operands.size() > 1 && std::all_of(operands.begin(), operands.end(), [](const Operand& each) {
        return each.shape && std::all_of(each.shape->begin(), each.shape->end(), [](auto size) { return size == 1; });
      });
  if (!numbers) return false;
  // Losses and totals are added up. A quotient or a product is a loss by its names alone: norms are divided as well.
  if (context.op_is({"add_"})) return true;  // into a number that is kept: a total
  if (context.op_is({"add", "sub"})) {
    // Computed numbers that are trained with are terms of an objective, whatever they are called.
    const bool trained =
        std::any_of(operands.begin(), operands.end(), [](const Operand& each) { return each.requires_grad; }) &&
        std::none_of(operands.begin(), operands.end(), is_weight);
    return in_loss || trained || any_called({"loss", "num_items", "label", "total"});
  }
  return context.op_is({"div", "div_", "mul", "mul_"}) && any_called({"loss", "num_items", "num_tokens", "label"});
}

bool is_loss_of_part(const Context& context, const model::Operand& operand) {
  return operand.kind == model::OperandKind::kAttribute && !operand.holder.empty() && operand.registered &&
         operand.is_scalar() && is_loss_boundary(context) && context.op_is({"add", "add_", "sub"}) &&
         (context.failing_module() == nullptr || context.failing_module()->path != operand.holder);
}

bool combines_a_list(const Context& context) {
  if (!context.op_is({"stack", "cat", "concat", "_foreach_norm", "linalg_vector_norm", "sum", "_foreach_add_"}))
    return false;
  const auto listed = std::count_if(context.operands().begin(), context.operands().end(), [](const Operand& operand) {
    return operand.role.starts_with("tensors") || operand.role.find('[') != std::string::npos;
  });
  return listed > 1;
}

bool combines_results(const Context& context) {
  return combines_a_list(context) &&
         std::all_of(context.operands().begin(), context.operands().end(),
                     [](const Operand& operand) { return operand.shape && operand.shape->size() <= 1; });
}

bool is_running_total(const Context& context, const Operand& operand) {
  if (!is_loss_boundary(context)) return false;
  if (context.op_is({"add_"})) return operand.role == "self";
  // `total = total + loss` puts the sum in its place.
  const model::Frame* site = context.failure().site();
  return context.op_is({"add"}) && site != nullptr && !operand.name.empty() &&
         site->source.starts_with(operand.name + " = " + operand.name + " + ");
}

}  // namespace devsan::diagnose
