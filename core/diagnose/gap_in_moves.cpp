// Gaps in what the program's own moves took along.
#include "diagnose/gap.h"
#include "diagnose/inner_part.h"
#include "diagnose/moves.h"
#include "diagnose/predicates.h"

#include <algorithm>

namespace devsan::diagnose {

using model::Event;
using model::FixKind;
using model::Message;

namespace {

/// The largest part around `path` of which nothing is on a GPU: the teacher of a weight of its embedding.
std::string left_with(const model::Model& model, const std::string& path) {
  for (std::size_t end = path.find('.'); end != std::string::npos; end = path.find('.', end + 1)) {
    const std::string part = path.substr(0, end);
    const auto is_moved = [&](const model::Module& module) {
      return model::is_under(module.path, part) &&
             std::ranges::any_of(module.tensors,
                                 [](const model::ModuleTensor& each) { return each.device.is_accelerator(); });
    };
    if (std::ranges::none_of(model.modules, is_moved)) return part;
  }
  return path;
}

}  // namespace

bool is_older_copy(const Gap& gap, Hypothesis& found) {
  const auto& provenance = gap.operand.provenance;
  if (provenance.empty() || provenance.front().sequence == 0 || !gap.operand.device.is_host()) return false;
  const Event& copied = provenance.front();
  const auto& all = gap.model().placements;
  const auto whole = std::ranges::find_if(all, [&](const Event& event) {
    return event.subject.empty() && event.device.is_accelerator() && event.sequence > copied.sequence;
  });
  if (whole == all.end() || !is_copy(copied)) return false;
  found.add_evidence(80, {"{name} is a copy{at}, older than the move of the model to {device}{to}, and stands in for "
                          "the model's own weight.",
                          {{"name", name_of(gap.operand)},
                           {"at", at_text(copied)},
                           {"device", whole->device.str()},
                           {"to", at_text(*whole)}}});
  found.title = {"{name} is a copy of a weight from before the model was moved to {device}",
                 {{"name", name_of(gap.operand)}, {"device", whole->device.str()}}};
  found.propose(FixKind::kCreationSite, "move the model, then copy its weights");
  return true;
}

bool is_copy_of_model(const Gap& gap, Hypothesis& found) {
  if (gap.placed == nullptr || !is_deep_copy(*gap.placed) || !gap.operand.device.is_host() ||
      !original_has_moved(gap.context, gap.partner)) {
    return false;
  }
  found.add_evidence(
      80, {"{module} is a copy{at}, which is where the original was: on {device}.",
           {{"module", gap.name}, {"at", at_text(*gap.placed)}, {"device", place_text(gap.operand.device)}}});
  found.propose(FixKind::kCreationSite, "copy the model after it was moved, or move the copy");
  return true;
}

bool is_inner_part(const Gap& gap, Hypothesis& found) {
  const auto inner = gap.never_moved ? inner_part(gap.context, gap.operand, gap.partner) : std::nullopt;
  if (!inner) return false;
  weigh_inner_part(gap.context, *inner, gap.partner, 80, found);
  return true;
}

bool is_added_to_moved(const Gap& gap, Hypothesis& found) {
  const Event* moved = put_in_after(gap.context, gap.operand);
  if (moved == nullptr) return false;
  const bool whole = moved->subject.empty();
  found.add_evidence(
      75,
      {whole ? "The model was moved as a whole{at}; {module} was added to it later."
             : "{around} was moved to {device}{at}; {module} was put into it later.",
       {{"at", at_text(*moved)}, {"module", gap.name}, {"around", moved->subject}, {"device", moved->device.str()}}});
  if (gap.placed != nullptr && gap.placed->kind == model::EventKind::kMade) {
    found.propose(FixKind::kCreationSite, {"create it on {device}{at}, or move it there before it is used",
                                           {{"device", gap.partner.device.str()}, {"at", at_text(*gap.placed)}}});
  }
  found.propose(FixKind::kConfiguration,
                whole ? Message("move the model after its last module is added")
                      : Message("move {around} after its last module is added", {{"around", moved->subject}}));
  return true;
}

bool is_not_among_moved(const Gap& gap, Hypothesis& found) {
  if (!gap.never_moved || !gap.operand.device.is_host() || is_beside_map(gap)) return false;
  const auto& all = gap.model().placements;
  const auto of_part = [](const Event& event) { return !event.subject.empty() && event.device.is_accelerator(); };
  const auto mover = std::ranges::find_if(all, of_part);
  if (std::ranges::none_of(
          all, [&](const Event& event) { return of_part(event) && !model::is_under(gap.module, event.subject); })) {
    return false;
  }
  const std::string part = gap.module.empty() ? gap.context.path_of(gap.operand) : gap.module;  // the root's own
  const bool is_librarys = mover->owner.is_known() && !mover->owner.is(model::owners::kProgram);
  const std::string whole = left_with(gap.model(), part);
  const bool alone =
      std::ranges::all_of(all, [&](const Event& event) { return !of_part(event) || event.subject == mover->subject; });
  if (is_librarys && alone &&
      !model::is_under(mover->subject, whole)) {  // a Trainer, beside whose model is another one
    const std::vector<model::Argument> facts = {{"owner", text_of(mover->owner)},
                                                {"moved", quoted(mover->subject)},
                                                {"at", at_text(*mover)},
                                                {"module", quoted(whole)},
                                                {"device", gap.partner.device.str()}};
    found.add_evidence(
        75, {"{owner} moved {moved}{at}; {module} is another module, which {owner} does not manage.", facts});
    found.propose(FixKind::kCreationSite,
                  {"move {module} to {device} as well, where it is created or where the object takes it", facts});
    return true;
  }
  found.add_evidence(
      75, {mover->owner.is_known() ? "Other modules were moved one by one by {owner}{at}; {module} is not among them."
                                   : "Other modules were moved one by one{at}; {module} is not among them.",
           {{"owner", text_of(mover->owner)}, {"at", at_text(*mover)}, {"module", part}}});
  found.propose(FixKind::kMap,
                {mover->owner.is(model::owners::kProgram) ? "move {module} as well, where the other modules are moved"
                                                          : "add {module} to what the loader moves",
                 {{"module", part}}});
  return true;
}

bool is_left_on_host(const Gap& gap, Hypothesis& found) {
  if (!gap.operand.device.is_host() || !gap.never_moved || !is_on_gpu(gap.model())) return false;
  found.add_evidence(
      60, {"Other parts of the model are on a GPU, {module} has never left the CPU.", {{"module", gap.name}}});
  if (gap.context.is_hooked()) {  // `.to()` of the whole would take the parts along that hooks bring their inputs to
    found.propose(
        FixKind::kCreationSite,
        {"move {name} alone, where it is created: `.to()` of the whole model would also move the dispatched modules",
         {{"name", name_of(gap.operand)}}});
  } else {
    found.propose(FixKind::kMap,
                  {"move {module} with the rest of the model, where the model is placed", {{"module", gap.name}}});
  }
  return true;
}

}  // namespace devsan::diagnose
