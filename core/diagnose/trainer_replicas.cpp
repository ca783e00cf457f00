#include "diagnose/trainer_replicas.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <string>

#include "diagnose/predicates.h"

namespace devsan::diagnose {

namespace {

int number_in(const std::string& text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// A report shows few sentences: those of the cause itself come first.
constexpr std::ptrdiff_t kFirst = 2;

bool runs_replicas(const Context& context) {
  const auto& operands = context.operands();
  return context.is_wrapped_by(model::owners::kDataParallel) || context.runs_file("parallel/data_parallel") ||
         std::any_of(operands.begin(), operands.end(), [](const model::Operand& operand) {
           const model::Event* placed = placement_of(operand.provenance);
           return placed != nullptr && placed->owner.is(model::owners::kDataParallel);
         });
}

}  // namespace

void tell_of_trainer_replicas(const Context& context, model::Finding& finding) {
  const model::Setting* seen = context.setting("Trainer.args.n_gpu");
  if (seen == nullptr || number_in(seen->value) < 2 || !runs_replicas(context)) return;
  if (!context.runs_file("transformers/trainer")) return;  // a program with Trainer's arguments and a loop of its own
  const auto behind = finding.evidence.begin() + std::min<std::ptrdiff_t>(kFirst, std::ssize(finding.evidence));
  finding.evidence.insert(
      behind,
      {"The Trainer has wrapped the model in torch.nn.DataParallel, because it sees {n} GPUs and the program was "
       "not started by a launcher: start it with torchrun for one process per GPU, or set args._n_gpu = 1 before "
       "the Trainer is created to leave the model unwrapped.",
       {{"n", seen->value}}});
}

}  // namespace devsan::diagnose
