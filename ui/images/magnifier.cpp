#include "ui/images/magnifier.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ui/images/beside_pointer.h"
#include "ui/images/difference_scale.h"
#include "ui/images/draw_part.h"
#include "ui/images/psnr.h"
#include "ui/widgets.h"

namespace warpscope::ui::images {
namespace {

constexpr int kMagnification = 8;  // framebuffer pixels per image pixel and unit of scale
constexpr int kMostPixels = 32;    // of each side that are shown; larger images are cut around the pointer

/// The part of an image that is enlarged.
struct Crop {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

Crop crop_around(const Atlas& atlas, const GridHit& hit) {
  Crop crop{0, 0, std::min(atlas.width, kMostPixels), std::min(atlas.height, kMostPixels)};
  crop.x = std::clamp(hit.x - crop.width / 2, 0, atlas.width - crop.width);
  crop.y = std::clamp(hit.y - crop.height / 2, 0, atlas.height - crop.height);
  return crop;
}

/// Side of an enlarged image pixel, in pixels of the window.
float enlarged_pixel(const Frame& frame, float density) {
  return static_cast<float>(kMagnification) * std::max(1.0f, std::round(frame.scale * density)) / density;
}

/// Size of the whole tool-tip, its padding included.
ImVec2 magnifier_size(const Frame& frame, const Atlas& atlas, float density) {
  const float s = frame.scale;
  const float pixel = enlarged_pixel(frame, density);
  const float width = pixel * static_cast<float>(std::min(atlas.width, kMostPixels));
  const float height = pixel * static_cast<float>(std::min(atlas.height, kMostPixels));
  const float gap = std::floor(8 * s);
  const float columns = static_cast<float>(kRows);
  return {columns * width + (columns - 1) * gap + 24 * s,
          2 * ImGui::GetFrameHeight() + height + gap + 4 * std::floor(20 * s) + 16 * s};
}

void draw_enlarged(const Frame& frame, const interop::ImageView& view, int row, const GridHit& hit,
                   const Crop& crop, ImVec2 at, float pixel) {
  const Point tile = view.atlas().tile(row, hit.image);
  const auto place = [&](int x, int y) {
    return ImVec2(at.x + pixel * static_cast<float>(x), at.y + pixel * static_cast<float>(y));
  };
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const Point from{tile.x + crop.x, tile.y + crop.y};
  draw_part(list, view.texture(), view.atlas(), from, {from.x + crop.width, from.y + crop.height}, at,
            place(crop.width, crop.height));
  // Two outlines, dark in light, so that the marked pixel is seen on every colour.
  const ImVec2 min = place(hit.x - crop.x, hit.y - crop.y);
  const ImVec2 max = place(hit.x - crop.x + 1, hit.y - crop.y + 1);
  const float line = std::max(1.0f, std::floor(frame.scale));
  list->AddRect(ImVec2(min.x - line, min.y - line), ImVec2(max.x + line, max.y + line),
                IM_COL32(0, 0, 0, 255), 0, 0, line);
  list->AddRect(ImVec2(min.x, min.y), ImVec2(max.x, max.y), IM_COL32(255, 255, 255, 255), 0, 0, line);
}

void draw_rows(const Frame& frame, const interop::ImageView& view, const GridHit& hit, float density) {
  static constexpr const char* kNames[kRows] = {"original", "now", "difference"};
  const Crop crop = crop_around(view.atlas(), hit);
  const float pixel = enlarged_pixel(frame, density);
  const float gap = std::floor(8 * frame.scale);
  const ImVec2 cursor = ImGui::GetCursorScreenPos();
  const float caption_height = ImGui::GetFrameHeight();
  const ImVec2 start(std::round(cursor.x * density) / density,
                     std::round((cursor.y + caption_height) * density) / density);
  const float width = pixel * static_cast<float>(crop.width);
  for (int row = 0; row < kRows; ++row) {
    const float x = start.x + (width + gap) * static_cast<float>(row);
    draw_text(ImGui::GetWindowDrawList(), frame.fonts.small, x, row_baseline(frame, cursor.y),
              frame.palette.muted, kNames[row]);
    draw_enlarged(frame, view, row, hit, crop, ImVec2(x, start.y), pixel);
  }
  ImGui::Dummy(ImVec2(static_cast<float>(kRows) * (width + gap) - gap,
                      caption_height + pixel * static_cast<float>(crop.height) + gap));
}

/// A line of the table: a name in small text, then numbers in columns.
void value_line(const Frame& frame, const char* name, std::span<const std::string> values, bool heading) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float baseline = row_baseline(frame, at.y);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  draw_text(list, frame.fonts.small, at.x, baseline, frame.palette.muted, name);
  const ImFont* font = heading ? frame.fonts.small : frame.fonts.numbers;
  const float column = std::floor(72 * frame.scale);
  float right = at.x + std::floor(72 * frame.scale);
  for (const std::string& value : values) {
    right += column;
    draw_text(list, font, right - text_width(font, value), baseline,
              heading ? frame.palette.muted : frame.palette.text, value);
  }
  ImGui::Dummy(ImVec2(right - at.x, std::floor(20 * frame.scale)));
}

// The values come from the device, some frames after they were asked for, and say which pixel they belong
// to.
void values(const Frame& frame, const interop::PixelValues& pixel, Difference kind) {
  const bool colour = pixel.channels >= 3;
  const auto channels = static_cast<std::size_t>(pixel.channels);
  std::vector<std::string> heading;
  if (colour) {
    heading = {"red", "green", "blue", "mean"};
  } else {
    heading.assign(channels, "grey");
  }
  std::vector<std::string> original;
  std::vector<std::string> now;
  std::vector<std::string> difference;
  for (std::size_t c = 0; c < channels; ++c) {
    original.push_back(fmt::format("{:.3f}", pixel.original[c]));
    now.push_back(fmt::format("{:.3f}", pixel.now[c]));
    difference.push_back(fmt::format("{:+.3f}", pixel.now[c] - pixel.original[c]));
  }
  if (colour) {
    const auto mean = [](const std::array<float, 3>& v) { return (v[0] + v[1] + v[2]) / 3.0f; };
    original.push_back(fmt::format("{:.3f}", mean(pixel.original)));
    now.push_back(fmt::format("{:.3f}", mean(pixel.now)));
    const float shown = mean_difference(pixel.original.data(), pixel.now.data(), pixel.channels, kind);
    difference.push_back(kind == Difference::absolute ? fmt::format("{:.3f}", shown)
                                                      : fmt::format("{:+.3f}", shown));
  }
  value_line(frame, fmt::format("x {}, y {}", pixel.place.x, pixel.place.y).c_str(), heading, true);
  value_line(frame, "original", original, false);
  value_line(frame, "now", now, false);
  value_line(frame, "difference", difference, false);
}

}  // namespace

void magnifier(const Frame& frame, interop::ImageView& view, const GridHit& hit, const Conversion& conversion,
               float density) {
  view.probe({hit.image, hit.x, hit.y});
  const float s = frame.scale;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(12 * s, 8 * s));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  ImVec4 background = ImGui::GetStyleColorVec4(ImGuiCol_PopupBg);
  background.w = 1;  // nothing may shine through pictures that are compared
  ImGui::PushStyleColor(ImGuiCol_PopupBg, background);
  ImGui::PushFont(frame.fonts.text);
  ImGui::SetNextWindowPos(beside_pointer(magnifier_size(frame, view.atlas(), density), s));
  ImGui::BeginTooltip();
  const interop::ShownBatch& shown = view.shown();
  row_text(frame, frame.fonts.strong, frame.palette.text, fmt::format("Image {}", hit.image + 1));
  ImGui::SameLine(0, 16 * s);
  caption(frame, "step");
  ImGui::SameLine(0, 6 * s);
  row_text(frame, frame.fonts.numbers, frame.palette.text, with_thousands(shown.step));
  ImGui::SameLine(0, 16 * s);
  row_text(frame, frame.fonts.numbers, frame.palette.text,
           with_thousands(psnr(shown.errors[static_cast<std::size_t>(hit.image)]), 2));
  ImGui::SameLine(0, 6 * s);
  caption(frame, "dB PSNR");
  draw_rows(frame, view, hit, density);
  const ImVec2 below = ImGui::GetCursorPos();
  const float bar = std::floor(96 * s);
  align_right(frame, difference_scale_width(frame, conversion, bar));
  difference_scale(frame, conversion, bar);
  ImGui::SetCursorPos(below);
  if (view.values() && view.values()->place.image == hit.image)
    values(frame, *view.values(), conversion.difference);
  ImGui::EndTooltip();
  ImGui::PopFont();
  ImGui::PopStyleColor();
  ImGui::PopStyleVar(2);
}

}  // namespace warpscope::ui::images
