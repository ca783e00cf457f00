#pragma once

#include <c10/util/Exception.h>

namespace devsan::intercept {

/// While it lives, the dispatcher does not warn of kernels that are overridden (in a CUDA build every factory is): that
/// is meant here, and no news to the user.
class QuietRegistration {
 public:
  QuietRegistration() : guard_(&handler_) {}

 private:
  class Silence final : public c10::WarningHandler {
    void process(const c10::Warning& /*warning*/) override {}
  };
  Silence handler_;
  c10::WarningUtils::WarningHandlerGuard guard_;
};

}  // namespace devsan::intercept
