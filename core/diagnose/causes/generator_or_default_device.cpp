#include "diagnose/causes.h"
#include "diagnose/edits.h"
#include "diagnose/predicates.h"

#include <algorithm>

namespace devsan::diagnose {

using model::FixKind;
using model::Operand;
using model::OperandKind;
using model::SentenceKind;

namespace {

/// The operand that the default device placed: not a weight where there is another one; null where there is none.
const Operand* following(const Context& context) {
  const auto& all = context.operands();
  const auto follows = [&](const Operand& each) { return follows_default_device(context, each); };
  auto found =
      std::find_if(all.begin(), all.end(), [&](const Operand& each) { return follows(each) && !is_weight(each); });
  if (found == all.end()) found = std::find_if(all.begin(), all.end(), follows);
  return found == all.end() ? nullptr : &*found;
}

/// Where the generator was made, and to which of torch's objects the program handed it.
void tell_whose(const Operand& generator, Hypothesis& found) {
  const model::Event* made = placement_of(generator.provenance);
  const bool handed = !generator.provenance.empty() && generator.provenance.front().kind == model::EventKind::kShared;
  const model::Event* given = handed ? &generator.provenance.front() : nullptr;
  if (made != nullptr) {
    found.origin = made;
    found.add_evidence(0, {"{name} was made on {device}{at}.",
                           {{"name", name_of(generator)}, {"device", generator.device.str()}, {"at", at_text(*made)}}});
  }
  if (given == nullptr) return;
  found.add_evidence(0, {"{name} was given to {taker}{at}, which draws on another device.",
                         {{"name", name_of(generator)}, {"taker", quoted(given->op)}, {"at", at_text(*given)}}});
  if (auto edit = amended_edit(*given)) {
    found.propose(FixKind::kCreationSite,
                  {"give {taker} a CPU generator of its own, with the same seed", {{"taker", quoted(given->op)}}},
                  model::Confidence::kLikely, std::move(edit));
  }
}

/// What draws from the generator, where an object keeps it: the program may not have meant it to leave the CPU.
void tell_what_is_drawn(const Context& context, const Operand& generator, Hypothesis& found) {
  const Operand* drawn = context.partner_of(generator);
  const model::Event* placed = drawn == nullptr ? nullptr : placement_of(drawn->provenance);
  if (placed == nullptr || drawn->kind != OperandKind::kAttribute) return;
  found.operands.push_back(context.index_of(*drawn));
  const std::vector<model::Argument> facts = {{"name", name_of(*drawn)},
                                              {"device", drawn->device.str()},
                                              {"at", at_text(*placed)},
                                              {"generator", name_of(generator)}};
  found.add_evidence(0, {"{name} is on {device}, where it was put{at}.", facts});
  if (generator.device.is_host()) {
    found.propose(FixKind::kCreationSite,
                  {"keep {name} on the CPU, where {generator} is: `.cpu()` where it is set", facts});
  }
}

}  // namespace

// A generator belongs to one device, and torch's default device changes where every factory without one works,
// also those inside libraries.
std::optional<Hypothesis> generator_or_default_device(const Context& context) {
  Hypothesis found(code::kGeneratorOrDefaultDevice);
  const model::Process& process = context.process();
  const bool changed = process.default_device.is_known() && !process.default_device.is_host();
  if (context.failure().kind == SentenceKind::kGenerator) {
    found.add_evidence(90, "The random generator is on another device type than the tensor that it fills.");
    found.title = "the random generator and what it fills are on different devices";
    for (const Operand& operand : context.operands()) {
      if (operand.kind != OperandKind::kGenerator) continue;
      found.operands = {context.index_of(operand)};
      found.title = {"the generator {name} is on {device}, what it fills is not",
                     {{"name", name_of(operand)}, {"device", operand.device.str()}}};
      tell_whose(operand, found);
      tell_what_is_drawn(context, operand, found);
    }
    if (!changed) {
      found.propose(FixKind::kCreationSite,
                    "create the generator on the device of the result: torch.Generator(device=...); the random numbers "
                    "change with it");
      found.propose(FixKind::kUseSite,
                    "sample on the CPU with a CPU generator and move the result: same numbers everywhere");
    }
  } else if (changed) {
    if (const Operand* operand = following(context)) {
      found.operands = {context.index_of(*operand)};
      found.origin = placement_of(operand->provenance);
      found.add_evidence(
          85, {"{name} is created without a device, so it is on the default device.", {{"name", name_of(*operand)}}});
      found.title = {"{name} follows the default device to {device}",
                     {{"name", name_of(*operand)}, {"device", operand->device.str()}}};
    }
    if (found.score == 0 && context.is_mismatch()) {
      found.add_evidence(25, "The default device was changed.");
      found.title = {"the default device is {device}, and code that expects CPU tensors fails",
                     {{"device", process.default_device.str()}}};
    }
    if (found.score == 0 && context.failure().kind == SentenceKind::kNumpy) {
      found.add_evidence(65, "The tensor is converted to NumPy implicitly, by code that expects CPU tensors.");
      found.title = {"the default device is {device}, but NumPy reads only host memory",
                     {{"device", process.default_device.str()}}};
    }
  } else {
    return std::nullopt;
  }
  if (found.score == 0) return std::nullopt;
  if (changed) {
    found.add_evidence(10, {"torch's default device is {device}{at}.",
                            {{"device", process.default_device.str()}, {"at", at_text(process.default_set)}}});
    if (found.origin == nullptr) found.origin = &process.default_set;
    found.propose(
        FixKind::kConfiguration,
        "set no global default device; name the device where tensors are created, or use `with torch.device(...)` "
        "around your own code only");
    if (context.sentence_has("generator") || context.runs_file("utils/data/")) {
      found.propose(FixKind::kUseSite,
                    {"give the sampler a generator of that device: {code}",
                     {{"code", std::string("DataLoader(generator=torch.Generator(device=...))")}}},
                    model::Confidence::kPossible);
    }
  }
  return found;
}

}  // namespace devsan::diagnose
