#include "ui/panels/pictures/prediction_grid.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "gpu/files/utf8.h"
#include "ui/frame/trace.h"
#include "ui/input/cursor.h"
#include "ui/panels/data_texts.h"
#include "ui/panels/pictures/confusion_figures.h"
#include "ui/panels/pictures/picture_magnifier.h"
#include "ui/panels/pictures/prediction_cell.h"
#include "ui/panels/selection_chip.h"
#include "ui/panels/tinted_text.h"
#include "ui/text/numbers.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr std::array<const char*, 3> kOrders{"worst first", "wrong only", "stored order"};
// More cells than any screen shows; fewer where images are large.
constexpr int kTiles = 1024;
constexpr float kLegend = 48;  // design pixels

/// What the words and the number below each image are, where there is room.
void draw_key(const Frame& frame) {
  constexpr std::string_view kKey = "below each: truth, loss; prediction";
  ImGui::SameLine(0, 16 * frame.scale);
  if (ImGui::GetContentRegionAvail().x < text_width(frame.fonts.small, kKey)) return ImGui::NewLine();
  caption(frame, kKey);
  tooltip(frame,
          "The class it shows and the loss of the network there (cross-entropy, in nats), then the class "
          "that the network takes it for.");
}

void draw_held(const Frame& frame) {
  ImGui::SameLine(0, 12 * frame.scale);
  if (ImGui::GetContentRegionAvail().x < text_width(frame.fonts.small, "held still")) return ImGui::NewLine();
  row_text(frame, frame.fonts.small, frame.palette.accent, "held still");
  trace_item("predictions.held");
  tooltip(frame, said_of_data(
                     frame, "A newer evaluation is there; it is shown when the pointer leaves the images."));
}

/// The legend of the rows, each of which has a scale of its own: at the right end, where there is room.
void draw_legend(const Frame& frame) {
  ImGui::SameLine(0, 12 * frame.scale);
  const float bar = std::floor(kLegend * frame.scale), room = ImGui::GetContentRegionAvail().x;
  const float width = share_legend_width(frame, "against", "for", bar);
  if (width > room) return ImGui::NewLine();
  align_right(frame, width);
  share_legend(frame, "against", "for", bar);
  trace_item("predictions.legend");
}

constexpr float kCaption = 150, kColumnGap = 16, kPadding = 5;  // design pixels
constexpr double kRest = 0.3;                                   // seconds
constexpr std::size_t kLines = 2;                               // of a text in its row
// Where a row is at least so wide, the probability of the truth stands at its end.
constexpr float kLeastWithChance = 520, kChance = 128;
// Shown of a longer text in a tool-tip; what a network reads is seldom more.
constexpr std::size_t kMostTipCharacters = 1200;

bool is_validation(const HeldOut& held_out) {
  return held_out.evaluation->split == training::Split::validation;
}

/// What the character under the pointer does, then the whole text.
std::string tip_of(const HeldOut& held_out, int image, const training::TextAttribution* shares,
                   std::optional<std::size_t> character) {
  std::string begin;
  if (shares != nullptr && character) {
    begin = fmt::format("{}\n\n", character_text(*shares, *character, held_out.class_name(shares->target)));
  }
  std::string text = held_out.text(image);
  if (text.size() > kMostTipCharacters) {
    text = fmt::format("{}...", files::valid_utf8(std::string_view(text).substr(0, kMostTipCharacters)));
  }
  return fmt::format(
      "{}{}\n\n{}: {}, taken for {}; loss {} nats; probability of the truth {}; number {} of the {} set.",
      begin, text, held_out.right(image) ? "Right" : "Wrong", held_out.class_name(held_out.truth(image)),
      held_out.class_name(held_out.predicted(image)), loss_text(held_out.loss(image)),
      percent_text(held_out.probability_of_truth(image)), with_thousands(held_out.position(image)),
      training::to_string(held_out.evaluation->split));
}

/// The probability that the network gives to the truth, as a number over a bar that is full at 100 %.
void draw_chance(const Frame& frame, const HeldOut& held_out, int image, ImVec2 at) {
  const float s = frame.scale, width = std::floor(kChance * s), half = prediction_height(frame) / 2;
  const float baseline = row_baseline(frame, std::floor(at.y + (half - ImGui::GetFrameHeight()) / 2));
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const double chance = held_out.probability_of_truth(image);
  const std::string number = percent_text(chance);
  draw_text(list, frame.fonts.small, at.x, baseline, frame.palette.muted, "truth");
  draw_text(list, frame.fonts.small, at.x + width - text_width(frame.fonts.small, number), baseline,
            frame.palette.muted, number);
  const float top = std::floor(at.y + half + 4 * s), high = std::floor(6 * s);
  const float part = std::isnan(chance) ? 0.0f : static_cast<float>(std::clamp(chance, 0.0, 1.0));
  list->AddRectFilled(ImVec2(at.x, top), ImVec2(at.x + width, top + high), frame.palette.grid);
  list->AddRectFilled(ImVec2(at.x, top), ImVec2(at.x + std::round(width * part), top + high),
                      held_out.right(image) ? frame.palette.accent : frame.palette.error);
}

/// nullptr where nothing is known, or where the set has another text there by now.
const training::TextAttribution* shares_of(const Frame& frame, const HeldOut& held_out, int image) {
  const auto& seen = frame.seen.held_out_texts;
  if (!seen || seen->validation != is_validation(held_out)) return nullptr;
  const training::TextAttribution* const found =
      seen->find(static_cast<std::int64_t>(held_out.position(image)));
  return found != nullptr && shown_characters(found->text).size() == held_out.characters(image).size()
             ? found
             : nullptr;
}

}  // namespace

/// Returns the character under the pointer.
std::optional<std::size_t> PredictionTexts::draw_row(const Frame& frame, const HeldOut& held_out, int image,
                                                     const RowPlace& place) const {
  const float s = frame.scale;
  const float caption = std::min(std::floor(kCaption * s), (place.max.x - place.min.x) / 2);
  const float top = place.min.y + std::floor(kPadding * s);
  draw_prediction(frame, held_out, image, ImVec2(place.min.x + 2 * s, top), caption - 2 * s);
  const float left = place.min.x + caption + std::floor(kColumnGap * s),
              line = prediction_height(frame) / kLines;
  const bool chance = place.max.x - place.min.x >= kLeastWithChance * s;
  const float end = place.max.x - (chance ? std::floor((kChance + kColumnGap + 4) * s) : 0);
  if (chance) draw_chance(frame, held_out, image, ImVec2(end + std::floor(kColumnGap * s), top));
  const TintedText text{held_out.characters(image), shares_of(frame, held_out, image)};
  const bool quiet = held_out.right(image) && text.shares == nullptr;
  const auto pointed = draw_tinted_text(frame, text, ImVec2(left, top), std::max(1.0f, end - left), line,
                                        kLines, quiet ? frame.palette.muted : frame.palette.text);
  const auto test_image = held_out.test_image(image);
  if (test_image && is_pointed_at_image(frame, *test_image)) {
    ImGui::GetWindowDrawList()->AddRect(place.min, place.max, frame.palette.accent, 0, 0,
                                        std::max(1.0f, std::floor(2 * s)));
  }
  return pointed;
}

/// What stands on the screen, once it has rested: nothing is computed for what scrolls by.
void PredictionTexts::ask(const Frame& frame, const HeldOut& held_out, std::span<const int> rows) {
  if (frame.request == nullptr) return;
  training::HeldOutTexts now{is_validation(held_out), {}};
  for (const int image : rows) now.places.push_back(static_cast<std::int64_t>(held_out.position(image)));
  if (now != on_screen_) {
    on_screen_ = std::move(now);
    since_ = ImGui::GetTime();
  }
  if (ImGui::GetTime() - since_ >= kRest) {
    asked_ = on_screen_;
  } else if (asked_ != on_screen_) {
    redraw_at(frame, since_ + kRest);
  }
  if (!asked_.places.empty()) frame.request->held_out_texts = asked_;
}

void PredictionTexts::trace(const Frame& frame) {
  const auto& seen = frame.seen.held_out_texts;
  if (!trace_enabled() || !seen || seen->number == traced_) return;
  traced_ = seen->number;
  trace_event("tinted_texts", fmt::format("\"step\":{},\"places\":{}", seen->step, seen->texts.size()));
}

std::optional<int> PredictionTexts::draw(const Frame& frame, const HeldOut& held_out,
                                         std::span<const int> order, bool scroll_to_start) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  ImGui::BeginChild("predictions.texts", ImVec2(room.x, std::max(1.0f, room.y)), false,
                    ImGuiWindowFlags_NoNav);
  if (scroll_to_start) ImGui::SetScrollY(0);
  const float pitch = prediction_height(frame) + 2 * std::floor(kPadding * frame.scale);
  const float width = std::max(1.0f, room.x - ImGui::GetStyle().ScrollbarSize);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const std::size_t first =
      std::min(order.size(), static_cast<std::size_t>(std::max(0.0f, ImGui::GetScrollY() / pitch)));
  const auto end = std::min(order.size(), first + static_cast<std::size_t>(std::ceil(room.y / pitch)) + 1);
  std::optional<int> hit;
  std::string tip;
  for (std::size_t row = first; row < end; ++row) {
    const float top = origin.y + static_cast<float>(row) * pitch;
    const RowPlace place{{origin.x, top}, {origin.x + width, top + pitch}};
    const bool hovered = ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(place.min, place.max);
    if (hovered) {
      hit = order[row];
      ImGui::GetWindowDrawList()->AddRectFilled(place.min, place.max,
                                                ImGui::GetColorU32(ImGuiCol_HeaderHovered));
    }
    const auto pointed = draw_row(frame, held_out, order[row], place);
    if (hovered) tip = tip_of(held_out, order[row], shares_of(frame, held_out, order[row]), pointed);
    if (trace_enabled()) trace_rectangle(fmt::format("predictions.text.{}", row), place.min, place.max);
  }
  ask(frame, held_out, order.subspan(first, end - first));
  trace(frame);
  if (hit && !ImGui::IsMouseDown(ImGuiMouseButton_Left)) pointer_tip(frame, tip);
  ImGui::SetCursorScreenPos(origin);
  ImGui::Dummy(ImVec2(1, pitch * static_cast<float>(order.size())));
  ImGui::EndChild();
  return hit;
}

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
  if (other_images) tiles_.renew(frame, held_out.images(), kTiles);
  if (other_images || other_choice || arranged_.evaluation != held_out.evaluation) {
    order_ = arrange(held_out, choice_);
    arranged_ = held_out;
    arranged_as_ = choice_;
  }
  if (other_set || other_choice) scroll_to_start_ = true;
}

void PredictionGrid::draw_zoom(const Frame& frame) {
  zoom_buttons(frame, "predictions.zoom", static_cast<float>(shown_zoom_),
               "Screen pixels per image pixel, always a whole number, so that every pixel is shown as it is.",
               zoom_);
}

void PredictionGrid::draw_order(const Frame& frame) {
  const auto now = static_cast<std::size_t>(choice_.order);
  if (!begin_combo(frame, "predictions.order", kOrders[now], std::floor(120 * frame.scale),
                   said_of_data(frame,
                                "Worst first: the largest loss first. Wrong only: the same, without the "
                                "images that were classified right. Stored order: as in the data set."))) {
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
  const std::string count = with_thousands(order_.size());
  const bool texts = held_out.has_texts();
  const float room =
      ImGui::GetContentRegionAvail().x - text_width(frame.fonts.numbers, count) - std::floor(5 * s);
  if (room < text_width(frame.fonts.small, texts ? "texts" : "images")) return ImGui::NewLine();
  const std::string unit = ellipsize(frame.fonts.small, count_unit(held_out, order_.size()), room);
  value_with_unit(
      frame, count, unit,
      fmt::format(
          "{} {}: its truth and its loss (cross-entropy, in nats), then what the network took it for.",
          count_text(held_out, choice_, order_.size()), texts ? "Beside a text" : "Below an image"));
  if (!held_out.has_texts()) draw_key(frame);
  if (held) draw_held(frame);
  if (texts && frame.request != nullptr) draw_legend(frame);
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
  const float pixels = framebuffer_density();
  images::CellSpace space = cell_space(frame, held_out.images(), order_.size(), room);
  space.caption_height = static_cast<int>(std::ceil(prediction_height(frame) * pixels));
  space.least_width = static_cast<int>(std::ceil(prediction_least_width(frame) * pixels));
  return images::make_cells(space, zoom_ == 0 ? images::fit_cells(space) : zoom_);
}

std::optional<int> PredictionGrid::handle_pointer(const images::CellGrid& grid, ImVec2 origin) {
  const ImGuiIO& io = ImGui::GetIO();
  if (!ImGui::IsWindowHovered()) return std::nullopt;
  if (io.MouseWheel != 0 && io.KeyCtrl) {
    zoom_ = std::clamp(grid.zoom + (io.MouseWheel > 0 ? 1 : -1), 1, images::kLargestZoom);
  } else if (io.MouseWheel != 0) {
    ImGui::SetScrollY(ImGui::GetScrollY() - std::round(io.MouseWheel * static_cast<float>(grid.row_pitch()) /
                                                       framebuffer_density()));
  }
  return grid.hit(pointer_from(origin));
}

/// An image that another view has chosen comes into view.
void PredictionGrid::follow_image(const Frame& frame, const HeldOut& held_out, const images::CellGrid& grid,
                                  float height) {
  if (frame.cursor == nullptr || frame.cursor->image == pointed_) return;
  pointed_ = frame.cursor->image;
  const auto found = std::find_if(order_.begin(), order_.end(),
                                  [&](int image) { return held_out.test_image(image) == pointed_; });
  if (found == order_.end()) return;
  const auto top =
      static_cast<float>(grid.place(static_cast<int>(found - order_.begin())).y) / framebuffer_density();
  const float tall = static_cast<float>(grid.cell_height()) / framebuffer_density();
  if (top >= ImGui::GetScrollY() && top + tall <= ImGui::GetScrollY() + height) return;
  ImGui::SetScrollY(std::max(0.0f, std::round(top - (height - tall) / 2)));
}

/// A click moves the cursor; of validation images, which no other view shows, only to their class.
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
  const ImVec2 origin = on_whole_pixels(cursor);
  looked_at_ = ImGui::IsWindowHovered();
  const auto hit = handle_pointer(grid, origin);
  const int top = static_cast<int>(ImGui::GetScrollY() * framebuffer_density());
  tiles_.begin_frame();
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
    if (const auto tile = tiles_.tile_of(*held_out.data, held_out.part(), image)) {
      magnify_prediction(frame, held_out, image, *tiles_.page(), *tile);
    }
  }
  ImGui::SetCursorScreenPos(cursor);
  ImGui::Dummy(ImVec2(1, static_cast<float>(grid.content_height()) / framebuffer_density()));
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
  const auto [min, max] = picture_corners(grid, origin, cell);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  if (const auto tile = tiles_.tile_of(*held_out.data, held_out.part(), image))
    tiles_.page()->draw(list, *tile, min, max);
  const float line = std::max(1.0f, std::floor(2 * frame.scale));
  const auto test_image = held_out.test_image(image);
  const bool pointed = test_image && is_pointed_at_image(frame, *test_image);
  if (hovered || pointed || !held_out.right(image)) {
    outline(list, min, max, hovered || pointed ? frame.palette.accent : frame.palette.error, line);
  }
  draw_prediction(frame, held_out, image, ImVec2(min.x, max.y + std::floor(2 * frame.scale)),
                  static_cast<float>(std::max(grid.space.least_width, grid.zoom * grid.space.image_width)) /
                      framebuffer_density());
  if (trace_enabled()) trace_rectangle(fmt::format("predictions.cell.{}", cell), min, max);
}

void PredictionGrid::trace(const Frame& frame, const HeldOut& held_out) {
  if (!trace_enabled()) return;
  const int first = order_.empty() ? -1 : order_.front();
  std::string now = fmt::format(
      "\"step\":{},\"count\":{},\"evaluated\":{},\"order\":{},\"truth\":{},\"predicted\":{},\"first\":{}",
      held_out.evaluation->step, order_.size(), held_out.evaluated(), static_cast<int>(choice_.order),
      choice_.truth, choice_.predicted, first < 0 ? -1 : static_cast<std::int64_t>(held_out.position(first)));
  if (first >= 0) {
    now += fmt::format(",\"first_truth\":{},\"first_predicted\":{}", held_out.truth(first),
                       held_out.predicted(first));
  }
  if (frame.cursor != nullptr) {
    now += fmt::format(",\"image\":{},\"label\":{}", frame.cursor->image, frame.cursor->label.value_or(-1));
  }
  trace_change(traced_, "predictions", now);
}

}  // namespace warpscope::ui
