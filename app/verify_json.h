#pragma once
// What `warpscope verify` found, as JSON.

#include <algorithm>
#include <string>
#include <vector>

#include "app/choices.h"
#include "gpu/verify/verify.h"

namespace warpscope::app {

struct VerifyReport {
  core::DeviceInfo device;
  verify::VerifyOptions options;
  std::vector<verify::VerifyRow> rows;
  std::vector<const ops::Variant*> missing;  ///< variants for which there is no device
  std::string missing_reason;
  double seconds = 0;
  bool complete = true;  ///< not interrupted

  int failed() const {
    return static_cast<int>(
        std::count_if(rows.begin(), rows.end(), [](const auto& row) { return !row.failure.empty(); }));
  }
};

/// One object: device, seed, rows, and the variants without a device. Ends with a newline.
std::string to_json(const VerifyReport& report);

}  // namespace warpscope::app
