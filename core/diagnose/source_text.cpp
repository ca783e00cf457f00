#include "diagnose/source_text.h"

#include "diagnose/texts.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace devsan::diagnose {

using model::DeviceSource;

namespace {

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

/// The end of the argument that starts at `start`: the comma or bracket that closes it. npos where the text ends first.
std::size_t end_of_argument(std::string_view text, std::size_t start) {
  int depth = 0;
  char quote = 0;
  for (std::size_t at = start; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      if (depth-- == 0) return at;
    } else if (c == ',' && depth == 0) {
      return at;
    }
  }
  return std::string_view::npos;
}

/// The closing bracket of the call whose arguments start at `start`; npos where the text ends first.
std::size_t end_of_call(std::string_view text, std::size_t start) {
  std::size_t at = end_of_argument(text, start);
  while (at != std::string_view::npos && text[at] == ',') at = end_of_argument(text, at + 1);
  return at;
}

/// Where the value of `keyword=` starts, at or after `from`; npos without one.
std::size_t keyword_value(std::string_view text, std::string_view keyword, std::size_t from = 0) {
  for (std::size_t at = text.find(keyword, from); at != std::string_view::npos; at = text.find(keyword, at + 1)) {
    std::size_t after = at + keyword.size();
    if (at > 0 && (is_name(text[at - 1]) || text[at - 1] == '.')) continue;
    while (after < text.size() && text[after] == ' ') ++after;
    if (after < text.size() && text[after] == '=' && (after + 1 == text.size() || text[after + 1] != '=')) {
      // An assignment `device = ...` has no call around it.
      if (text.substr(0, at).find('(') != std::string_view::npos) return after + 1;
    }
  }
  return std::string_view::npos;
}

std::string_view innermost_string(std::string_view text) {
  const auto open = text.find_first_of("\"'");
  if (open == std::string_view::npos) return {};
  const auto close = text.find(text[open], open + 1);
  return close == std::string_view::npos ? std::string_view() : text.substr(open + 1, close - open - 1);
}

/// Where `word` stands as a whole name, at or after `from`: `x` is in `x + 1` and `x.view(-1)`, but in neither `xs` nor `a.x`.
std::size_t find_word(std::string_view text, std::string_view word, std::size_t from = 0) {
  if (word.empty()) return std::string_view::npos;
  for (auto at = text.find(word, from); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const bool starts = at == 0 || (!is_name(text[at - 1]) && text[at - 1] != '.');
    const auto after = at + word.size();
    const bool ends = after == text.size() || !is_name(text[after]);
    if (starts && ends) return at;
  }
  return std::string_view::npos;
}

/// Where `statement` calls the factory `op` of torch; where the operator says nothing, the only factory it calls.
std::optional<std::size_t> find_factory(std::string_view statement, std::string_view op) {
  if (op.starts_with("aten::")) op.remove_prefix(6);
  std::optional<std::size_t> found;
  for (std::string_view factory : {"zeros", "ones", "empty", "full", "rand", "randn", "randint", "randperm", "arange",
                                   "linspace", "tensor", "as_tensor", "eye", "tril_indices", "triu_indices"}) {
    const auto call = "torch." + std::string(factory) + "(";
    const auto at = statement.find(call);
    if (at == std::string_view::npos) continue;
    if (factory == op) return statement.find(call, at + 1) == std::string_view::npos ? std::optional(at) : std::nullopt;
    if (found || statement.find(call, at + 1) != std::string_view::npos) return std::nullopt;
    found = at;
  }
  return found;
}

/// Whether it picks one of several devices, a plan by hand: by a number that the program computes, `devices[i // per]`, or
/// by the name of a part, `self.device_map["decoder"]`. What is called "device" in a configuration is one value.
bool is_chosen_from_list(std::string_view text) {
  const auto opens = text.find('[');
  if (opens == std::string_view::npos || !text.ends_with(']') || opens == 0) return false;
  const auto index = text.substr(opens + 1, text.size() - opens - 2);
  if (index.find_first_of("\"'") == std::string_view::npos) {
    return std::any_of(index.begin(), index.end(), [](unsigned char c) { return std::isalpha(c) != 0; });
  }
  const auto table = text.substr(0, opens);
  return index.find("dev") == std::string_view::npos &&
         (table.ends_with("map") || table.ends_with("devices") || table.ends_with("placement"));
}

}  // namespace

std::optional<std::string> keyword_argument(std::string_view statement, std::string_view keyword) {
  const auto start = keyword_value(statement, keyword);
  if (start == std::string_view::npos) return std::nullopt;
  const auto end = end_of_argument(statement, start);
  return std::string(trim(statement.substr(start, end == std::string_view::npos ? end : end - start)));
}

std::optional<std::string> device_argument(std::string_view statement) {
  if (auto text = keyword_argument(statement, "device")) return text;
  for (std::string_view method : {std::string_view(".to("), std::string_view(".cuda("), std::string_view(".cpu(")}) {
    for (auto call = statement.find(method); call != std::string_view::npos; call = statement.find(method, call + 1)) {
      const auto start = call + method.size();
      const auto end = end_of_argument(statement, start);
      const auto text = trim(statement.substr(start, end == std::string_view::npos ? end : end - start));
      if (method == ".cpu(") return "\"cpu\"";
      if (text.empty()) return "\"cuda\"";
      const bool is_dtype =
          text.ends_with(".dtype") || (text.starts_with("torch.") && !text.starts_with("torch.device"));
      if (!is_dtype) return std::string(text);  // not .to(torch.float16)
    }
  }
  return std::nullopt;
}

DeviceSource source_of_text(std::string_view text) {
  text = trim(text);
  if (text.empty() || text == "None") return DeviceSource::kDefault;
  const bool formatted = text.front() == 'f' && text.size() > 1 && (text[1] == '"' || text[1] == '\'');
  if (formatted || text.find(" + ") != std::string_view::npos || text.find('%') != std::string_view::npos) {
    return DeviceSource::kScalar;  // f"cuda:{index}"
  }
  if (std::isdigit(static_cast<unsigned char>(text.front())) != 0) return DeviceSource::kLiteral;
  if (is_chosen_from_list(text)) return DeviceSource::kMap;
  if (text.find("current_device()") != std::string_view::npos) return DeviceSource::kCurrent;
  if (text.starts_with("torch.device(") || text.front() == '"' || text.front() == '\'') {
    const auto name = innermost_string(text);
    if (name.empty()) return DeviceSource::kScalar;
    const bool indexed = name.find(':') != std::string_view::npos || text.find(',') != std::string_view::npos;
    return name == "cuda" && !indexed ? DeviceSource::kCurrent : DeviceSource::kLiteral;
  }
  // `x.device` is a tensor's; `self.device`, `model.device` and `args.device` stand for many tensors.
  if (text.ends_with(".device")) {
    const auto holder = text.substr(0, text.size() - 7);
    for (std::string_view word :
         {"args", "conf", "cfg", "setting", "params", "model", "opt", "trainer", "accelerator", "pipe"}) {
      if (holder.find(word) != std::string_view::npos) return DeviceSource::kScalar;
    }
    return holder == "self" ? DeviceSource::kScalar : DeviceSource::kPeer;
  }
  return DeviceSource::kScalar;
}

DeviceSource source_of(const model::Event& event) {
  if (event.source != DeviceSource::kUnknown) return event.source;
  if (!event.device_text.empty()) return source_of_text(event.device_text);
  const model::Frame* site = event.written();
  if (site == nullptr || site->source.empty()) return DeviceSource::kUnknown;
  if (const auto text = device_argument(site->source)) return source_of_text(*text);
  // A factory that names none; not what a module or an operator, called here, allocated for itself.
  const auto colons = event.op.rfind(':');
  const std::string call = event.op.substr(colons == std::string::npos ? 0 : colons + 1) + "(";
  const bool named = event.kind == model::EventKind::kMade && site->source.find(call) != std::string::npos;
  return named ? DeviceSource::kDefault : DeviceSource::kUnknown;
}

std::string device_text_of(const model::Event& event) {
  if (!event.device_text.empty()) return event.device_text;
  const model::Frame* site = event.written();
  return site == nullptr ? "" : device_argument(site->source).value_or("");
}

model::Message device_value_of(const model::Event& event) {
  if (event.device_value.empty()) return {};
  return {"{name} is {value}, at {place}.",
          {{"name", quoted(device_text_of(event))},
           {"value", quoted(event.device_value)},
           {"place", event.device_value_at}}};
}

int count_word(std::string_view text, std::string_view word) {
  int count = 0;
  for (auto at = find_word(text, word); at != std::string_view::npos; at = find_word(text, word, at + 1)) ++count;
  return count;
}

std::optional<std::string> replace_word(std::string_view text, std::string_view word, std::string_view replacement) {
  if (count_word(text, word) != 1) return std::nullopt;
  const auto at = find_word(text, word);
  return std::string(text.substr(0, at)) + std::string(replacement) + std::string(text.substr(at + word.size()));
}

std::optional<std::string> with_device(std::string_view statement, std::string_view op, std::string_view device) {
  if (const auto start = keyword_value(statement, "device"); start != std::string_view::npos) {
    const auto end = end_of_argument(statement, start);
    // Of several calls that say a device it is not known here which of them makes the tensor.
    if (end == std::string_view::npos || keyword_value(statement, "device", end) != std::string_view::npos)
      return std::nullopt;
    return std::string(statement.substr(0, start)) + std::string(device) + std::string(statement.substr(end));
  }
  const auto call = find_factory(statement, op);
  if (!call) return std::nullopt;
  const auto start = statement.find('(', *call) + 1;
  const auto end = end_of_call(statement, start);
  if (end == std::string_view::npos) return std::nullopt;
  const bool has_arguments = !trim(statement.substr(start, end - start)).empty();
  return std::string(statement.substr(0, end)) + (has_arguments ? ", device=" : "device=") + std::string(device) +
         std::string(statement.substr(end));
}

std::optional<std::string> with_keyword(std::string_view statement, std::string_view name, std::string_view value) {
  const std::string given = std::string(name) + "=";
  const auto at = statement.find(given);
  if (at == std::string_view::npos || statement.find(given, at + 1) != std::string_view::npos) return std::nullopt;
  const auto end = end_of_argument(statement, at + given.size());
  if (end == std::string_view::npos || (at > 0 && is_name(statement[at - 1]))) return std::nullopt;
  return std::string(statement.substr(0, at)) + given + std::string(value) + std::string(statement.substr(end));
}

}  // namespace devsan::diagnose
