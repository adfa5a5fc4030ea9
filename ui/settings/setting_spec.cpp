#include "ui/settings/setting_spec.h"

#include <cctype>

#include <fmt/format.h>

#include "ui/text/terms.h"

namespace warpscope::ui {
namespace {

// "Share of the velocity that each step keeps."
std::string sentence_of(std::string meaning) {
  meaning[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(meaning[0])));
  return meaning + ".";
}

}  // namespace

ValueSpec spec_of(const training::Setting& setting) {
  const training::Range& range = setting.range;
  const bool slides_above_zero = setting.slider && setting.slider->logarithmic && !setting.slider->zero;
  ValueSpec spec;
  spec.name = fmt::format("training.{}", setting.key);
  spec.label = label_of(setting);
  spec.tip = label_tip(spec.label, sentence_of(setting.meaning));
  spec.limits = {.least = range.least,
                 .most = range.most,
                 .above_least = range.above_least || (slides_above_zero && range.least == 0),
                 .below_most = range.below_most,
                 .integer = setting.field.kind == training::Kind::integer};
  spec.zero_text = setting.zero;
  if (!setting.slider) return spec;
  spec.tip += "\nApplied when the slider is let go; Ctrl-click, or the box, to type.";
  spec.scale = ValueScale{.low = setting.slider->low,
                          .high = setting.slider->high,
                          .logarithmic = setting.slider->logarithmic,
                          .zero = setting.slider->zero};
  return spec;
}

}  // namespace warpscope::ui
