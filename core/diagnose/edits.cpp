#include "diagnose/edits.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "diagnose/predicates.h"
#include "diagnose/source_text.h"

namespace devsan::diagnose {

using model::Confidence;
using model::Edit;
using model::Fix;
using model::FixKind;
using model::Message;
using model::Operand;

namespace {

constexpr std::size_t kMostTogether = 3;

/// Whether `name` can stand before ".device" in another line: a variable or attribute, not an expression.
bool is_reference(const std::string& name) {
  return !name.empty() && name.find_first_of(" ()[]{}+-*/%@=,:'\"") == std::string::npos;
}

/// What stands before ".device" to ask where an operand is: a tensor's own subscript selects a part that is where the
/// whole is, and an expression is where what it is made of is. "" where nothing says it.
std::string asked_for(const Operand& operand) {
  std::string name = operand.name;
  while (name.ends_with(']')) {
    const auto opens = name.rfind('[');
    if (opens == std::string::npos || name.find_first_of(":,", opens) == std::string::npos) break;
    name.erase(opens);
  }
  const bool is_expression = name.find_first_of(" (){}+-*/%@=,:'\"") != std::string::npos || name.starts_with('[');
  return is_expression ? operand.made_of : name;
}

/// Whether `.to(...)` can follow: a name, an attribute, a call or a selection, and no operator outside of brackets.
bool is_primary(const std::string& name) {
  int depth = 0;
  char quote = 0;
  for (const char c : name) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      if (depth == 0) return false;
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (depth == 0 && std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.') {
      return false;
    }
  }
  return !name.empty() && depth == 0 && name.front() != '(' && name.front() != '[' && name.front() != '{';
}

/// What `operand` is replaced by where it is used, to be on the device of `asked`; "" where that cannot be written.
std::string moved_text(const Operand& operand, const std::string& asked) {
  if (is_reference(operand.name)) return operand.name + ".to(" + asked + ".device)";
  // A move that stands there itself is given the other's device.
  const model::Event* placed = placement_of(operand.provenance);
  if (placed != nullptr && placed->kind == model::EventKind::kMoved) {
    const std::string given = ".to(" + device_text_of(*placed) + ")";
    if (given != ".to()" && operand.name.ends_with(given)) {
      return operand.name.substr(0, operand.name.size() - given.size()) + ".to(" + asked + ".device)";
    }
  }
  const std::string whole = is_primary(operand.name) || operand.name.empty() ? operand.name : "(" + operand.name + ")";
  return whole.empty() ? "" : whole + ".to(" + asked + ".device)";
}

/// Whether `asked`, of which `partner` is, had its value when the other one was made; true where that is not known.
bool existed_at(const model::Event& made, const Operand& partner, const std::string& asked) {
  const model::Frame* here = made.written();
  for (const model::Event& event : partner.provenance) {
    // Of what is made again at one place, the number is that of the first time.
    const model::Frame* there = event.site();
    if (here != nullptr && there != nullptr && there->file == here->file && there->function == here->function &&
        there->span.line < here->span.line && there->source.starts_with(asked + " =")) {
      return true;
    }
    if (made.sequence == 0 || event.sequence == 0 || event.sequence < made.sequence) return true;
    if (event.followed.empty() || (event.followed != partner.name && event.followed != asked)) return false;
  }
  return true;
}

std::uint64_t size_of(const Operand& operand) {
  if (operand.bytes > 0) return operand.bytes;
  std::uint64_t elements = 1;
  if (operand.shape) {
    for (const auto size : *operand.shape) elements *= static_cast<std::uint64_t>(size);
  }
  return elements;
}

/// The code that moves `name`, or each tensor in it where it is a "dict" or a "tuple".
std::string moved_in(const std::string& kind, const std::string& name, const std::string& move) {
  if (kind == "dict") return "{key: value" + move + " for key, value in " + name + ".items()}";
  return kind == "tuple" ? "tuple(value" + move + " for value in " + name + ")" : name + move;
}

}  // namespace

Fix create_with(const Context& context, const Operand& operand, const model::Event& made, const Operand& partner) {
  Fix fix{FixKind::kCreationSite, "", std::nullopt, Confidence::kLikely};
  const model::Frame* site = made.written();
  const model::Frame* used = context.failure().site();
  const bool same_function = site != nullptr && used != nullptr && site->file == used->file &&
                             site->function == used->function && site->span.line <= used->span.line;
  const std::string asked = asked_for(partner);
  const bool existed = !same_function || existed_at(made, partner, asked);
  if (!together_with(context, operand, partner).empty()) fix.confidence = Confidence::kPossible;  // not enough
  std::vector<model::Argument> arguments = {
      {"name", name_of(operand)}, {"other", name_of(partner)}, {"device", partner.device.str()}};
  if (std::string place = text_of(site); !place.empty()) {
    arguments.push_back({"place", std::move(place)});
    fix.text = existed ? Message{"create {name} on the device of {other} ({place})", std::move(arguments)}
                       : Message{"create {name} on {device}, where {other} is ({place})", std::move(arguments)};
  } else {
    fix.text = existed ? Message{"create {name} on the device of {other}", std::move(arguments)}
                       : Message{"create {name} on {device}, where {other} is", std::move(arguments)};
  }
  if (same_function && existed && !asked.empty()) {
    if (auto after = with_device(site->source, made.op, asked + ".device")) {
      fix.edit = Edit{site->file, site->span.line, site->source, std::move(*after)};
    }
  }
  return fix;
}

std::optional<Fix> move_before_call(const Context& context, const Operand& operand, const Operand& partner) {
  const model::Frame& call = context.failure().call;
  if (!call.is_known() || is_weight(operand) || operand.given.empty() || partner.asked.empty()) return std::nullopt;
  const std::string moved = ".to(" + partner.asked + ".device)";
  // The first line of an edit has no indentation, the others have that of the file.
  const std::string next = "\n" + std::string(static_cast<std::size_t>(call.span.column - 1), ' ');
  std::string lines;
  std::vector<Message> names;
  for (const std::string& name : operand.given) {
    lines += name + " = " + moved_in(names.empty() ? operand.given_in : "", name, moved) + next;
    names.push_back(quoted(name));
  }
  return Fix{FixKind::kUseSite,
             {"move {name} to the device of {other} before the call",
              {{"name", list_of(names)}, {"other", quoted(partner.asked)}}},
             Edit{call.file, call.span.line, call.source, lines + call.source},
             Confidence::kLikely};
}

Fix move_at_use(const Context& context, const Operand& operand, const Operand& partner) {
  // What an operator changes in place cannot be replaced by a copy: the other side has to come.
  const auto is_changed = [&](const Operand& each) {
    return each.role == "self" && short_op(context.failure().op).ends_with('_');
  };
  for (const Operand& each : context.operands()) {
    if (is_changed(each) && each.device == operand.device && !is_changed(partner)) {
      return move_at_use(context, partner, each);
    }
  }
  if (auto before = move_before_call(context, operand, partner)) return *before;
  Fix fix{FixKind::kUseSite, "", std::nullopt, Confidence::kLikely};
  std::vector<const Operand*> moved{&operand};
  for (const Operand* each : together_with(context, operand, partner)) moved.push_back(each);
  std::vector<Message> names;
  for (const Operand* each : moved) names.push_back(name_of(*each));
  fix.text = {"move {name} to the device of {other} before they are combined",
              {{"name", list_of(names)}, {"other", name_of(partner)}}};
  const model::Frame* site = context.failure().site();
  const std::string asked = asked_for(partner);
  if (site == nullptr || asked.empty()) return fix;
  std::optional<std::string> after = site->source;
  for (const Operand* each : moved) {
    const std::string text = moved_text(*each, asked);
    if (after) after = text.empty() ? std::nullopt : replace_word(*after, each->name, text);
  }
  if (after) fix.edit = Edit{site->file, site->span.line, site->source, std::move(*after)};
  return fix;
}

std::vector<const Operand*> together_with(const Context& context, const Operand& operand, const Operand& partner) {
  std::vector<const Operand*> found;
  const model::Frame* site = context.failure().site();
  // What only a function of a library names was made there of what it was given: a GRU's first state.
  const auto is_of_library = [&](const Operand& each) {
    const int line = each.span.line;
    return line > 0 && site != nullptr &&
           (line < site->span.line || line > std::max(site->span.line, site->span.end_line));
  };
  for (const Operand& each : context.operands()) {
    const bool counted = &each != &operand && &each != &partner && each.device == operand.device && !is_weight(each) &&
                         !each.is_scalar() && each.best_name() != operand.best_name() && !is_of_library(each);
    if (counted && found.size() < kMostTogether) found.push_back(&each);
  }
  return found;
}

model::Fix load_to(const Operand& operand, const Operand& partner, const model::Event& loaded) {
  const bool said = loaded.owner.setting.starts_with("map_location=");
  const std::string device = operand.device_there.empty() ? "\"" + partner.device.str() + "\"" : operand.device_there;
  std::optional<model::Edit> edit;
  const model::Frame* site = loaded.owner.where.is_known() ? &loaded.owner.where : loaded.written();
  if (said && !operand.device_there.empty() && site != nullptr) {
    if (auto after = with_keyword(site->source, "map_location", operand.device_there)) {
      edit = model::Edit{site->file, site->span.line, site->source, std::move(*after)};
    }
  }
  return {model::FixKind::kCreationSite,
          {"load it to where {other} is: {code}", {{"other", name_of(partner)}, {"code", "map_location=" + device}}},
          std::move(edit),
          model::Confidence::kLikely};
}

std::string own_attribute(const std::string& text) {
  const bool own = is_reference(text) && text.starts_with("self.") && text.find('.', 5) == std::string::npos;
  return own ? text : "";
}

Fix register_where_made(const Context& context, const Operand& operand, const model::Event* made) {
  const model::Frame* site = made == nullptr ? nullptr : made->written();
  const auto is_made_by = [&](const model::Module& module) {
    return site->function == std::string(last_part(module.type)) + ".__init__";
  };
  const bool in_module = site != nullptr && context.model() != nullptr &&
                         std::any_of(context.model()->modules.begin(), context.model()->modules.end(), is_made_by);
  std::string kept = own_attribute(operand.name);
  // By another name it is the attribute itself, and no part of one, where a module keeps it under that attribute's name.
  const std::string by_path = own_attribute("self." + std::string(last_part(operand.kept_as)));
  if (kept.empty() && in_module) kept = by_path;
  const std::string& known = kept.empty() ? by_path : kept;
  const std::string name = known.empty() ? "..." : known.substr(5);
  Fix fix{FixKind::kCreationSite,
          {"register it where it is created: {code}",
           {{"code", "self.register_buffer(\"" + name + "\", ..., persistent=False)"}}},
          std::nullopt,
          Confidence::kLikely};
  const std::string assigned = kept + " = ";
  if (!in_module || kept.empty() || !site->source.starts_with(assigned) ||
      site->source.find_first_of("\n;") != std::string::npos) {
    return fix;
  }
  const std::string value = site->source.substr(assigned.size());
  if (value.empty() || std::string_view("[{(").find(value.front()) != std::string_view::npos) return fix;  // of tensors
  const auto comment = site->source.find('#');
  std::string statement = site->source.substr(0, comment);
  if (comment != std::string::npos && statement.find_first_of("\"'") != std::string::npos) return fix;  // in a string
  statement.erase(statement.find_last_not_of(' ') + 1);
  fix.edit =
      Edit{site->file, site->span.line, statement,
           "self.register_buffer(\"" + name + "\", " + statement.substr(assigned.size()) + ", persistent=False)"};
  return fix;
}

std::optional<Edit> amended_edit(const model::Event& event) {
  const model::Frame* site = event.site();
  if (site == nullptr || event.amended.empty()) return std::nullopt;
  return Edit{site->file, site->span.line, site->source, event.amended};
}

const Operand& smaller_of(const Operand& one, const Operand& other) {
  return size_of(other) < size_of(one) ? other : one;
}

}  // namespace devsan::diagnose
