#pragma once
// The rows of pictures as they are remembered from one start of the window to the next.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "gpu/core/device.h"
#include "gpu/core/types.h"
#include "ui/panels/picture_rows.h"

namespace warpscope::ui {

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
