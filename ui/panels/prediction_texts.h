#pragma once
// The held-out texts of a classifying network, with truth and prediction, a row each, and their characters tinted by
// their shares in the prediction.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "ui/frame/frame.h"
#include "ui/panels/held_out.h"

namespace warpscope::ui {

class PredictionTexts {
 public:
  /// Draws the `order` as rows that fill the width and scrolls in them; `scroll_to_start`: from the first on. Returns
  /// the image whose row the pointer is on, which shows the whole text in a tool-tip.
  std::optional<int> draw(const Frame& frame, const HeldOut& held_out, std::span<const int> order,
                          bool scroll_to_start);

 private:
  struct RowPlace {
    ImVec2 min, max;
  };
  std::optional<std::size_t> draw_row(const Frame& frame, const HeldOut& held_out, int image,
                                      const RowPlace& place) const;
  const training::TextAttribution* shares_of(const Frame& frame, const HeldOut& held_out, int image) const;
  void ask(const Frame& frame, const HeldOut& held_out, std::span<const int> rows);
  void trace(const Frame& frame);

  training::HeldOutTexts on_screen_, asked_;
  double since_ = 0;  ///< ImGui time at which `on_screen_` came there
  std::uint64_t traced_ = 0;
};

}  // namespace warpscope::ui
