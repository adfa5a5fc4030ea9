#include "ui/panels/picture_memory.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/plan/presets.h"
#include "gpu/plan/selection.h"
#include "gpu/runs/checkpoint_store.h"

namespace warpscope::ui {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

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
