#include "ui/panels/optimizer_words.h"

#include <fmt/format.h>

#include "ui/text/numbers.h"

namespace warpscope::ui {

training::OptimizerSettings with_scheme(training::OptimizerSettings settings, bool per_sample) {
  settings.per_sample = per_sample;
  if (per_sample) settings.accumulate = 1;
  return settings;
}

std::string update_images_text(const training::OptimizerSettings& settings, int batch) {
  if (batch <= 0) return "";
  if (settings.per_sample) return fmt::format("each of {} images updates", with_thousands(batch));
  if (settings.accumulate == 1) return fmt::format("{} images an update", with_thousands(batch));
  return fmt::format("\u00d7 {} = {} images an update", with_thousands(batch),
                     with_thousands(static_cast<std::int64_t>(settings.accumulate) * batch));
}

}  // namespace warpscope::ui
