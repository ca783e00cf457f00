#include "diagnose/culprit.h"

#include "diagnose/moves.h"
#include "diagnose/predicates.h"
#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::Event;
using model::EventKind;
using model::Message;

Message how_it_came(const Sides& sides) {
  const Event& placed = sides.placed();
  const std::string text = device_text_of(placed);
  const Message name = name_of(*sides.culprit);
  const std::string device = sides.culprit->device.str();
  if (sides.left != nullptr) {
    return {"{owner} moved {name} to {device} for a call of its own{at}, and left it there.",
            {{"owner", text_of(sides.left->owner)}, {"name", name}, {"device", device}, {"at", at_text(*sides.left)}}};
  }
  if (const Event* onward = sides.onward(); onward != nullptr) {
    return {
        sides.handed != nullptr
            ? "{other} was moved from {device} to {other_device}, where the next part of the model is{at}; {name} was "
              "computed before that and has stayed on {device}."
            : "{other} was moved from {device} to {other_device}{at}; {name} was not moved with it.",
        {{"other", name_of(*sides.partner)},
         {"device", device},
         {"other_device", sides.partner->device.str()},
         {"at", at_text(*onward)},
         {"name", name}}};
  }
  if (sides.is_number) {
    return {"{name} is one number, computed on {device}; what it is applied to is on several GPUs.",
            {{"name", name}, {"device", device}}};
  }
  const std::vector<model::Argument> facts = {{"name", name},
                                              {"device", placed.device.str()},
                                              {"at", at_text(placed)},
                                              {"value", quoted(text)},
                                              {"other_device", sides.partner->device.str()}};
  if (placed.kind == EventKind::kLoaded && placed.owner.setting == "no map_location") {
    return {"{name} was read from a checkpoint to {device}{at}, where it was when it was saved.", facts};
  }
  if (placed.kind == EventKind::kLoaded) return {"{name} was read from a checkpoint to {device}{at}.", facts};
  if (is_deep_copy(placed)) return {"{name} is a copy{at}, which is where the original was: on {device}.", facts};
  if (sides.are_results) {
    return {
        "{name} was computed on {device}, by a part of the model that was put there{at}; nothing has moved it to "
        "{other_device}.",
        facts};
  }
  if (is_move_without_effect(placed)) {
    return {"{name} was sent to {value}{at}, which is {device}, where it already was: that moved nothing.",
            {{"name", placed.followed.empty() ? name : Message(quoted(placed.followed))},
             {"value", quoted(text)},
             {"at", at_text(placed)},
             {"device", placed.device.str()}}};
  }
  if (sides.is_chosen()) return {"{name} was sent to {device}, which {value} chose{at}.", facts};
  if (text.empty()) return {"{name} was put on {device} by one device value{at}.", facts};
  if (placed.op == "Module.to" && is_result(*sides.culprit)) {
    return {"{name} was computed on {device}, with a module that was moved to {value}{at}.", facts};
  }
  return {"{name} was put on {device} by one device value, {value}{at}.", facts};
}

Message title_of(const Sides& sides) {
  const char* usual =
      "{name} follows one device value to {device}, {other} is on {other_device} with its part of the model";
  const bool taken = moved_there_before(*sides.partner, *sides.culprit) != nullptr;
  return {sides.handed != nullptr
              ? "{name} was left on {device} when {other} was moved to the next part of the model on {other_device}"
          : sides.without != nullptr ? "{name} was left on {device} when {other} was moved to {other_device}"
          : sides.is_number
              ? "{name} is one number on {device}, {other} is on {other_device} with its part of the model"
          : taken ? "{other} was moved from {device} to {other_device}, {name} is still on {device}"
          : sides.are_results
              ? "{name} is a result of the part of the model on {device}, {other} of the part on {other_device}"
          : sides.is_chosen() ? "{name} was sent to {device}, {other} is on {other_device}"
                              : usual,
          {{"name", name_of(*sides.culprit)},
           {"device", sides.culprit->device.str()},
           {"other", name_of(*sides.partner)},
           {"other_device", sides.partner->device.str()}}};
}

}  // namespace devsan::diagnose
