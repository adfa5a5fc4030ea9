#pragma once
// The held-out texts of a classifying network, with truth and prediction, a row each.

#include <optional>
#include <span>

#include "ui/frame.h"
#include "ui/panels/held_out.h"

namespace warpscope::ui {

/// Draws the `order` as rows that fill the width and scrolls in them; `scroll_to_start`: from the first on. Returns the
/// image whose row the pointer is on, which shows the whole text in a tool-tip.
std::optional<int> draw_prediction_texts(const Frame& frame, const HeldOut& held_out,
                                         std::span<const int> order, bool scroll_to_start);

}  // namespace warpscope::ui
