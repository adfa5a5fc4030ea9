#include "gpu/settings/augment_settings.h"

#include <string_view>

#include "gpu/core/error.h"
#include "gpu/settings/setting.h"

namespace warpscope::training {
namespace {

constexpr std::string_view kTable = "augment";

/// The settings as the rows reach them.
TrainingSettings with(const AugmentSettings& settings) {
  TrainingSettings all;
  all.augment = settings;
  return all;
}

}  // namespace

bool augments(const AugmentSettings& settings) {
  return !(settings == AugmentSettings{});
}

std::vector<const Setting*> augment_rows() {
  std::vector<const Setting*> rows;
  for (const Setting& row : settings()) {
    if (row.table == kTable) rows.push_back(&row);
  }
  return rows;
}

void check(const AugmentSettings& settings) {
  const TrainingSettings all = with(settings);
  for (const Setting* const row : augment_rows()) {
    Value value = *row->field.get(all);
    const std::string objection = check_value(*row, value);
    if (!objection.empty()) throw core::BadInput(row->name + objection);
  }
}

void check_together(const AugmentSettings& settings, const OptimizerSettings& optimizer) {
  if (settings.mixup > 0 && optimizer.per_sample) {
    throw core::BadInput(
        "mixup mixes the images of a batch, and per_sample takes them one by one: leave one of the two off");
  }
}

void fill_control(const AugmentSettings& settings, ops::step::StepControl& control) {
  control.flip = settings.flip ? ops::step::kFlipHalf : ops::step::kFlipNone;
  control.crop = static_cast<std::uint32_t>(settings.crop);
  control.cutout = static_cast<std::uint32_t>(settings.cutout);
  control.jitter = settings.jitter;
  control.mixup = settings.mixup;
}

}  // namespace warpscope::training
