#pragma once

namespace devsan::intercept {

/// Puts a kernel before torch's meta kernels that notices real results of operands without elements. See NOTE [Results
/// without a value] in guard/meta_mixes.h. Calls without a tensor on the meta device do not come here.
void start_meta_watch();
void stop_meta_watch();

}  // namespace devsan::intercept
