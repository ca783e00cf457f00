#include "diagnose/from_attribute.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "diagnose/codes.h"
#include "diagnose/edits.h"
#include "diagnose/predicates.h"
#include "diagnose/texts.h"

namespace devsan::diagnose {

using model::Event;
using model::Module;
using model::Operand;

namespace {

constexpr std::string_view kConstructor = ".__init__";

/// The attribute that the statement of a constructor assigns: `self.amax` of `self.amax = torch.zeros(channels)`.
std::string attribute_made_at(const model::Frame& site) {
  const auto assigns = site.source.find(" = ");
  if (!site.function.ends_with(kConstructor) || assigns == std::string::npos) return "";
  return own_attribute(site.source.substr(0, assigns));
}

/// Whether a module of this class is in the model, and registers nothing by this name.
bool keeps_unregistered(const model::Model& model, std::string_view kind, const std::string& name) {
  const auto is_one = [&](const Module& module) { return last_part(module.type) == kind; };
  const auto registers = [&](const Module& module) {
    const std::string below = module.path.empty() ? name : module.path + "." + name;
    return model.find(below) != nullptr ||
           std::ranges::any_of(module.tensors, [&](const auto& tensor) { return tensor.name == name; });
  };
  return std::ranges::any_of(model.modules, is_one) &&
         std::ranges::none_of(model.modules, [&](const Module& each) { return is_one(each) && registers(each); });
}

bool went_to_gpu(const model::Model& model) {
  const auto to_gpu = [](const Event& event) { return event.device.is_accelerator(); };
  return is_on_gpu(model) || std::ranges::any_of(model.placements, to_gpu);  // Lightning has taken it off again
}

}  // namespace

std::optional<Hypothesis> from_attribute(const Context& context, const Operand& operand, const Operand& partner) {
  const Event* made = placement_of(operand.provenance);
  // Made by the statement itself: a weight of `self.fc = nn.Linear(...)` is made in a constructor of torch's.
  const bool variable = operand.kind == model::OperandKind::kLocal || operand.kind == model::OperandKind::kTemporary;
  if (!operand.device.is_host() || !partner.device.is_accelerator() || !variable || context.model() == nullptr ||
      made == nullptr || made->kind != model::EventKind::kMade || made->stack.empty() ||
      !made->stack.front().is_program()) {
    return std::nullopt;
  }
  if (!went_to_gpu(*context.model())) return std::nullopt;  // then nothing has moved the module either
  const model::Frame& site = made->stack.front();
  const std::string attribute = attribute_made_at(site);
  if (attribute.empty()) return std::nullopt;
  const std::string function = site.function.substr(0, site.function.size() - kConstructor.size());
  const std::string kind(last_part(function));
  if (!keeps_unregistered(*context.model(), kind, attribute.substr(std::string_view("self.").size())))
    return std::nullopt;
  Operand kept = operand;
  kept.name = attribute;
  Hypothesis found(code::kUnregisteredState);
  found.origin = made;
  found.operands = {context.index_of(operand), context.index_of(partner)};
  const std::vector<model::Argument> facts = {{"name", name_of(operand)},
                                              {"attribute", quoted(attribute)},
                                              {"holder", kind},
                                              {"at", at_text(*made)},
                                              {"device", place_text(operand.device)},
                                              {"other", name_of(partner)},
                                              {"other_device", partner.device.str()}};
  found.add_evidence(85,
                     {"{name} is computed from {attribute}, a plain attribute of {holder}, made on {device}{at}: it is "
                      "not a parameter or buffer, so it does not move with the model.",
                      facts});
  found.title = {
      "{attribute}, from which {name} is computed, is not registered and stayed on {device}, {other} is on "
      "{other_device}",
      facts};
  found.propose(register_where_made(context, kept, made));
  return found;
}

}  // namespace devsan::diagnose
