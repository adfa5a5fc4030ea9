#include "ui/panels/pictures/picture_rows.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <system_error>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/plan/presets.h"
#include "gpu/plan/selection.h"
#include "gpu/runs/checkpoint_store.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
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

std::optional<PictureRow> row_called(const json& name) {
  if (!name.is_string()) return std::nullopt;
  for (std::size_t i = 0; i < kPictureRows; ++i) {
    if (name == row_key(static_cast<PictureRow>(i))) return static_cast<PictureRow>(i);
  }
  return std::nullopt;
}

std::string text_in(const json& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() && found->is_string() ? found->get<std::string>() : "";
}

/// A row of which a difference can be.
void read_side(const json& from, const char* key, PictureRow& side) {
  const auto found = from.find(key);
  const auto row = found == from.end() ? std::nullopt : row_called(*found);
  if (row && *row != PictureRow::difference) side = *row;
}

void read_shown(const json& from, PictureChoices& choices) {
  const auto found = from.find("shown");
  if (found == from.end() || !found->is_array()) return;
  std::array<bool, kPictureRows> shown{};
  for (const json& name : *found) {
    if (const auto row = row_called(name)) shown[index_of(*row)] = true;
  }
  if (std::find(shown.begin(), shown.end(), true) != shown.end()) choices.shown = shown;
}

WeightsFile file_from(const json& from, const char* key) {
  const auto found = from.find(key);
  if (found == from.end() || !found->is_object()) return {};
  const WeightsFile file{text_in(*found, "path"), text_in(*found, "name")};
  return file.path.empty() || file.name.empty() ? WeightsFile{} : file;
}

bool exists(const WeightsFile& file) {
  std::error_code failure;
  return fs::exists(file.path, failure);
}

bool is_of_run(const WeightsFile& file, const std::string& run_dir) {
  if (run_dir.empty()) return false;
  std::error_code failure;
  const fs::path folder = fs::absolute(training::checkpoint_folder(run_dir), failure).lexically_normal();
  return fs::absolute(fs::path(file.path).parent_path(), failure).lexically_normal() == folder;
}

/// Why a file cannot be shown; "" if it can, or none is chosen.
std::string refusal_of(const WeightsFile& file, PictureRow row, const std::string& run_dir) {
  if (file.path.empty()) return "";
  if (row == PictureRow::checkpoint && !is_of_run(file, run_dir))
    return fmt::format("the checkpoint \"{}\" is of another run", file.name);
  return exists(file) ? "" : fmt::format("{} is gone", file.name);
}

/// Why A/B cannot be shown; "" if it can, or is chosen nowhere.
std::string refusal_of_other(const PictureChoices& choices, const PictureSurroundings& surroundings) {
  const auto precisions = plan::training_precisions(surroundings.device);
  const core::Precision precision = choices.precision.value_or(surroundings.precision);
  if (choices.precision && std::find(precisions.begin(), precisions.end(), precision) == precisions.end()) {
    return fmt::format("this device does not train in {}", core::to_string(precision));
  }
  if (choices.preset.empty()) return "";
  const auto presets = plan::presets(surroundings.device.kind);
  const auto found = std::find_if(presets.begin(), presets.end(),
                                  [&](const plan::Preset& preset) { return choices.preset == preset.id; });
  if (found == presets.end()) return fmt::format("this device has no preset \"{}\"", choices.preset);
  const std::string reason = plan::preset_unavailable_reason(choices.preset, surroundings.device, precision);
  return reason.empty() ? "" : fmt::format("the preset \"{}\" cannot be used: {}", found->label, reason);
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
  static constexpr std::array<const char*, kPictureRows> kRowKeys{"original",   "now", "other",     "earlier",
                                                                  "checkpoint", "run", "difference"};
  return kRowKeys[index_of(row)];
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

json rows_json(const PictureChoices& choices) {
  json written = {{"shown", json::array()},
                  {"minuend", row_key(choices.minuend)},
                  {"subtrahend", row_key(choices.subtrahend)}};
  for (const PictureRow row : shown_rows(choices)) written["shown"].push_back(row_key(row));
  if (choices.precision) written["precision"] = std::string(core::to_string(*choices.precision));
  if (!choices.preset.empty()) written["preset"] = choices.preset;
  if (choices.earlier) written["earlier"] = *choices.earlier;
  const auto write_file = [&](const char* key, const WeightsFile& file) {
    if (!file.path.empty()) written[key] = {{"path", file.path}, {"name", file.name}};
  };
  write_file("checkpoint", choices.checkpoint);
  write_file("run", choices.run);
  return written;
}

PictureChoices rows_from(const json& from) {
  PictureChoices choices;
  if (!from.is_object()) return choices;
  read_shown(from, choices);
  try {
    if (const std::string precision = text_in(from, "precision"); !precision.empty())
      choices.precision = core::parse_precision(precision);
  } catch (const core::BadInput&) {
    // As if none were chosen.
  }
  choices.preset = text_in(from, "preset");
  if (const auto found = from.find("earlier"); found != from.end() && found->is_number_unsigned())
    choices.earlier = found->get<std::uint64_t>();
  choices.checkpoint = file_from(from, "checkpoint");
  choices.run = file_from(from, "run");
  read_side(from, "minuend", choices.minuend);
  read_side(from, "subtrahend", choices.subtrahend);
  return choices;
}

std::string leave_out_impossible(PictureChoices& choices, const PictureSurroundings& surroundings) {
  std::string reasons;
  const auto refuse = [&](PictureRow row, const std::string& reason) {
    if (reason.empty()) return false;
    if (choices.shows(row)) reasons.append(reasons.empty() ? "" : "; ").append(reason);
    set_shown(choices, row, false);
    return true;
  };
  if (refuse(PictureRow::other, refusal_of_other(choices, surroundings))) {
    choices.precision.reset();
    choices.preset.clear();
  }
  for (const PictureRow row : {PictureRow::checkpoint, PictureRow::run}) {
    WeightsFile& file = row == PictureRow::run ? choices.run : choices.checkpoint;
    if (refuse(row, refusal_of(file, row, surroundings.run_dir))) file = {};
  }
  if (shown_rows(choices).empty()) choices.shown = PictureChoices{}.shown;
  return reasons.empty() ? "" : fmt::format("rows of the images are left out: {}", reasons);
}

}  // namespace warpscope::ui
