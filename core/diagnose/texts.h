#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/event.h"
#include "model/facts.h"
#include "model/message.h"
#include "model/operand.h"

namespace devsan::diagnose {

/// "aten::add_.Tensor" -> "add_".
std::string_view short_op(std::string_view op);

/// The last part of a qualified name: "LlamaModel.forward" -> "forward"; without "<locals>".
std::string_view last_part(std::string_view name);

/// "`x`".
std::string quoted(std::string_view name);

/// The best name there is: "`x`", or whose output it is.
model::Message name_of(const model::Operand& operand);

/// What a sentence about two operands says of them: {name} on {device}, {other} on {other_device}.
std::vector<model::Argument> pair_of(const model::Operand& operand, const model::Operand& other);

/// Who did it and, where known, by which setting: "accelerate (AlignDevicesHook): device_map[...] = 1".
model::Message text_of(const model::Owner& owner);

/// "train.py:12", with the file's own name only; "" for a frame that is not known.
std::string text_of(const model::Frame* frame);

/// What a rank is told to do, by itself and together with the others. Under Lightning the first rank has no LOCAL_RANK
/// before `fit`, and is number 0; a rank that torch.multiprocessing.spawn started has none: `rank` is what the program
/// calls its number among all machines.
std::string set_device_code(const model::Process& process, const std::string& rank = "rank");
model::Message set_device_text(const model::Process& process, const std::string& rank = "rank");
model::Message own_location_text();
model::Message own_gpu_location_text(const model::Process& process);

/// The rank's own GPU in its code: a call without a number takes the current one, which is the rank's where it was set.
std::string own_gpu_code(const model::Process& process);

/// ", at train.py:12" or nothing: for the end of a sentence about a place, or an event.
model::Message at_text(const model::Frame* frame);
model::Message at_text(const model::Event& event);

/// "a", "a, b", "a, b, c".
model::Message with_commas(std::span<const model::Message> items);
/// "a", "a and b", "a, b and c".
model::Message list_of(std::span<const model::Message> items);

}  // namespace devsan::diagnose
