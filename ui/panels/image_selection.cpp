#include "ui/panels/image_selection.h"

#include <algorithm>

#include <fmt/format.h>

#include "ui/text/numbers.h"

namespace warpscope::ui {

bool is_selected(std::span<const std::int64_t> selected, std::int64_t image) {
  return selected.empty() || std::binary_search(selected.begin(), selected.end(), image);
}

std::string selected_text(std::uint64_t count, std::uint64_t total) {
  return fmt::format("{} of {} selected", with_thousands(count), with_thousands(total));
}

std::string none_selected_text(std::size_t selected, std::uint64_t total) {
  return fmt::format(
      "None of the {} images here is among the {} that are selected in Latent. Clear the selection (Esc), or "
      "draw the lasso around others.",
      with_thousands(total), with_thousands(static_cast<std::uint64_t>(selected)));
}

}  // namespace warpscope::ui
