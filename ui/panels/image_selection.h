#pragma once
// The test images that a lasso has selected (Cursor::images), as views keep to them. No drawing here.

#include <cstdint>
#include <span>
#include <string>

namespace warpscope::ui {

/// True if the image is selected, or nothing is. `selected` rises.
bool is_selected(std::span<const std::int64_t> selected, std::int64_t image);
/// "37 of 512 selected": of `total` images of a view so many are.
std::string selected_text(std::uint64_t count, std::uint64_t total);
/// What a view says that shows `total` images, none of which is among the `selected` ones, and what to do.
std::string none_selected_text(std::size_t selected, std::uint64_t total);

}  // namespace warpscope::ui
