#include "diagnose/functional_call.h"

#include "diagnose/texts.h"

namespace devsan::diagnose {

bool is_in_functional_call(const Context& context) {
  return context.runs_file("utils/stateless.py") || context.runs_file("functional_call.py");
}

bool is_left_out_of_call(const Context& context, const model::Operand& operand) {
  return !operand.qualified_name.empty() && is_in_functional_call(context);
}

std::string buffer_left_out(const Context& context) {
  if (context.model() == nullptr) return "";
  for (const model::Module& module : context.model()->modules) {
    for (const model::ModuleTensor& tensor : module.tensors) {
      if (!tensor.is_buffer || !tensor.device.is_meta()) continue;
      return quoted(module.path.empty() ? tensor.name : module.path + "." + tensor.name);
    }
  }
  return "";
}

model::Message left_out_text(const model::Message& name) {
  return {"functional_call was given nothing for {name}, so the module uses its own.", {{"name", name}}};
}

model::Fix give_buffers_to_call() {
  return {.kind = model::FixKind::kUseSite,
          .text = {"give it the buffers as well: {code}",
                   {{"code", std::string("functional_call(module, (params, buffers), args)")}}},
          .edit = std::nullopt};
}

}  // namespace devsan::diagnose
