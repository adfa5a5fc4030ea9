#include "ui/panels/picture_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "gpu/plan/presets.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

using training::Reconstructor;

bool uses(const PictureChoices& choices, PictureRow row) {
  if (row != PictureRow::difference && choices.shows(row)) return true;
  return choices.shows(PictureRow::difference) && (choices.minuend == row || choices.subtrahend == row);
}

std::string preset_label(const std::string& id) {
  for (const core::DeviceKind kind : {core::DeviceKind::cuda, core::DeviceKind::cpu}) {
    for (const plan::Preset& preset : plan::presets(kind)) {
      if (id == preset.id) return preset.label;
    }
  }
  return id;
}

Reconstructor other_of(const PictureChoices& choices, const core::DeviceInfo& device,
                       core::Precision precision) {
  Reconstructor other;
  other.precision = choices.precision;
  const core::Precision wanted = choices.precision.value_or(precision);
  if (!choices.preset.empty() && plan::preset_unavailable_reason(choices.preset, device, wanted).empty()) {
    other.selection = plan::preset_selection(choices.preset, device, wanted);
  }
  return other;
}

/// Smallest first, what is not a number at the front or at the end; equal ones as they were.
template <class Key>
void sort_by(std::vector<int>& images, double not_a_number, const Key& key_of) {
  const auto key = [&](int image) {
    const double value = key_of(static_cast<std::size_t>(image));
    return std::isnan(value) ? not_a_number : value;
  };
  std::stable_sort(images.begin(), images.end(), [&](int a, int b) { return key(a) < key(b); });
}

std::size_t place_in(const training::ImageShape& shape, int image, int y, int x) {
  const auto row =
      static_cast<std::size_t>(image) * static_cast<std::size_t>(shape.height) + static_cast<std::size_t>(y);
  return (row * static_cast<std::size_t>(shape.width) + static_cast<std::size_t>(x)) *
         static_cast<std::size_t>(shape.channels);
}

}  // namespace

std::vector<PictureRow> shown_rows(const PictureChoices& choices) {
  std::vector<PictureRow> rows;
  for (std::size_t i = 0; i < kPictureRows; ++i) {
    if (choices.shown[i]) rows.push_back(static_cast<PictureRow>(i));
  }
  return rows;
}

bool is_plain_difference(const PictureChoices& choices) {
  return choices.minuend == PictureRow::now && choices.subtrahend == PictureRow::original;
}

void set_shown(PictureChoices& choices, PictureRow row, bool shown) {
  choices.shown[index_of(row)] = shown;
  const bool of_difference = row == choices.minuend || row == choices.subtrahend;
  if (shown && row == PictureRow::other) {
    choices.minuend = PictureRow::other;
    choices.subtrahend = PictureRow::now;
  } else if (!shown && of_difference && row != PictureRow::now && row != PictureRow::original) {
    choices.minuend = PictureRow::now;
    choices.subtrahend = PictureRow::original;
  }
}

PictureRequest make_request(const PictureChoices& choices, const PictureNeeds& needs,
                            const core::DeviceInfo& device, core::Precision precision) {
  PictureRequest result;
  result.place.fill(-1);
  result.request.count = needs.count;
  result.request.own = needs.own;
  const auto add = [&](PictureRow row, Reconstructor reconstructor) {
    result.place[index_of(row)] = static_cast<int>(result.request.reconstructors.size());
    result.request.reconstructors.push_back(std::move(reconstructor));
  };
  const bool differs = choices.shows(PictureRow::difference) && !is_plain_difference(choices) &&
                       (choices.minuend == PictureRow::now || choices.subtrahend == PictureRow::now);
  if (needs.now || needs.own || differs) add(PictureRow::now, {});
  if (uses(choices, PictureRow::other)) add(PictureRow::other, other_of(choices, device, precision));
  for (const PictureRow row : {PictureRow::checkpoint, PictureRow::run}) {
    const WeightsFile& file = row == PictureRow::run ? choices.run : choices.checkpoint;
    if (uses(choices, row) && !file.path.empty()) add(row, {{}, {}, file.path});
  }
  return result;
}

training::ComparisonRequest likely_request(const PictureChoices& choices, const PictureNeeds& needs,
                                           const core::DeviceInfo& device, core::Precision precision) {
  training::ComparisonRequest request;
  request.count = needs.count;
  request.own = needs.own;
  const auto add = [&](const std::string& preset, std::optional<core::Precision> chosen) {
    PictureChoices likely = choices;
    likely.preset = preset;
    likely.precision = chosen;
    request.reconstructors.push_back(other_of(likely, device, precision));
  };
  add("", choices.precision);
  for (const plan::Preset& preset : plan::presets(device.kind)) {
    const core::Precision wanted = choices.precision.value_or(precision);
    if (plan::preset_unavailable_reason(preset.id, device, wanted).empty()) add(preset.id, choices.precision);
  }
  add(choices.preset, std::nullopt);
  for (const core::Precision one : plan::training_precisions(device)) add(choices.preset, one);
  return request;
}

const char* row_key(PictureRow row) {
  static constexpr std::array<const char*, kPictureRows> kKeys{"original",   "now", "other",     "earlier",
                                                               "checkpoint", "run", "difference"};
  return kKeys[index_of(row)];
}

std::string rows_text(const PictureChoices& choices) {
  std::string text;
  for (const PictureRow row : shown_rows(choices)) {
    if (!text.empty()) text += ", ";
    text += row == PictureRow::difference ? difference_name(choices) : row_name(choices, row);
  }
  return text;
}

std::string row_name(const PictureChoices& choices, PictureRow row) {
  switch (row) {
    case PictureRow::original:
      return "original";
    case PictureRow::now:
      return "now";
    case PictureRow::other: {
      std::string name = choices.precision ? std::string(core::to_string(*choices.precision)) : "";
      if (!choices.preset.empty()) {
        if (!name.empty()) name += ' ';
        name += preset_label(choices.preset);
      }
      return name.empty() ? "A/B" : name;
    }
    case PictureRow::earlier:
      return choices.earlier ? "step " + with_thousands(*choices.earlier) : "first step";
    case PictureRow::checkpoint:
      return choices.checkpoint.path.empty() ? "checkpoint" : choices.checkpoint.name;
    case PictureRow::run:
      return choices.run.path.empty() ? "other run" : choices.run.name;
    case PictureRow::difference:
      break;
  }
  return "difference";
}

std::string difference_name(const PictureChoices& choices) {
  return fmt::format("{} \u2212 {}", row_name(choices, choices.minuend),
                     row_name(choices, choices.subtrahend));
}

std::vector<int> arrange_pictures(int count, PictureOrder order, int wanted, const OrderFigures& figures) {
  std::vector<int> images(static_cast<std::size_t>(count));
  std::iota(images.begin(), images.end(), 0);
  if (wanted != kAllClasses) {
    std::erase_if(images, [&](int image) {
      const auto place = static_cast<std::size_t>(image);
      return place >= figures.labels.size() || figures.labels[place] != wanted;
    });
  }
  const auto known = [&](std::span<const double> values) {
    return values.size() >= static_cast<std::size_t>(count);
  };
  constexpr double kEnd = std::numeric_limits<double>::infinity();
  if (order == PictureOrder::most_changed && known(figures.change)) {
    sort_by(images, -kEnd, [&](std::size_t image) { return -figures.change[image]; });
  }
  if (order == PictureOrder::worst && known(figures.quality)) {
    sort_by(images, -kEnd, [&](std::size_t image) { return figures.quality[image]; });
  }
  if (order == PictureOrder::best && known(figures.quality)) {
    sort_by(images, kEnd, [&](std::size_t image) { return -figures.quality[image]; });
  }
  return images;
}

DifferenceFigures compare_pictures(std::span<const float> a, std::span<const float> b,
                                   const training::ImageShape& shape) {
  DifferenceFigures result;
  double sum = 0;
  std::size_t where = 0;
  float most = -1;
  for (std::size_t i = 0; i < shape.elements(); ++i) {
    const float difference = a[i] - b[i];
    const float size = std::isnan(difference) ? std::numeric_limits<float>::infinity() : std::abs(difference);
    sum += static_cast<double>(std::abs(difference));
    if (size <= most) continue;
    most = size;
    where = i;
    result.largest = difference;
  }
  if (shape.elements() == 0) return result;
  result.mean_absolute = sum / static_cast<double>(shape.elements());
  const auto take = [&where](int size) {
    const auto length = static_cast<std::size_t>(size);
    const auto rest = static_cast<int>(where % length);
    where /= length;
    return rest;
  };
  result.channel = take(shape.channels);
  result.x = take(shape.width);
  result.y = take(shape.height);
  result.image = static_cast<int>(where);
  return result;
}

float automatic_range(std::span<const float> a, std::span<const float> b, const training::ImageShape& shape,
                      images::Difference kind) {
  constexpr float kLeast = 1e-6f;
  std::vector<float> sizes;
  for (int image = 0; image < shape.count; ++image) {
    for (int y = 0; y < shape.height; ++y) {
      for (int x = 0; x < shape.width; ++x) {
        const std::size_t place = place_in(shape, image, y, x);
        const float mean = images::mean_difference(b.data() + place, a.data() + place, shape.channels, kind);
        if (std::isfinite(mean)) sizes.push_back(std::abs(mean));
      }
    }
  }
  if (sizes.empty()) return kLeast;
  const auto rank = static_cast<std::size_t>(std::ceil(kRangePart * static_cast<double>(sizes.size()))) - 1;
  const auto place = sizes.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(sizes.begin(), place, sizes.end());
  // Two digits, as the scale writes them.
  const double wanted = std::max(kLeast, *place);
  const double unit = std::pow(10.0, std::floor(std::log10(wanted)) - 1);
  return static_cast<float>(std::ceil(wanted / unit * (1 - 1e-6)) * unit);
}

}  // namespace warpscope::ui
