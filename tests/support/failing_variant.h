#pragma once
// A kernel like one of a user, behind one of whose calls its process can do nothing more on the device.

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "gpu/core/device_lost.h"
#include "gpu/ops/variant.h"

namespace warpscope::tests {

inline constexpr const char* kFailing = "user:failing";
inline constexpr const char* kFailure = "an illegal memory access was encountered";

/// Those of this build and, for relu.forward on the CPU, kFailing: as `loops` until `fails` says otherwise.
inline ops::Variants with_failing_relu(std::function<bool()> fails) {
  ops::Variant made =
      *ops::find_variant(*ops::built_in_variants(), ops::Op::relu_forward, core::DeviceKind::cpu, "loops");
  made.name = kFailing;
  made.presets = {};
  made.launch = [fails = std::move(fails), right = std::move(made.launch)](const ops::OpCall& call) {
    if (fails()) throw core::DeviceLost(kFailure);
    right(call);
  };
  return ops::with_variant(*ops::built_in_variants(), std::move(made));
}

/// The same: so many of its calls are as those of `loops`.
inline ops::Variants with_failing_relu(int calls) {
  return with_failing_relu([calls, done = std::make_shared<std::atomic<int>>(0)] { return ++*done > calls; });
}

}  // namespace warpscope::tests
