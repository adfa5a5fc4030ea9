#include "ui/panels/prediction_grid.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "ui/images/byte_colours.h"
#include "ui/images/grid_layout.h"
#include "ui/input/cursor.h"
#include "ui/input/pointing.h"
#include "ui/interop/texture.h"
#include "ui/panels/data_texts.h"
#include "ui/panels/prediction_cell.h"
#include "ui/panels/selection_chip.h"
#include "ui/panels/tinted_text.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr std::array<const char*, 3> kOrders{"worst first", "wrong only", "stored order"};
// More cells than any screen shows; fewer where images are large.
constexpr int kTiles = 1024, kLargestPage = 4096;
// Seconds: the magnifier covers much, so it waits until the pointer stays, and then follows it at once.
constexpr double kMagnifierDelay = 0.3;
constexpr float kLegend = 48;  // design pixels

/// Framebuffer pixels per pixel of the window.
float density() {
  return std::max(0.01f, ImGui::GetIO().DisplayFramebufferScale.x);
}

}  // namespace

void PredictionGrid::show_pair(int truth, int predicted) {
  choice_.truth = truth;
  choice_.predicted = predicted;
  // On the diagonal all are right: "wrong only" would show nothing.
  if (truth == predicted && choice_.order == PredictionOrder::wrong_only)
    choice_.order = PredictionOrder::worst_first;
}

// Brings order and texture up to date with what is shown.
void PredictionGrid::refresh(const Frame& frame, const HeldOut& held_out) {
  const bool other_images = !arranged_.evaluation || arranged_.data != held_out.data ||
                            arranged_.evaluation->split != held_out.evaluation->split;
  // In a view of another process's run the images change with each evaluation.
  const bool follows = arranged_.evaluation && !arranged_.evaluation->positions.empty() &&
                       !held_out.evaluation->positions.empty() &&
                       arranged_.evaluation->split == held_out.evaluation->split;
  const bool other_set = other_images && !follows;
  const bool other_choice = !(arranged_as_ == choice_);
  if (other_images) {
    const training::ImageFacts& set = held_out.images();
    const int largest = std::min(kLargestPage, interop::Texture::largest());
    const interop::PageShape shape = interop::make_page(kTiles, set.width, set.height, largest);
    if (!page_ || page_->shape() != shape) {
      page_ = std::make_unique<interop::TilePage>(shape, frame.textures);
      cache_ = images::TileCache(shape.tiles());
    }
    cache_.clear();
  }
  if (other_images || other_choice || arranged_.evaluation != held_out.evaluation) {
    order_ = arrange(held_out, choice_);
    arranged_ = held_out;
    arranged_as_ = choice_;
  }
  if (other_set || other_choice) scroll_to_start_ = true;
}

std::optional<int> PredictionGrid::tile_of(const HeldOut& held_out, int image) {
  const auto place = cache_.need(image);
  if (!place) return std::nullopt;
  if (place->fresh) {
    const auto pixels = images::byte_colours(*held_out.data, held_out.part(), image);
    if (pixels.empty()) {
      cache_.forget(image);
      return std::nullopt;
    }
    page_->upload(place->tile, pixels.data());
  }
  return place->tile;
}

void PredictionGrid::draw_zoom(const Frame& frame) {
  const float s = frame.scale;
  const auto button = [&](const char* label) { return text_width(frame.fonts.text, label) + 20 * s; };
  const float number = std::floor(32 * s);
  const float width =
      button("-") + button("+") + text_width(frame.fonts.text, "fit") + 16 * s + number + 12 * s;
  if (title_end(frame) - ImGui::GetCursorPosX() < width) return;
  align_title_right(frame, width);
  if (text_button(frame, "predictions.zoom_out", "-", "Smaller images (Ctrl + wheel)", shown_zoom_ > 1)) {
    zoom_ = shown_zoom_ - 1;
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
  if (text_button(frame, "predictions.zoom_in", "+", "Larger images (Ctrl + wheel)",
                  shown_zoom_ < images::kLargestZoom)) {
    zoom_ = shown_zoom_ + 1;
  }
  ImGui::SameLine(0, 4 * s);
  bool fit = zoom_ == 0;
  if (toggle(frame, "predictions.zoom_fit", "fit", &fit,
             "The largest size at which enough images are seen at once")) {
    zoom_ = fit ? 0 : shown_zoom_;
  }
}

void PredictionGrid::draw_order(const Frame& frame) {
  const auto now = static_cast<std::size_t>(choice_.order);
  if (!begin_combo(
          frame, "predictions.order", kOrders[now], std::floor(120 * frame.scale),
          said_of_data(
              frame,
              "Worst first: the largest loss first. Wrong only: the same, without the images that were "
              "classified right. Stored order: as in the data set."))) {
    return;
  }
  for (std::size_t i = 0; i < kOrders.size(); ++i) {
    const std::string name = fmt::format("predictions.order={}", kOrders[i]);
    if (combo_item(frame, name.c_str(), kOrders[i], i == now))
      choice_.order = static_cast<PredictionOrder>(i);
  }
  end_combo();
}

void PredictionGrid::draw_classes(const Frame& frame, const HeldOut& held_out) {
  const float width = std::clamp(ImGui::GetContentRegionAvail().x, 40 * frame.scale, 136 * frame.scale);
  const std::string now = choice_.truth == kAnyClass ? "all classes" : held_out.class_name(choice_.truth);
  if (!begin_combo(frame, "predictions.class", now, std::floor(width),
                   said_of_data(frame, "Only the images whose truth is this class."))) {
    return;
  }
  if (combo_item(frame, "predictions.class=all", "all classes", choice_.truth == kAnyClass))
    choice_.truth = kAnyClass;
  for (int index = 0; index < held_out.evaluation->classes; ++index) {
    const std::string name = fmt::format("predictions.class={}", index);
    const std::string label = ellipsize(frame.fonts.text, held_out.class_name(index), 320 * frame.scale);
    if (!combo_item(frame, name.c_str(), label.c_str(), choice_.truth == index)) continue;
    choice_.truth = index;
    point_at_class(frame, index);
  }
  end_combo();
}

// The pair that was chosen in the matrix, with a cross that lets it go.
void PredictionGrid::draw_chip(const Frame& frame, const HeldOut& held_out) {
  const std::string pair = pair_text(held_out, choice_);
  const std::string tip = fmt::format("{}: only these images are shown. Click to show all again.", pair);
  if (chip(frame, "predictions.chip", pair, ImGui::GetContentRegionAvail().x, tip)) {
    choice_.truth = choice_.predicted = kAnyClass;
  }
}

void PredictionGrid::draw_choices(const Frame& frame, const HeldOut& held_out, bool held) {
  const float s = frame.scale;
  ImGui::Dummy(ImVec2(1, std::floor(3 * s)));
  selection_chip(frame, "predictions.selection", selected_images(held_out, choice_.images),
                 held_out.evaluated(), ImGui::GetContentRegionAvail().x);
  draw_order(frame);
  ImGui::SameLine(0, 8 * s);
  if (choice_.predicted == kAnyClass) {
    draw_classes(frame, held_out);
  } else {
    draw_chip(frame, held_out);
  }
  ImGui::SameLine(0, 12 * s);
  const std::string count = with_thousands(static_cast<std::uint64_t>(order_.size()));
  const bool texts = held_out.has_texts();
  const char* const unit = texts ? "texts" : "images";
  const float width = text_width(frame.fonts.numbers, count) + text_width(frame.fonts.small, unit) + 5 * s;
  if (ImGui::GetContentRegionAvail().x < width) return ImGui::NewLine();
  value_with_unit(
      frame, count, unit,
      fmt::format(
          "{} {}: its truth and its loss (cross-entropy, in nats), then what the network took it for.",
          count_text(held_out, choice_, order_.size()), texts ? "Beside a text" : "Below an image"));
  if (!held_out.has_texts()) draw_key(frame);
  if (held) draw_held(frame);
  if (texts && frame.request != nullptr) draw_legend(frame);
}

/// What the words and the number below each image are, where there is room.
void PredictionGrid::draw_key(const Frame& frame) {
  constexpr std::string_view kKey = "below each: truth, loss; prediction";
  ImGui::SameLine(0, 16 * frame.scale);
  if (ImGui::GetContentRegionAvail().x < text_width(frame.fonts.small, kKey)) return ImGui::NewLine();
  caption(frame, kKey);
  tooltip(frame,
          "The class it shows and the loss of the network there (cross-entropy, in nats), then the class "
          "that the "
          "network takes it for.");
}

void PredictionGrid::draw_held(const Frame& frame) {
  ImGui::SameLine(0, 12 * frame.scale);
  if (ImGui::GetContentRegionAvail().x < text_width(frame.fonts.small, "held still")) return ImGui::NewLine();
  row_text(frame, frame.fonts.small, frame.palette.accent, "held still");
  trace_item("predictions.held");
  tooltip(frame, said_of_data(
                     frame, "A newer evaluation is there; it is shown when the pointer leaves the images."));
}

/// Of the rows, each of which has a scale of its own: at the right end, where there is room.
void PredictionGrid::draw_legend(const Frame& frame) {
  ImGui::SameLine(0, 12 * frame.scale);
  const float bar = std::floor(kLegend * frame.scale), room = ImGui::GetContentRegionAvail().x;
  const float width = share_legend_width(frame, "against", "for", bar);
  if (width > room) return ImGui::NewLine();
  align_right(frame, width);
  share_legend(frame, "against", "for", bar);
  trace_item("predictions.legend");
}

void PredictionGrid::draw(const Frame& frame, const HeldOut& held_out, bool held) {
  choice_.images = frame.cursor == nullptr ? std::vector<std::int64_t>{} : frame.cursor->images;
  refresh(frame, held_out);
  draw_choices(frame, held_out, held);
  if (frame.cursor != nullptr) choice_.images = frame.cursor->images;
  refresh(frame, held_out);  // the choice may be another one now
  if (order_.empty()) {
    looked_at_ = false;
    centered_text(frame, nothing_text(held_out, choice_));
  } else if (held_out.has_texts()) {
    draw_texts(frame, held_out);
  } else {
    draw_cells(frame, held_out);
  }
  trace(frame, held_out);
}

images::CellGrid PredictionGrid::lay_out(const Frame& frame, const HeldOut& held_out, ImVec2 room) const {
  const float pixels = density(), s = frame.scale * pixels;
  const training::ImageFacts& set = held_out.images();
  images::CellSpace space;
  space.width = static_cast<int>((room.x - ImGui::GetStyle().ScrollbarSize) * pixels);
  space.height = static_cast<int>(room.y * pixels);
  space.image_width = set.width;
  space.image_height = set.height;
  space.count = static_cast<int>(order_.size());
  space.gap = std::max(1, static_cast<int>(8 * s));
  space.edge = std::max(1, static_cast<int>(std::ceil(3 * s)));
  space.caption_height = static_cast<int>(std::ceil(prediction_height(frame) * pixels));
  space.least_width = static_cast<int>(std::ceil(prediction_least_width(frame) * pixels));
  space.scale = s;
  return images::make_cells(space, zoom_ == 0 ? images::fit_cells(space) : zoom_);
}

std::optional<int> PredictionGrid::handle_pointer(const images::CellGrid& grid, ImVec2 origin) {
  const ImGuiIO& io = ImGui::GetIO();
  if (!ImGui::IsWindowHovered()) return std::nullopt;
  if (io.MouseWheel != 0 && io.KeyCtrl) {
    zoom_ = std::clamp(grid.zoom + (io.MouseWheel > 0 ? 1 : -1), 1, images::kLargestZoom);
  } else if (io.MouseWheel != 0) {
    ImGui::SetScrollY(ImGui::GetScrollY() -
                      std::round(io.MouseWheel * static_cast<float>(grid.row_pitch()) / density()));
  }
  return grid.hit({static_cast<int>(std::floor((io.MousePos.x - origin.x) * density())),
                   static_cast<int>(std::floor((io.MousePos.y - origin.y) * density()))});
}

/// An image that another view has chosen comes into view.
void PredictionGrid::follow_image(const Frame& frame, const HeldOut& held_out, const images::CellGrid& grid,
                                  float height) {
  if (frame.cursor == nullptr || frame.cursor->image == pointed_) return;
  pointed_ = frame.cursor->image;
  const auto found = std::find_if(order_.begin(), order_.end(),
                                  [&](int image) { return held_out.test_image(image) == pointed_; });
  if (found == order_.end()) return;
  const auto top = static_cast<float>(grid.place(static_cast<int>(found - order_.begin())).y) / density();
  const float tall = static_cast<float>(grid.cell_height()) / density();
  if (top >= ImGui::GetScrollY() && top + tall <= ImGui::GetScrollY() + height) return;
  ImGui::SetScrollY(std::max(0.0f, std::round(top - (height - tall) / 2)));
}

/// A click moves the cursor; of validation images, which no other view shows, to their class alone.
void PredictionGrid::point_at(const Frame& frame, const HeldOut& held_out, int image) {
  if (const auto test_image = held_out.test_image(image)) {
    point_at_image(frame, *test_image);
    pointed_ = *test_image;  // it is in view: nothing scrolls
  }
  point_at_class(frame, held_out.truth(image));
}

void PredictionGrid::draw_cells(const Frame& frame, const HeldOut& held_out) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const images::CellGrid grid = lay_out(frame, held_out, room);
  shown_zoom_ = grid.zoom;
  ImGui::BeginChild("predictions.grid", ImVec2(room.x, std::max(1.0f, room.y)), false,
                    ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoNav);
  if (std::exchange(scroll_to_start_, false)) ImGui::SetScrollY(0);
  follow_image(frame, held_out, grid, room.y);
  const ImVec2 cursor = ImGui::GetCursorScreenPos();
  const ImVec2 origin(std::round(cursor.x * density()) / density(),
                      std::round(cursor.y * density()) / density());
  looked_at_ = ImGui::IsWindowHovered();
  const auto hit = handle_pointer(grid, origin);
  const int top = static_cast<int>(ImGui::GetScrollY() * density());
  cache_.begin_frame();
  for (int cell = grid.first_visible(top); cell < grid.end_visible(top); ++cell) {
    draw_cell(frame, held_out, grid, origin, cell, hit == cell);
  }
  if (hit && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
    point_at(frame, held_out, order_[static_cast<std::size_t>(*hit)]);
  }
  if (!hit) hovered_since_ = ImGui::GetTime();
  if (hit && ImGui::GetTime() - hovered_since_ >= kMagnifierDelay &&
      !ImGui::IsMouseDown(ImGuiMouseButton_Left)) {
    const int image = order_[static_cast<std::size_t>(*hit)];
    if (const auto tile = tile_of(held_out, image)) {
      magnify_prediction(frame, held_out, image, *page_, *tile, density());
    }
  }
  ImGui::SetCursorScreenPos(cursor);
  ImGui::Dummy(ImVec2(1, static_cast<float>(grid.content_height()) / density()));
  ImGui::EndChild();
}

void PredictionGrid::draw_texts(const Frame& frame, const HeldOut& held_out) {
  const auto hit = texts_.draw(frame, held_out, order_, std::exchange(scroll_to_start_, false));
  looked_at_ = hit.has_value();
  if (hit && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) point_at(frame, held_out, *hit);
}

void PredictionGrid::draw_cell(const Frame& frame, const HeldOut& held_out, const images::CellGrid& grid,
                               ImVec2 origin, int cell, bool hovered) {
  const int image = order_[static_cast<std::size_t>(cell)];
  const images::Point place = grid.place(cell);
  const auto pixels = [](int length) { return static_cast<float>(length) / density(); };
  const ImVec2 min(origin.x + pixels(place.x), origin.y + pixels(place.y));
  const ImVec2 max(min.x + pixels(grid.zoom * grid.space.image_width),
                   min.y + pixels(grid.zoom * grid.space.image_height));
  ImDrawList* const list = ImGui::GetWindowDrawList();
  if (const auto tile = tile_of(held_out, image)) page_->draw(list, *tile, min, max);
  const float line = std::max(1.0f, std::floor(2 * frame.scale));
  const auto test_image = held_out.test_image(image);
  const bool pointed = test_image && is_pointed_at_image(frame, *test_image);
  if (hovered || pointed || !held_out.right(image)) {
    list->AddRect(ImVec2(min.x - line, min.y - line), ImVec2(max.x + line, max.y + line),
                  hovered || pointed ? frame.palette.accent : frame.palette.error, 0, 0, line);
  }
  draw_prediction(frame, held_out, image, ImVec2(min.x, max.y + std::floor(2 * frame.scale)),
                  pixels(std::max(grid.space.least_width, grid.zoom * grid.space.image_width)));
  if (trace_enabled()) trace_rectangle(fmt::format("predictions.cell.{}", cell), min, max);
}

void PredictionGrid::trace(const Frame& frame, const HeldOut& held_out) {
  if (!trace_enabled()) return;
  const int first = order_.empty() ? -1 : order_.front();
  std::string now = fmt::format(
      "\"step\":{},\"count\":{},\"evaluated\":{},\"order\":{},\"truth\":{},\"predicted\":{},"
      "\"first\":{}",
      held_out.evaluation->step, order_.size(), held_out.evaluated(), static_cast<int>(choice_.order),
      choice_.truth, choice_.predicted, first < 0 ? -1 : static_cast<std::int64_t>(held_out.position(first)));
  if (first >= 0) {
    now += fmt::format(",\"first_truth\":{},\"first_predicted\":{}", held_out.truth(first),
                       held_out.predicted(first));
  }
  if (frame.cursor != nullptr) {
    now += fmt::format(",\"image\":{},\"label\":{}", frame.cursor->image, frame.cursor->label.value_or(-1));
  }
  if (now == traced_) return;
  traced_ = now;
  trace_event("predictions", now);
}

}  // namespace warpscope::ui
