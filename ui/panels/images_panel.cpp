#include "ui/panels/images_panel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "ui/cursor.h"
#include "ui/images/difference_scale.h"
#include "ui/images/draw_part.h"
#include "ui/images/magnifier.h"
#include "ui/images/psnr.h"
#include "ui/steering.h"
#include "ui/widgets.h"

namespace warpscope::ui {
namespace {

constexpr std::array<const char*, images::kRows> kRowNames{"original", "now", "difference"};
constexpr std::array<float, 6> kRanges{0.02f, 0.05f, 0.1f, 0.25f, 0.5f, 1.0f};
// Seconds: the magnifier covers much, so it waits until the pointer stays, and then follows it at once.
constexpr double kMagnifierDelay = 0.3;
constexpr std::string_view kPsnrTip =
    "Peak signal-to-noise ratio of the reconstruction, -10 log10 of the mean squared error over the image's "
    "pixels and channels, computed on the device from the full-precision values. Larger is better.";

/// Framebuffer pixels per pixel of the window.
float density() {
  return std::max(0.01f, ImGui::GetIO().DisplayFramebufferScale.x);
}

float label_width(const Frame& frame) {
  return std::floor(text_width(frame.fonts.small, kRowNames[images::kDifference]) + 12 * frame.scale);
}

float snap(float value) {
  return std::round(value * density()) / density();
}

// What stands there before the first images.
std::string waiting_text(const Frame& frame) {
  const auto state = frame.snapshot.state;
  const bool going = state == training::TrainerState::running || state == training::TrainerState::paused ||
                     state == training::TrainerState::preparing;
  return is_view(frame) && !going ? "No images were kept with this run"
                                  : "Waiting for the first reconstructions.";
}

float zoom_number_width(const Frame& frame) {
  return std::floor(32 * frame.scale);
}

float zoom_width(const Frame& frame) {
  const auto button = [&](const char* label) {
    return text_width(frame.fonts.text, label) + 20 * frame.scale;
  };
  return button("-") + button("+") + text_width(frame.fonts.text, "fit") + zoom_number_width(frame) +
         28 * frame.scale;
}

/// True if the button that is let go had moved farther than a click does.
bool was_dragged() {
  const ImGuiIO& io = ImGui::GetIO();
  return io.MouseDragMaxDistanceSqr[ImGuiMouseButton_Left] > io.MouseDragThreshold * io.MouseDragThreshold;
}

std::string psnr_text(double value, int decimals) {
  return std::isinf(value) ? "inf" : fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

void ImagesPanel::update(const std::shared_ptr<training::ImageExchange>& exchange, const Frame& frame) {
  if (exchange != exchange_) {
    view_.reset();
    failure_.clear();
    exchange_ = exchange;
    try {
      if (exchange) view_ = interop::ImageView::make(exchange, frame.textures);
    } catch (const core::Error& error) {
      failure_ = error.what();
    }
  }
  if (view_) view_->update(settings.conversion);
  shows_past_ = view_ && frame.cursor != nullptr && frame.cursor->step && frame.history;
  if (shows_past_) past_.show(*frame.history, *frame.cursor->step, settings.conversion, frame.textures);
  shows_past_ = shows_past_ && past_.view() != nullptr;
}

interop::ImageView* ImagesPanel::shown_view() const {
  return shows_past_ ? past_.view() : view_.get();
}

void ImagesPanel::shutdown() {
  view_.reset();
  past_.shutdown();
  exchange_.reset();
}

std::string ImagesPanel::path_text() const {
  if (!failure_.empty()) return "no images: " + failure_;
  return view_ ? view_->path_text() : "no images yet";
}

std::string ImagesPanel::path_name() const {
  return view_ ? view_->path_name() : "none";
}

std::uint64_t ImagesPanel::image_bytes_to_host() const {
  return view_ ? view_->image_bytes_to_host() : 0;
}

std::uint64_t ImagesPanel::shown_step() const {
  return has_images() ? shown_view()->shown().step : 0;
}

bool ImagesPanel::has_images() const {
  return view_ && view_->shown().number > 0;
}

void ImagesPanel::draw(const Frame& frame) {
  panel_title(frame, "Images");
  if (has_images()) draw_title(frame);
  panel_body(frame, false);
  if (has_images()) {
    const float footer = ImGui::GetFrameHeight() + std::floor(8 * frame.scale) + ImageTimeline::height(frame);
    draw_grid(frame, ImGui::GetContentRegionAvail().y - footer);
    draw_footer(frame);
  } else {
    const std::string text = failure_.empty() ? waiting_text(frame) : path_text();
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const std::string shown = ellipsize(frame.fonts.text, text, room.x);
    ImGui::SetCursorPos(ImVec2(std::max(0.0f, (room.x - text_width(frame.fonts.text, shown)) / 2),
                               std::max(0.0f, (room.y - ImGui::GetFrameHeight()) / 2)));
    row_text(frame, frame.fonts.text, frame.palette.muted, shown);
  }
}

void ImagesPanel::draw_title(const Frame& frame) {
  const float s = frame.scale;
  const interop::ShownBatch& shown = shown_view()->shown();
  caption(frame, "step");
  ImGui::SameLine(0, 6 * s);
  value_with_unit(frame, with_thousands(shown.step), "",
                  "The training step after which these reconstructions were made.");
  ImGui::SameLine(0, 16 * s);
  // A narrow panel keeps the zoom and leaves out the mean, since each image shows its own PSNR.
  const std::string mean = psnr_text(images::mean_psnr(shown.errors), 2);
  constexpr std::string_view kUnit = "dB mean PSNR";
  const float mean_width =
      text_width(frame.fonts.numbers, mean) + text_width(frame.fonts.small, kUnit) + 21 * s;
  if (ImGui::GetContentRegionAvail().x >= mean_width + zoom_width(frame)) {
    value_with_unit(frame, mean, kUnit,
                    fmt::format("Mean over the {} images shown. {}", shown.errors.size(), kPsnrTip));
    ImGui::SameLine(0, 16 * s);
  }
  draw_zoom(frame);
}

void ImagesPanel::draw_zoom(const Frame& frame) {
  const float s = frame.scale;
  const float number = zoom_number_width(frame);
  align_title_right(frame, zoom_width(frame));
  if (text_button(frame, "images.zoom_out", "-", "Smaller images (Ctrl + wheel)", shown_zoom_ > 1)) {
    settings.zoom = shown_zoom_ - 1;
  }
  ImGui::SameLine(0, 0);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const std::string zoom = fmt::format("{}\u00d7", shown_zoom_);
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.numbers,
            at.x + (number - text_width(frame.fonts.numbers, zoom)) / 2, row_baseline(frame, at.y),
            frame.palette.text, zoom);
  ImGui::Dummy(ImVec2(number, ImGui::GetFrameHeight()));
  tooltip(frame,
          "Screen pixels per image pixel, always a whole number, so that every pixel is shown as it is.");
  ImGui::SameLine(0, 0);
  if (text_button(frame, "images.zoom_in", "+", "Larger images (Ctrl + wheel)",
                  shown_zoom_ < images::kLargestZoom)) {
    settings.zoom = shown_zoom_ + 1;
  }
  ImGui::SameLine(0, 4 * s);
  bool fit = settings.zoom == 0;
  if (toggle(frame, "images.zoom_fit", "fit", &fit,
             "The largest size at which enough images are seen at once")) {
    settings.zoom = fit ? 0 : shown_zoom_;
  }
}

images::Grid ImagesPanel::lay_out(const Frame& frame, float width, float height) {
  const float pixels = density();
  const float s = frame.scale * pixels;
  const images::Atlas& atlas = shown_view()->atlas();
  images::GridSpace space;
  space.width = static_cast<int>((width - ImGui::GetStyle().ScrollbarSize) * pixels);
  space.height = static_cast<int>((height - 8 * frame.scale) * pixels);
  space.image_width = atlas.width;
  space.image_height = atlas.height;
  space.count = atlas.count;
  space.gap = std::max(1, static_cast<int>(4 * s));
  space.row_gap = std::max(1, static_cast<int>(2 * s));
  space.band_gap = static_cast<int>(8 * s);
  space.caption_height = static_cast<int>(20 * s);
  space.caption_width = static_cast<int>(std::ceil(text_width(frame.fonts.numbers, "00.0") * pixels));
  space.scale = s;
  return images::make_grid(space, settings.zoom == 0 ? images::fit_zoom(space) : settings.zoom);
}

void ImagesPanel::draw_grid(const Frame& frame, float height) {
  const float labels = label_width(frame);
  ImDrawList* const label_list = ImGui::GetWindowDrawList();
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const float width = std::max(1.0f, ImGui::GetContentRegionAvail().x - labels);
  const images::Grid grid = lay_out(frame, width, height);
  shown_zoom_ = grid.zoom;

  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + labels);
  ImGui::BeginChild("images.grid", ImVec2(width, std::max(1.0f, height)), false,
                    ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoNav);
  const ImVec2 cursor = ImGui::GetCursorScreenPos();
  const ImVec2 origin(snap(cursor.x), snap(cursor.y + 8 * frame.scale));
  const auto hit = handle_pointer(frame, grid, origin);
  for (int image = 0; image < grid.space.count; ++image) {
    draw_column(frame, grid, origin, image, hit && hit->image == image);
  }
  if (!hit) hovered_since_ = ImGui::GetTime();
  if (ImGui::GetTime() - hovered_since_ >= kMagnifierDelay) {
    images::magnifier(frame, *shown_view(), *hit, settings.conversion, density());
  }
  ImGui::EndChild();

  label_list->PushClipRect(corner, ImVec2(corner.x + labels, corner.y + height), true);
  for (int band = 0; band < grid.bands; ++band) {
    for (int row = 0; row <= images::kRows; ++row) {
      const images::Point place = grid.place(row, band * grid.columns);
      const auto rows =
          static_cast<float>(row == images::kRows ? grid.space.caption_height : grid.row_height());
      const float middle = origin.y + (static_cast<float>(place.y) + rows / 2) / density();
      draw_text(label_list, frame.fonts.small, corner.x,
                row_baseline(frame, middle - ImGui::GetFrameHeight() / 2), frame.palette.muted,
                row == images::kRows                 ? "PSNR, dB"
                : row == images::kNow && shows_past_ ? "earlier"
                                                     : kRowNames[static_cast<std::size_t>(row)]);
    }
  }
  label_list->PopClipRect();
}

std::optional<images::GridHit> ImagesPanel::handle_pointer(const Frame& frame, const images::Grid& grid,
                                                           ImVec2 origin) {
  const ImVec2 size(static_cast<float>(grid.content_width()) / density(),
                    static_cast<float>(grid.content_height()) / density() + 8 * frame.scale);
  ImGui::InvisibleButton("images.area", ImVec2(std::max(size.x, ImGui::GetContentRegionAvail().x), size.y));
  const bool hovered = ImGui::IsItemHovered();
  const float band = static_cast<float>(grid.band_height() + grid.space.band_gap) / density();
  if (anchor_ && shown_zoom_ == settings.zoom) {
    const int above = anchor_->image / grid.columns;
    ImGui::SetScrollY(std::round(static_cast<float>(above) * band - anchor_->offset));
    anchor_.reset();
  }
  const ImGuiIO& io = ImGui::GetIO();
  if (ImGui::IsItemActive() && ImGui::IsMouseDragging(ImGuiMouseButton_Left)) {
    ImGui::SetScrollY(ImGui::GetScrollY() - io.MouseDelta.y);
  }
  if (ImGui::IsWindowHovered() && io.MouseWheel != 0) {
    if (io.KeyCtrl) {
      settings.zoom = std::clamp(grid.zoom + (io.MouseWheel > 0 ? 1 : -1), 1, images::kLargestZoom);
      const int under = std::max(0, static_cast<int>((io.MousePos.y - origin.y) / band));
      anchor_ = Anchor{std::min(under * grid.columns, grid.space.count - 1),
                       static_cast<float>(under) * band - ImGui::GetScrollY()};
    } else {
      ImGui::SetScrollY(ImGui::GetScrollY() - std::round(io.MouseWheel * band / 3));
    }
  }
  if (!hovered) return std::nullopt;
  const auto hit = grid.hit({static_cast<int>(std::floor((io.MousePos.x - origin.x) * density())),
                             static_cast<int>(std::floor((io.MousePos.y - origin.y) * density()))});
  const bool clicked = ImGui::IsMouseReleased(ImGuiMouseButton_Left) && !was_dragged();
  if (clicked && hit && frame.cursor != nullptr) frame.cursor->image = hit->image;
  return ImGui::IsMouseDown(ImGuiMouseButton_Left) ? std::nullopt : hit;
}

void ImagesPanel::draw_column(const Frame& frame, const images::Grid& grid, ImVec2 origin, int image,
                              bool hovered) const {
  const images::Atlas& atlas = shown_view()->atlas();
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const auto at = [&](images::Point point) {
    return ImVec2(origin.x + static_cast<float>(point.x) / density(),
                  origin.y + static_cast<float>(point.y) / density());
  };
  const images::Point first = grid.place(0, image);
  const images::Point last = grid.place(images::kRows, image);
  const ImVec2 min = at(first);
  const ImVec2 max = at({first.x + grid.zoom * atlas.width, last.y});
  if (!ImGui::IsRectVisible(min, ImVec2(max.x, max.y + 20 * frame.scale))) return;
  for (int row = 0; row < images::kRows; ++row) {
    const images::Point place = grid.place(row, image);
    const images::Point tile = atlas.tile(row, image);
    const ImVec2 from = at(place);
    const ImVec2 to = at({place.x + grid.zoom * atlas.width, place.y + grid.zoom * atlas.height});
    images::draw_part(list, shown_view()->texture(), atlas, tile,
                      {tile.x + atlas.width, tile.y + atlas.height}, from, to);
    if (trace_enabled()) {
      trace_rectangle(fmt::format("images.{}.{}", kRowNames[static_cast<std::size_t>(row)], image), from, to);
    }
  }
  const float line = std::max(1.0f, std::floor(frame.scale));
  const bool looked_into = frame.seen.inspection && frame.cursor != nullptr && frame.cursor->image == image;
  if (hovered || looked_into) {
    list->AddRect(ImVec2(min.x - line, min.y - line), ImVec2(max.x + line, max.y + line),
                  frame.palette.accent, 0, 0, line);
  }
  const double value = images::psnr(shown_view()->shown().errors[static_cast<std::size_t>(image)]);
  std::string text = psnr_text(value, 2);
  const float column = static_cast<float>(grid.column_width()) / density();
  if (text_width(frame.fonts.numbers, text) > column) text = psnr_text(value, 1);
  const float middle = max.y + static_cast<float>(grid.space.caption_height) / density() / 2;
  draw_text(list, frame.fonts.numbers, min.x, row_baseline(frame, middle - ImGui::GetFrameHeight() / 2),
            frame.palette.text, text);
}

void ImagesPanel::draw_footer(const Frame& frame) {
  const float s = frame.scale;
  const float row = ImGui::GetFrameHeight() + std::floor(4 * s);
  ImGui::SetCursorPosY(ImGui::GetWindowHeight() - row - ImageTimeline::height(frame));
  timeline_.draw(frame);
  ImGui::SetCursorPosY(ImGui::GetWindowHeight() - row);
  images::Conversion& conversion = settings.conversion;
  static constexpr std::array<const char*, 2> kKinds{"signed", "absolute"};
  caption(frame, "difference");
  ImGui::SameLine(label_width(frame), 0);
  int kind = conversion.difference == images::Difference::absolute ? 1 : 0;
  segmented(
      frame, "images.difference", kKinds, &kind,
      "Signed: now - original, mean over the channels; blue where it is too dark now, red where too bright. "
      "Absolute: the mean of the absolute differences.");
  conversion.difference = kind == 1 ? images::Difference::absolute : images::Difference::signed_mean;
  ImGui::SameLine(0, 8 * s);
  const char* sign = kind == 1 ? "" : "\u00b1";
  if (begin_combo(frame, "images.range", fmt::format("{}{:g}", sign, conversion.range), std::floor(76 * s),
                  "The difference at the end of the colour scale; images lie in 0 to 1. The scale stays "
                  "fixed, so that "
                  "pictures of different steps can be compared.")) {
    for (const float range : kRanges) {
      const std::string label = fmt::format("{}{:g}", sign, range);
      const std::string name = fmt::format("images.range={:g}", range);
      if (combo_item(frame, name.c_str(), label.c_str(), range == conversion.range)) conversion.range = range;
    }
    end_combo();
  }
  ImGui::SameLine(0, 16 * s);
  const float bar = std::floor(96 * s);
  if (images::difference_scale_width(frame, conversion, bar) <= ImGui::GetContentRegionAvail().x) {
    images::difference_scale(frame, conversion, bar);
    tooltip(
        frame,
        "Colours of the difference row. Values beyond the ends take the colours of the ends; not-a-number is "
        "magenta.");
  }
}

}  // namespace warpscope::ui
