#include "diagnose/identity.h"

#include <cstdint>

namespace devsan::diagnose {

namespace {

/// FNV-1a over pieces, with a byte between them that occurs in none.
class Digest {
 public:
  void add(std::string_view text) {
    for (const char c : text) mix(static_cast<unsigned char>(c));
    mix(0xff);
  }
  std::string hex() const {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (int shift = 44; shift >= 0; shift -= 4) text += kDigits[(state_ >> shift) & 15];
    return text;
  }

 private:
  void mix(unsigned char byte) { state_ = (state_ ^ byte) * 0x100000001b3ULL; }
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

void add_frame(Digest& digest, const model::Frame* frame) {
  if (frame == nullptr) return digest.add("");
  const auto slash = frame->file.rfind('/');
  digest.add(slash == std::string::npos ? frame->file : std::string_view(frame->file).substr(slash + 1));
  digest.add(frame->function);
  digest.add(frame->source);
}

}  // namespace

std::string failure_id(const Context& context, std::string_view code) {
  Digest digest;
  digest.add(code);
  digest.add(short_op(context.failure().op));
  for (const model::Operand& operand : context.operands()) {
    digest.add(operand.role);
    const model::Event* placed = placement_of(operand.provenance);
    digest.add(placed == nullptr ? "" : placed->owner.name);
  }
  add_frame(digest, context.failure().site());
  return digest.hex();
}

std::string cause_id(const Context& context, const Hypothesis& hypothesis) {
  if (hypothesis.origin == nullptr || hypothesis.origin->site() == nullptr) return failure_id(context, hypothesis.code);
  Digest digest;
  digest.add(hypothesis.code);
  digest.add(hypothesis.origin->owner.name);
  if (hypothesis.value.empty()) {
    add_frame(digest, hypothesis.origin->site());
  } else {  // every line that it decides is of one cause
    digest.add(hypothesis.value);
  }
  return digest.hex();
}

std::string texts_id(std::initializer_list<std::string_view> texts) {
  Digest digest;
  for (const std::string_view text : texts) digest.add(text);
  return digest.hex();
}

}  // namespace devsan::diagnose
