#pragma once
// The data set of a training as a window sees it: what is small at once, an image when its number is asked for, since
// the images may be in another process.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/core/not_sent.h"
#include "gpu/data/dataset.h"

namespace warpscope::training {

enum class DataPart : std::uint8_t { train, validation, test };

/// What is known of a part of the set at once.
struct ImageFacts {
  int height = 0;
  int width = 0;
  int channels = 0;
  std::int64_t count = 0;
  bool texts = false;                     ///< its images stand for texts
  std::vector<std::uint8_t> labels = {};  ///< data::ImageSet::labels
};

struct OneImage {
  std::vector<std::uint8_t> pixels;  ///< (height, width, channels)
  std::string text;                  ///< that they stand for, in a set of texts
};

struct DataView {
  std::string name;
  std::vector<std::string> classes;
  ImageFacts train, validation, test;
  /// For work on all of it; nullptr where it is in another process.
  core::NotSent<std::shared_ptr<const data::DataSet>> whole;
  /// Then this is what image() calls.
  core::NotSent<std::function<std::optional<OneImage>(DataPart, std::int64_t)>> fetch;

  const ImageFacts& facts(DataPart part) const;
  /// Nothing if there is no such image, or while it is on its way: Observations::images_arrived tells when to ask
  /// again. Never waits.
  std::optional<OneImage> image(DataPart part, std::int64_t number) const;
};

/// nullptr of nullptr.
std::shared_ptr<const DataView> view_of(std::shared_ptr<const data::DataSet> whole);

}  // namespace warpscope::training
