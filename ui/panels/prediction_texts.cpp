#include "ui/panels/prediction_texts.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "gpu/files/utf8.h"
#include "ui/frame/trace.h"
#include "ui/input/pointing.h"
#include "ui/panels/confusion_figures.h"
#include "ui/panels/prediction_cell.h"
#include "ui/panels/text_rows.h"
#include "ui/panels/tinted_text.h"
#include "ui/text/numbers.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr float kCaption = 150, kGap = 16, kPadding = 5;  // design pixels
constexpr double kRest = 0.3;                             // seconds
constexpr std::size_t kLines = 2;                         // of a text in its row
// Where a row is at least so wide, the probability of the truth stands at its end.
constexpr float kLeastWithChance = 520, kChance = 128;
// Of a text that is longer in a tool-tip; what a network reads is seldom more.
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

}  // namespace

/// nullptr where nothing is known, or where the set has another text there by now.
const training::TextAttribution* PredictionTexts::shares_of(const Frame& frame, const HeldOut& held_out,
                                                            int image) const {
  const auto& seen = frame.seen.held_out_texts;
  if (!seen || seen->validation != is_validation(held_out)) return nullptr;
  const training::TextAttribution* const found =
      seen->find(static_cast<std::int64_t>(held_out.position(image)));
  return found != nullptr && shown_characters(found->text).size() == held_out.characters(image).size()
             ? found
             : nullptr;
}

/// Returns the character under the pointer.
std::optional<std::size_t> PredictionTexts::draw_row(const Frame& frame, const HeldOut& held_out, int image,
                                                     const RowPlace& place) const {
  const float s = frame.scale;
  const float caption = std::min(std::floor(kCaption * s), (place.max.x - place.min.x) / 2);
  const float top = place.min.y + std::floor(kPadding * s);
  draw_prediction(frame, held_out, image, ImVec2(place.min.x + 2 * s, top), caption - 2 * s);
  const float left = place.min.x + caption + std::floor(kGap * s), line = prediction_height(frame) / kLines;
  const bool chance = place.max.x - place.min.x >= kLeastWithChance * s;
  const float end = place.max.x - (chance ? std::floor((kChance + kGap + 4) * s) : 0);
  if (chance) draw_chance(frame, held_out, image, ImVec2(end + std::floor(kGap * s), top));
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

}  // namespace warpscope::ui
