#pragma once

#include <string>
#include <utility>
#include <vector>

namespace devsan::model {

struct Argument;

// NOTE [Messages]
// A sentence for people is kept as the English template that it was made from, which is also its id in the catalogs
// (gettext's way), and as what fills its slots. It is put into words where it is printed, in the language that is
// wanted there; C++ alone has English. A template is a literal, so that tools/messages.py can find it: a sentence is
// never put together from pieces of sentences.

/// A sentence, or a name or number that is a part of one.
class Message {
 public:
  Message() = default;
  /// A sentence without slots. It is its own id.
  Message(const char* sentence) : text_(sentence), id_(sentence) {}  // NOLINT(google-explicit-constructor)
  /// A name, a number, a piece of source: it is the same in every language.
  Message(std::string words) : text_(std::move(words)) {}  // NOLINT(google-explicit-constructor)
  /// "{name} is on {device}" with its arguments by name. Each slot needs its argument.
  Message(const char* id, std::vector<Argument> arguments);
  /// The form for one and the form for other numbers; {n} is the number.
  Message(const char* one, const char* many, long n, std::vector<Argument> arguments = {});

  const std::string& text() const { return text_; }  ///< in English
  const std::string& id() const { return id_; }      ///< "" for what is not translated
  const std::string& plural() const { return plural_; }
  long n() const { return n_; }  ///< decides between the forms where there is a plural
  const std::vector<Argument>& arguments() const { return arguments_; }
  bool empty() const { return text_.empty(); }
  /// Begins the English text with a capital letter: its first slot may hold a phrase.
  void capitalize();

  /// For what is read back from a record: as it was.
  static Message recorded(std::string text, std::string id, std::string plural, long n,
                          std::vector<Argument> arguments);

  bool operator==(const Message& other) const { return text_ == other.text_; }

 private:
  std::string text_;
  std::string id_;
  std::string plural_;
  long n_ = 0;
  std::vector<Argument> arguments_;
};

struct Argument {
  std::string name;
  Message value;
};

}  // namespace devsan::model
