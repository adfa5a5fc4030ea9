#pragma once
// The optimizer in words, and what its rows allow. No drawing here.

#include <string>

#include "gpu/settings/optimizer_settings.h"

namespace warpscope::ui {

/// `settings` in the faulty scheme or out of it; accumulation is off in it.
training::OptimizerSettings with_scheme(training::OptimizerSettings settings, bool per_sample);

/// "4 x 64 = 256 images an update"; "each of 64 images updates by itself" in the faulty scheme.
std::string update_images_text(const training::OptimizerSettings& settings, int batch);

}  // namespace warpscope::ui
