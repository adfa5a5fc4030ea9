#pragma once
// Legends of the curves: entries that hide and show what they name.

#include <cstddef>
#include <string>
#include <string_view>

#include "ui/frame/frame.h"

namespace warpscope::ui {

struct LegendEntry {
  std::string name;   ///< identifies it: "loss.legend.train"
  std::string label;  ///< "train"
  std::string value;  ///< the newest; "" for none
  ImU32 color = 0;
  bool shown = true;
  std::size_t dash = 0;  ///< plot::dash_pattern()
};

/// A value as legends and tables show it: "0.0421", "65,536", "412,000".
std::string curve_value_text(double value);

/// Pixels that an entry takes, with or without room for its value.
float legend_width(const Frame& frame, const LegendEntry& entry, bool with_value);
/// True if it was clicked.
bool legend_item(const Frame& frame, const LegendEntry& entry, bool with_value, std::string_view tip);

}  // namespace warpscope::ui
