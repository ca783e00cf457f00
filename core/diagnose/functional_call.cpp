#include "diagnose/functional_call.h"

#include "diagnose/texts.h"

#include <algorithm>
#include <string_view>

namespace devsan::diagnose {

bool is_in_functional_call(const Context& context) {
  return context.runs_file("utils/stateless.py") || context.runs_file("functional_call.py");
}

namespace {

/// What the model has by the name of an operand; null where it has nothing by it.
const model::ModuleTensor* registered(const Context& context, const model::Operand& operand) {
  const model::Model* model = context.model();
  const std::string_view path = operand.qualified_name;
  const model::Module* module = model == nullptr ? nullptr : model->find(model::parent_of(path));
  if (module == nullptr) return nullptr;
  const std::string_view name = path.substr(path.rfind('.') + 1);
  const auto found = std::ranges::find(module->tensors, name, &model::ModuleTensor::name);
  return found == module->tensors.end() ? nullptr : &*found;
}

}  // namespace

bool is_left_out_of_call(const Context& context, const model::Operand& operand) {
  return !operand.qualified_name.empty() && is_in_functional_call(context) && !is_given_elsewhere(context, operand);
}

bool is_given_elsewhere(const Context& context, const model::Operand& operand) {
  if (operand.qualified_name.empty() || !is_in_functional_call(context)) return false;
  const model::ModuleTensor* own = registered(context, operand);
  return own != nullptr && own->device != operand.device;
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
