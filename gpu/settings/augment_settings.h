#pragma once
// What a person chooses of the augmentation of training images, as plain data. Range, slider and help of each stand
// in its row of the table of settings (setting.h); what each does in gpu/ops/augment/augment.cpp.

#include <vector>

#include "gpu/ops/step/step.h"

namespace warpscope::training {

struct OptimizerSettings;
struct Setting;

struct AugmentSettings {
  bool flip = false;    ///< half of the images are mirrored
  int crop = 0;         ///< most pixels of a random shift each way; 0: none
  int cutout = 0;       ///< side of the square that is cut out, in pixels; 0: none
  float jitter = 0.0f;  ///< strength of brightness, contrast and saturation; 0: none
  float mixup = 0.0f;   ///< alpha of the share of the next image; 0: not mixed

  bool operator==(const AugmentSettings&) const = default;
};

/// Whether anything changes the images.
bool augments(const AugmentSettings& settings);

/// The rows of these settings, in the order in which to show them.
std::vector<const Setting*> augment_rows();

/// Throws BadInput that names the first value out of the range of its row.
void check(const AugmentSettings& settings);

/// Throws BadInput where both cannot be together: per_sample takes images one by one, mixup takes pairs.
void check_together(const AugmentSettings& settings, const OptimizerSettings& optimizer);

/// Sets the host's fields of `control` that depend on the augmentation.
void fill_control(const AugmentSettings& settings, ops::step::StepControl& control);

}  // namespace warpscope::training
