#include "diagnose/functional_call.h"

#include "diagnose/texts.h"

namespace devsan::diagnose {

bool is_left_out_of_call(const Context& context, const model::Operand& operand) {
  return !operand.qualified_name.empty() &&
         (context.runs_file("utils/stateless.py") || context.runs_file("functional_call.py"));
}

model::Message left_out_text(const model::Operand& operand) {
  return {"functional_call was given nothing for {name}, so the module uses its own.", {{"name", name_of(operand)}}};
}

model::Fix give_buffers_to_call() {
  return {.kind = model::FixKind::kUseSite,
          .text = {"give it the buffers as well: {code}",
                   {{"code", std::string("functional_call(module, (params, buffers), args)")}}},
          .edit = std::nullopt};
}

}  // namespace devsan::diagnose
