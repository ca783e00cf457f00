#pragma once

#include <optional>
#include <string_view>

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

namespace devsan::emulate {

// NOTE [Stand-ins]
// What a program reads of numbers that were never computed must be something that lets it go on: finite, the same in each
// run, and consistent with itself. A float is 1, so that a loss neither ends a training loop nor divides by zero; an
// integer is 0; an index of something chosen among numbers is somewhere inside, because at the ends there are tokens that
// end a text; a boolean is false, except that of a question about all elements (`all`, `equal`). Masks that choose
// elements choose all of them, the most that there can be. A question to stand-ins that are known is answered by them: see
// NOTE [What is so for every element] in uniform.h.
//
// Computing with stand-ins can overflow (a scaled loss in float16) or divide by zero, which would tell a program that its
// gradients are infinite. So what an operator makes of finite operands is made finite, and whoever looks for infinities
// finds none. An infinity that the program gives (a mask) stays.

/// Writes the stand-ins of a result of `op` into the memory of a small unknown CPU tensor.
/// @param index what `stand_in_index` says
/// @param answer what `answer_of` says
void write_stand_ins(const at::Tensor& host, std::string_view op, std::int64_t index = 0,
                     std::optional<bool> answer = std::nullopt);

/// The index that an operator stands in for that chooses among the numbers of its first operand (argmax, topk, multinomial);
/// 0 for any other.
std::int64_t stand_in_index(std::string_view op, c10::ArrayRef<c10::IValue> arguments);

/// The same where `op` would have written into an unknown CPU tensor, with what was never computed. Untouched ones have none.
void stand_in_for_written(const at::Tensor& host, std::string_view op);

/// Whether a CPU tensor has neither infinities nor NaN. What has no memory to look at has none.
bool is_finite(const at::Tensor& host);

/// Puts 1 in place of what is not finite.
void make_finite(const at::Tensor& host);

/// What an untouched tensor of one element is read as.
c10::IValue stand_in_number(at::ScalarType dtype);

/// The results of an operator whose sizes depend on the numbers of its untouched operands; no value for any other.
/// @param arguments CPU tensors among them
std::optional<c10::IValue> chosen_elements(std::string_view op, c10::ArrayRef<c10::IValue> arguments);

}  // namespace devsan::emulate
