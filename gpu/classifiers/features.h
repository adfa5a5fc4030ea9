#pragma once
// What classifiers learn from: one row of numbers an image, and its class.

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string_view>

#include "gpu/core/device.h"

namespace warpscope::classifiers {

/// (rows, columns) numbers in FP32, row after row without gaps, in memory of the device that works on them (of the
/// host, where that is the CPU). Not owned.
struct FeatureMatrix {
  const float* values = nullptr;
  std::int64_t rows = 0;
  int columns = 0;
};

/// Rows and their classes. Not owned.
struct LabelledFeatures {
  FeatureMatrix features;
  std::span<const int> labels;  ///< one a row, in [0, classes), on the host
  int classes = 0;              ///< a class may have no row
};

/// How somebody else sees and ends a fit. Both may be empty. Fits look at `stop` at least every 50 ms of device
/// time and throw Cancelled; what they were given is unchanged.
struct Watch {
  std::function<void(double part, std::string_view phase)> progress;  ///< part of all work, from 0 to 1
  std::stop_token stop;
};

/// Where a fit runs: launches go into `stream`; the calling thread has made the device its current one.
struct Place {
  std::shared_ptr<core::Device> device;
  core::Stream* stream = nullptr;
};

/// A fit was ended by Watch::stop.
class Cancelled : public std::exception {
 public:
  const char* what() const noexcept override { return "cancelled"; }
};

/// Throws BadInput in one sentence if there are no rows or columns, if labels are not one a row or not in
/// [0, classes), or if fewer than two classes have rows.
void check_labels(const LabelledFeatures& data);

}  // namespace warpscope::classifiers
