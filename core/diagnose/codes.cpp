#include "diagnose/codes.h"

#include <algorithm>

namespace devsan::diagnose {

namespace {

using namespace code;

constexpr Code kCodes[] = {
#include "diagnose/code_table.inc"
};

}  // namespace

std::span<const Code> codes() { return kCodes; }

const Code* find_code(std::string_view code) {
  const auto found = std::ranges::find(codes(), code, &Code::code);
  return found == codes().end() ? nullptr : &*found;
}

}  // namespace devsan::diagnose
