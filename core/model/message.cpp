#include "model/message.h"

#include <algorithm>
#include <cctype>

namespace devsan::model {

namespace {

/// The template with its slots filled in English; a slot without an argument stays as it is.
std::string filled(const std::string& id, const std::vector<Argument>& arguments) {
  std::string text;
  std::size_t at = 0;
  while (at < id.size()) {
    const auto open = id.find('{', at);
    const auto close = open == std::string::npos ? open : id.find('}', open);
    if (close == std::string::npos) break;
    text.append(id, at, open - at);
    const std::string name = id.substr(open + 1, close - open - 1);
    const auto found = std::ranges::find(arguments, name, &Argument::name);
    text += found == arguments.end() ? "{" + name + "}" : found->value.text();
    at = close + 1;
  }
  return text.append(id, at, std::string::npos);
}

}  // namespace

Message::Message(const char* id, std::vector<Argument> arguments)
    : text_(filled(id, arguments)), id_(id), arguments_(std::move(arguments)) {}

Message::Message(const char* one, const char* many, long n, std::vector<Argument> arguments)
    : id_(one), plural_(many), n_(n), arguments_(std::move(arguments)) {
  arguments_.push_back({"n", Message(std::to_string(n))});
  text_ = filled(n == 1 ? id_ : plural_, arguments_);
}

void Message::capitalize() {
  if (!text_.empty()) text_.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text_.front())));
}

Message Message::recorded(std::string text, std::string id, std::string plural, long n,
                          std::vector<Argument> arguments) {
  Message message;
  message.text_ = std::move(text);
  message.id_ = std::move(id);
  message.plural_ = std::move(plural);
  message.n_ = n;
  message.arguments_ = std::move(arguments);
  return message;
}

}  // namespace devsan::model
