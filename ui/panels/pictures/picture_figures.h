#pragma once
// How near pictures come to their originals, computed by a thread of their own, and the order that follows from it. No
// drawing here.

#include <array>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gpu/messages/image_history.h"
#include "ui/panels/pictures/picture_rows.h"

namespace warpscope::ui {

enum class PictureMetric : std::uint8_t { psnr, ssim, mse };
inline constexpr std::array<const char*, 3> kPictureMetrics{"PSNR", "SSIM", "MSE"};

/// Figures of each image.
struct PictureFigures {
  std::vector<double> mse;   ///< mean squared error over pixels and channels
  std::vector<double> ssim;  ///< inspect::ssim(); empty where it was not asked for

  /// One number an image: PSNR in dB is -10 log10(MSE).
  std::vector<double> values(PictureMetric metric) const;
};

/// The tool-tip of a figure's name: what it is and how it is measured here.
std::string tip_of(PictureMetric metric);
/// "" of SSIM and MSE
const char* unit_of(PictureMetric metric);
/// "24.13", "0.913", "0.00386": as short as it tells images apart, `narrow`: with a digit less; "-" of what is not a
/// number.
std::string figure_text(PictureMetric metric, double value, bool narrow = false);
/// The mean over the images.
double mean_figure(const std::vector<double>& values);

using SharedValues = std::shared_ptr<const std::vector<float>>;

/// Figures of `pictures` against `original`.
PictureFigures figures_of(const std::vector<float>& original, const std::vector<float>& pictures,
                          const training::ImageShape& shape, bool with_ssim);

/// The figures of each row, ever anew: while newer ones are computed the last ones stay.
class RowFigures {
 public:
  /// Has the row's figures computed if they are of other pictures. nullptr: the row has none.
  void want(PictureRow row, const SharedValues& original, const SharedValues& pictures,
            const training::ImageShape& shape, bool with_ssim);
  /// nullptr before the first.
  const PictureFigures* find(PictureRow row) const;
  /// Takes what has been computed. True if there is something new. Never waits.
  bool advance();

 private:
  struct Slot {
    SharedValues of, computing;
    bool with_ssim = false;
    std::shared_ptr<PictureFigures> figures;
    std::future<PictureFigures> job;
  };
  std::array<Slot, kPictureRows> slots_;
};

/// The figures of all pictures that a history keeps.
class HistoryFigures {
 public:
  struct Moment {
    std::uint64_t step = 0;
    PictureFigures figures;
  };

  /// Follows the history; with `with_ssim` a thread computes what is missing, a few steps at a time.
  void update(const std::shared_ptr<const training::ImageHistory>& history, bool with_ssim);
  /// In the order of their steps.
  const std::vector<Moment>& moments() const { return moments_; }
  /// As RowFigures::advance().
  bool advance();
  /// Grows with each change of moments().
  std::uint64_t version() const { return version_; }

 private:
  using Computed = std::map<std::uint64_t, PictureFigures>;
  void start();

  std::shared_ptr<const training::ImageHistory> history_;
  std::uint64_t seen_ = 0;  ///< ImageHistory::version()
  bool with_ssim_ = false;
  std::vector<Moment> moments_;
  std::uint64_t version_ = 0;
  std::future<Computed> job_;
};

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

/// The order of the images and the figures that it was made of, kept for a while so that images do not dance.
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
