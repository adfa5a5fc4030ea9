#include "ui/panels/selection_text.h"

#include <fmt/format.h>

#include "gpu/plan/presets.h"

namespace warpscope::ui {

std::string selection_word(const plan::Selection& selection, const core::DeviceInfo& device) {
  const std::string label = plan::label_of(selection, device);
  return label.empty() ? "mixed" : label;
}

std::string selection_list(const plan::Selection& selection) {
  std::string text;
  for (const auto& [op, name] : selection.variants) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", ops::to_string(op), name);
  }
  return text.empty() ? "all operations automatic" : text + "\nthe others automatic";
}

}  // namespace warpscope::ui
