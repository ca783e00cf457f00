#pragma once

#include <cstdint>

namespace devsan::memory {

/// A part of the program that takes memory, by whatever number the caller knows it; 0 is none.
using Scope = std::uint64_t;

/// The part that runs on this thread, for as long as the object lives; then the one around it runs again. While peaks are
/// watched, each block keeps the part that took it.
class ScopeGuard {
 public:
  explicit ScopeGuard(Scope scope) noexcept : before_(current_) { current_ = scope; }
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;
  ~ScopeGuard() { current_ = before_; }

  [[nodiscard]] static Scope current() noexcept { return current_; }

 private:
  static inline thread_local Scope current_ = 0;

  Scope before_;
};

}  // namespace devsan::memory
