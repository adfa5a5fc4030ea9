#pragma once

#include "gpu/core/error.h"

namespace warpscope::core {

/// Nothing more can be done on the device in this process: every later call gives the same error. Another process can
/// go on. What check_cuda() throws then.
class DeviceLost : public Error {
 public:
  using Error::Error;
};

}  // namespace warpscope::core
