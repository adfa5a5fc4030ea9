#pragma once
// "37 of 512 selected" with a cross that clears the selection, in the views that keep to it.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ui/frame/frame.h"

namespace warpscope::ui {

/// True if the image is selected, or nothing is. `selected` rises.
bool is_selected(std::span<const std::int64_t> selected, std::int64_t image);
/// "37 of 512 selected": of `total` images of a view so many are.
std::string selected_text(std::uint64_t count, std::uint64_t total);
/// What a view says that shows `total` images, none of which is among the `selected` ones, and what to do.
std::string none_selected_text(std::size_t selected, std::uint64_t total);

/// Word and cross in a rounded box as an item of one row, at most `room` pixels wide, traced as `name`. True when
/// clicked.
bool chip(const Frame& frame, const char* name, std::string_view text, float room, std::string_view tip);
/// Width in pixels of a chip() that has room for all of `text`.
float chip_width(const Frame& frame, std::string_view text);

/// The chip of the selection of images, `count` of the `total` images of this view; a click clears the selection.
/// Nothing, and false, while nothing is selected.
bool selection_chip(const Frame& frame, const char* name, std::uint64_t count, std::uint64_t total,
                    float room);

}  // namespace warpscope::ui
