#include "ui/panels/optimizer_words.h"

#include <string_view>

#include <fmt/format.h>

#include "gpu/settings/stability.h"
#include "ui/numbers.h"

namespace warpscope::ui {

const char* rule_note(ops::UpdateRule rule) {
  using ops::UpdateRule;
  switch (rule) {
    case UpdateRule::sgd:
      return "rate times gradient";
    case UpdateRule::momentum:
      return "a velocity that gathers gradients";
    case UpdateRule::nesterov:
      return "momentum that looks ahead";
    case UpdateRule::adam:
      return "running mean over root mean square";
    case UpdateRule::adamw:
      return "adam, with weight decay by itself";
    case UpdateRule::rmsprop:
      return "gradient over root mean square";
    case UpdateRule::lion:
      return "sign of a running mean";
  }
  return "";
}

ValueSpec spec_of(const training::OptimizerField& field) {
  const std::string_view key = field.key;
  const bool rate = key == "learning_rate", clip = key.starts_with("clip");
  const auto least = static_cast<double>(field.least), most = static_cast<double>(field.most);
  ValueSpec spec;
  spec.name = rate ? "training.rate" : fmt::format("training.{}", field.key);
  spec.label = field.label;
  spec.tip =
      fmt::format("{}\nApplied when the slider is let go; Ctrl-click, or the box, to type.", field.tip);
  spec.limits = {.least = least, .most = most, .above_least = rate, .below_most = field.below_most};
  spec.scale = ValueScale{.low = static_cast<double>(field.slider_low),
                          .high = static_cast<double>(field.slider_high),
                          .logarithmic = field.logarithmic,
                          .zero = field.logarithmic && field.least == 0 && !rate};
  if (clip) spec.zero_text = "off";
  return spec;
}

ValueSpec spike_spec() {
  ValueSpec spec;
  spec.name = "training.zscore";
  spec.label = "loss z-score";
  spec.tip = fmt::format(
      "A loss so many standard deviations above its running mean counts as divergence, as one that is not "
      "finite always does. The first {} losses are not judged.\nApplied when the slider is let go; "
      "Ctrl-click, or the box, to type.",
      training::SpikeSettings().warm_up);
  spec.limits = {.least = 0, .most = 1e6};
  spec.scale = ValueScale{.low = 2, .high = 50, .logarithmic = true, .zero = true};
  spec.zero_text = "off";
  return spec;
}

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
