#pragma once
// What a rank tells rank 0 of the images that it answered: numbers only, since rank 0 knows what images are called.

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/inference/image_source.h"
#include "gpu/inference/inference.h"

namespace warpscope::inference {

struct RankReport {
  RankShare share;
  std::vector<std::int64_t> images;  ///< ImageName::index of each answer
  std::vector<std::uint8_t> finite;  ///< Answer::finite
  std::vector<std::int32_t> labels;  ///< of its guesses, as many of each; zeros where it is not finite
  std::vector<double> values;        ///< their probabilities, or the error of each image
  std::vector<std::string> refused;
  std::uint64_t turned = 0;
  bool interrupted = false;
  Samples samples;
};

RankShare share_of(const Findings& findings, const std::string& device);
RankReport report_of(const Findings& findings, const std::string& device);

/// Puts what is reported behind `all`, with the names that images have in `source`. Throws core::BadInput where it is
/// no report on those.
void add(RankReport report, const DividedSource& source, Findings& all);

}  // namespace warpscope::inference
