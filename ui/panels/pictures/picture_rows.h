#pragma once
// Which versions of the shown images stand below each other, what the training is asked for to show them, and in
// which order the images stand. No drawing here.

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/core/types.h"
#include "gpu/data/own_images.h"
#include "gpu/messages/comparison.h"
#include "ui/images/conversion.h"

namespace warpscope::ui {

/// The rows of a band, from above.
enum class PictureRow : std::uint8_t {
  original,
  now,         ///< what the network makes of it, with the variants and the precision of the training
  other,       ///< the same weights by other variants or in another precision: A/B
  earlier,     ///< a moment of this run
  checkpoint,  ///< of this run, a file
  run,         ///< the newest or best checkpoint of another run
  difference,  ///< of two of these
};
inline constexpr std::size_t kPictureRows = 7;

constexpr std::size_t index_of(PictureRow row) {
  return static_cast<std::size_t>(row);
}

/// A file of weights, as a person chooses it.
struct WeightsFile {
  std::string path;
  std::string name;  ///< "step 1,200", "20260131T235959Z-1, best"

  bool operator==(const WeightsFile&) const = default;
};

/// What a person has chosen.
struct PictureChoices {
  std::array<bool, kPictureRows> shown{true, true, false, false, false, false, true};
  std::optional<core::Precision> precision;  ///< of `other`; nothing: the training's
  std::string preset;                        ///< plan::Preset::id of `other`; "": the training's variants
  std::optional<std::uint64_t> earlier;      ///< step; nothing: the first that is kept
  WeightsFile checkpoint, run;
  PictureRow minuend = PictureRow::now, subtrahend = PictureRow::original;

  bool operator==(const PictureChoices&) const = default;
  bool shows(PictureRow row) const { return shown[index_of(row)]; }
};

/// Those that are shown, from above.
std::vector<PictureRow> shown_rows(const PictureChoices& choices);
/// True if the difference is the one that the device makes with each batch: now - original.
bool is_plain_difference(const PictureChoices& choices);

/// Shows or hides a row. Together with A/B the difference becomes that of A/B and now; when one of its rows goes, it
/// becomes that of now and original again.
void set_shown(PictureChoices& choices, PictureRow row, bool shown);

/// Why numbers of the row `now` are needed in host memory.
struct PictureNeeds {
  bool now = false;                            ///< a figure, an order or an enlarged picture is made of them
  int count = 0;                               ///< held-out images that are shown
  std::shared_ptr<const data::OwnImages> own;  ///< shown instead
};

/// What the training is asked for; nothing where all that is shown is there already.
struct PictureRequest {
  training::ComparisonRequest request;
  std::array<int, kPictureRows> place;  ///< of each row among its reconstructors; -1: none of them

  bool empty() const { return request.reconstructors.empty(); }
};
/// `precision`: that of the training.
PictureRequest make_request(const PictureChoices& choices, const PictureNeeds& needs,
                            const core::DeviceInfo& device, core::Precision precision);

/// What A/B becomes by one more choice in its menu: each preset that can be chosen and the training's variants, each
/// precision and the training's.
training::ComparisonRequest likely_request(const PictureChoices& choices, const PictureNeeds& needs,
                                           const core::DeviceInfo& device, core::Precision precision);

/// The word for a row in the trace and in settings: "original", "other".
const char* row_key(PictureRow row);

/// "original", "now", "bf16 naive", "checkpoint step 1,200"
std::string row_name(const PictureChoices& choices, PictureRow row);

/// All rows that are shown, from above: "original, now, bf16, bf16 - now".
std::string rows_text(const PictureChoices& choices);

/// The two rows of the difference: "now - original".
std::string difference_name(const PictureChoices& choices);

enum class PictureOrder : std::uint8_t { stored, worst, best, most_changed };
inline constexpr std::array<const char*, 4> kPictureOrders{"stored", "worst first", "best first",
                                                           "most changed"};
inline constexpr int kAllClasses = -1;

/// What the order of the images follows from; lists are empty where a number is not known.
struct OrderFigures {
  std::span<const double> quality;  ///< larger is better, one an image
  std::span<const double> change;   ///< one an image
  std::span<const std::uint8_t> labels;
};

/// The images of class `wanted` (kAllClasses: all) in the order. Equal ones stay as they are stored; what is not a
/// number counts as the worst and the most changed. Without the numbers that an order needs: as stored.
std::vector<int> arrange_pictures(int count, PictureOrder order, int wanted, const OrderFigures& figures);

/// What lies between two versions of the same images: of d = a - b over all values.
struct DifferenceFigures {
  double mean_absolute = 0;
  float largest = 0;  ///< d where |d| is largest
  int image = 0;      ///< and where that is
  int y = 0;
  int x = 0;
  int channel = 0;
};
/// Both have shape.elements() values. A value that is not a number counts as the largest.
DifferenceFigures compare_pictures(std::span<const float> a, std::span<const float> b,
                                   const training::ImageShape& shape);

inline constexpr double kRangePart = 0.995;

/// The end of a colour scale that follows the pictures: so large that kRangePart of all pixels lie within it, rounded
/// up to two digits, at least 1e-6. A pixel counts by the mean of d over its channels; one that is no number does not.
float automatic_range(std::span<const float> a, std::span<const float> b, const training::ImageShape& shape,
                      images::Difference kind);

/// {"shown": ["original", "now", "other"], "precision": "bf16", "preset": "naive", "earlier": 1200, "checkpoint":
/// {"path": .., "name": ..}, "run": {..}, "minuend": "other", "subtrahend": "now"}; what is not chosen is left out.
nlohmann::json rows_json(const PictureChoices& choices);
/// What is missing, of the wrong type or unknown has its default.
PictureChoices rows_from(const nlohmann::json& from);

/// Where choices of an earlier start are to be shown.
struct PictureSurroundings {
  core::DeviceInfo device;
  core::Precision precision = core::Precision::fp32;  ///< of the training
  std::string run_dir;                                ///< "" if no run is written
};

/// Takes out of `choices` what can no longer be: files that are gone, checkpoints of another run than this one,
/// precisions and presets that this device does not have; rows that are left without a choice are hidden. What that
/// was, in a sentence; "" for nothing. Asks the disk whether files are there.
std::string leave_out_impossible(PictureChoices& choices, const PictureSurroundings& surroundings);

}  // namespace warpscope::ui
