#pragma once
// What a rank tells rank 0 of the images that it answered: numbers only, since rank 0 knows what images are called.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpu/inference/image_source.h"
#include "gpu/inference/inference.h"

namespace warpscope::inference {

struct AnswerNumbers {
  std::vector<std::int64_t> images;  ///< ImageName::index of each answer
  std::vector<std::uint8_t> finite;  ///< Answer::finite
  std::vector<std::uint8_t> counts;  ///< of its guesses
  std::vector<std::int32_t> labels;  ///< of all guesses
  std::vector<double> values;  ///< their probabilities; of an answer without guesses the error of the image
};

/// Puts numbers of `answers` behind `numbers`.
void append(std::span<const Answer> answers, AnswerNumbers& numbers);

/// Makes answers of the numbers again, with the names that images have in `source`, at the beginning of `room`. Throws
/// core::BadInput where they are no numbers of those images, or there are more than `room` takes.
void make_answers(const AnswerNumbers& numbers, const DividedSource& source, std::span<Answer> room);

/// All else, when all is answered.
struct RankReport {
  RankShare share;
  double aside = 0;  ///< Findings::aside
  std::vector<std::string> refused;
  std::uint64_t turned = 0;
  bool interrupted = false;
  Samples samples;
};

RankShare share_of(const Findings& findings, const std::string& device);
RankReport report_of(const Findings& findings, const std::string& device);

/// Puts what is reported behind `all`, but for its answers.
void add(RankReport report, Findings& all);

}  // namespace warpscope::inference
