#include "intercept/typed_kernel.h"

namespace devsan::intercept {
namespace {

char letter_of(const c10::Argument& argument) {
  const auto* alias = argument.alias_info();
  const bool written = alias != nullptr && alias->isWrite();
  switch (argument.real_type()->kind()) {
    case c10::TypeKind::TensorType:
      if (argument.is_out() || (alias != nullptr && !written)) return '?';
      return written ? 'W' : 'T';
    case c10::TypeKind::NumberType:
      return 'S';
    case c10::TypeKind::IntType:
      return 'i';
    case c10::TypeKind::BoolType:
      return 'b';
    case c10::TypeKind::FloatType:
      return 'f';
    default:
      return '?';
  }
}

}  // namespace

std::string shape_of(const c10::FunctionSchema& schema) {
  std::string shape;
  for (const c10::Argument& argument : schema.arguments()) shape += letter_of(argument);
  shape += ':';
  for (const c10::Argument& result : schema.returns()) shape += letter_of(result);
  return shape;
}

}  // namespace devsan::intercept
