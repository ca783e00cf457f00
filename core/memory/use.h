#pragma once

#include <cstdint>

namespace devsan::memory {

/// What memory is used for, where neither an operator nor a name tells: said by whoever sees its tensor being used, for as
/// long as it is allocated. A later one says more.
enum class Use : std::uint8_t {
  kNone,
  kCommunication,  ///< a collective was given it, or filled it
  kCache,          ///< a model keeps keys or values of earlier tokens in it
};

}  // namespace devsan::memory
