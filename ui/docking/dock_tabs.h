#pragma once
// Which tabs of a place are seen where not all of them fit. No drawing here.

#include <cstddef>
#include <span>
#include <vector>

namespace warpscope::ui {

/// Indices of the tabs that are seen, in their order: all if they fit into `room` with `gap` between two; else as
/// many of the first as fit beside a button `more` wide for the others, and always the active one. `widths` are not
/// empty.
std::vector<std::size_t> tabs_that_fit(std::span<const float> widths, std::size_t active, float gap,
                                       float more, float room);

}  // namespace warpscope::ui
