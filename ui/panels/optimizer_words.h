#pragma once
// The optimizer in words, and what its rows allow. No drawing here.

#include <string>

#include "gpu/settings/optimizer_settings.h"
#include "ui/value_field.h"

namespace warpscope::ui {

/// What a rule does, in a few words: "running mean over root mean square".
const char* rule_note(ops::UpdateRule rule);

/// The row of a field: "training.momentum". Clipping of 0 is shown as "off"; the learning rate must be above 0.
ValueSpec spec_of(const training::OptimizerField& field);

/// The row of the loss's z-score above which training counts as diverged, "training.zscore"; 0 is shown as "off".
ValueSpec spike_spec();

/// `settings` in the faulty scheme or out of it; accumulation is off in it.
training::OptimizerSettings with_scheme(training::OptimizerSettings settings, bool per_sample);

/// "4 x 64 = 256 images an update"; "each of 64 images updates by itself" in the faulty scheme.
std::string update_images_text(const training::OptimizerSettings& settings, int batch);

}  // namespace warpscope::ui
