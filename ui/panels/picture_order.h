#pragma once
// The order of the images and the figures that it was made of, kept for a while so that images do not dance. No drawing
// here.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ui/panels/picture_figures.h"
#include "ui/panels/picture_rows.h"

namespace warpscope::ui {

/// For each row, one number an image.
using RowNumbers = std::array<std::vector<double>, kPictureRows>;

/// What the order depends on at once.
struct OrderChoice {
  PictureOrder order = PictureOrder::stored;
  PictureMetric metric = PictureMetric::psnr;
  PictureChoices rows;
  int wanted_class = kAllClasses;
  int count = 0;                             ///< images
  std::optional<std::uint64_t> past_step{};  ///< of pictures that do not change with the training

  bool operator==(const OrderChoice&) const = default;
};

/// What it follows within a second.
struct OrderNumbers {
  RowNumbers figures;
  std::vector<double> changes;
  std::uint64_t step = 0;  ///< that they belong to

  bool operator==(const OrderNumbers&) const = default;
};

class KeptPictureOrder {
 public:
  /// Makes the order anew if the choice is another, or if the numbers are others, a second has passed and it is not
  /// `held`, because somebody points at the images. `now` is in seconds.
  void update(const OrderChoice& choice, const OrderNumbers& numbers, std::span<const std::uint8_t> labels,
              double now, bool held);

  const std::vector<int>& images() const { return images_; }
  /// Those that are to stand at the images: where these are sorted by them, the ones that they were sorted by.
  const RowNumbers& figures() const { return numbers_.figures; }
  /// The step that the order belongs to.
  std::uint64_t step() const { return numbers_.step; }
  /// When it will be made anew, as things stand; nothing if it is up to date or held.
  std::optional<double> renewal() const { return renewal_; }

 private:
  OrderChoice choice_;
  OrderNumbers numbers_;
  std::vector<int> images_;
  double made_ = 0;
  bool any_ = false;
  std::optional<double> renewal_;
};

}  // namespace warpscope::ui
