#include "diagnose/partner.h"

#include "diagnose/joined_outside.h"
#include "diagnose/moves.h"
#include "diagnose/predicates.h"
#include "diagnose/said_device.h"
#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::DeviceSource;
using model::Event;
using model::Message;
using model::Operand;

bool tell_what_brought_it(const Sides& sides, const std::string& value, Hypothesis& found) {
  const Operand& partner = *sides.partner;
  const Event* placed = sides.other();
  if (is_of_replica(placed)) {
    found.add_evidence(
        25, {placed->owner.mechanism == "scatter"
                 ? "DataParallel runs a replica on each GPU, and gave {name} to that of {device}; {value} is the same "
                   "in all of them."
                 : "DataParallel runs a replica on each GPU, and that of {device} computed {name}; {value} is the same "
                   "in all of them.",
             {{"name", name_of(partner)},
              {"device", partner.device.str()},
              {"value", value.empty() ? Message("the value") : Message(quoted(value))}}});
    return true;
  }
  if (const Event* back = brought_back(partner)) {
    found.add_evidence(25, brought_back_text(partner, *back));
    return true;
  }
  return false;
}

void tell_why_it_is_there(const Context& context, const Sides& sides, Hypothesis& found) {
  const Event* other = sides.other();
  if (other == nullptr) {
    if (context.is_placed_by_map(*sides.partner)) {
      found.add_evidence(20, {"{name} is on {device} because of a map.",
                              {{"name", name_of(*sides.partner)}, {"device", sides.partner->device.str()}}});
    }
    return;
  }
  const Event& placed = sides.placed();
  const bool own = other->owner.is(model::owners::kProgram);
  std::vector<model::Argument> facts = {
      {"name", name_of(*sides.partner)}, {"device", sides.partner->device.str()}, {"at", at_text(*other)}};
  const auto by_literal = [](const Event& event) {
    return source_of(event) == DeviceSource::kLiteral && event.op == "Module.to";
  };
  if (other->owner.is(model::owners::kPeft)) {
    found.add_evidence(25, {"{name} is on {device}, where the layer is that it adapts.", facts});
  } else if (context.is_placed_by_map(*sides.partner)) {
    if (!own) facts.push_back({"owner", text_of(other->owner)});
    found.add_evidence(20,
                       {own ? "{name} is on {device}, one of several devices that the program itself chooses from{at}."
                            : "{name} is on {device} because of the map of {owner}.",
                        facts});
  } else if (sides.are_results && other->owner.is(model::owners::kDataParallel) && other->owner.mechanism == "gather") {
    found.add_evidence(25, {"{name} is on {device}, where DataParallel gathers the results of its replicas.", facts});
  } else if (sides.are_results) {
    found.add_evidence(25, {"{name} was computed on {device}, by a part that was put there{at}.", facts});
  } else if (own && by_literal(placed) && by_literal(*other)) {  // two networks
    facts.push_back({"value", quoted(device_text_of(*other))});
    found.add_evidence(
        25,
        {"{name} on {device} was put there by a value of its own, {value}{at}; what passes between the two has to be "
         "moved.",
         facts});
  } else if (moved_there_before(*sides.partner, *sides.culprit) == nullptr && sides.onward() == nullptr &&
             source_of(*other) != source_of(placed)) {
    const std::string value = device_text_of(*other);
    facts.push_back({"value", quoted(value)});
    found.add_evidence(10, {value.empty() ? "{name} on {device} was placed by other means."
                                          : "{name} was put on {device} by {value}{at}.",
                            facts});
  }
}

}  // namespace devsan::diagnose
