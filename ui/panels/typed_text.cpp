#include "ui/panels/typed_text.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "ui/frame/trace.h"
#include "ui/panels/confusion_figures.h"
#include "ui/panels/text_rows.h"
#include "ui/panels/tinted_text.h"
#include "ui/text/numbers.h"
#include "ui/text/paragraph.h"
#include "ui/widgets/hit_area.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr float kRow = 20, kNames = 112, kFigures = 58, kLegend = 72;  // design pixels
constexpr std::size_t kLines = 3, kClasses = 6;

std::string class_name(const Frame& frame, int index) {
  const auto& data = frame.snapshot.data;
  const auto at = static_cast<std::size_t>(index);
  return data && at < data->classes.size() ? data->classes[at] : std::to_string(index);
}

}  // namespace

void TypedText::draw(const Frame& frame) {
  ImGui::Dummy(ImVec2(1, std::floor(3 * frame.scale)));
  if (frame.request == nullptr) {
    return paragraph(frame.fonts.small, frame.palette.muted,
                     "Texts are typed where the network is: this is a view of a run.");
  }
  draw_field(frame);
  if (field_.text().empty() && !field_.active()) return;
  if (target_ &&
      (!frame.snapshot.data || *target_ >= static_cast<int>(frame.snapshot.data->classes.size()))) {
    target_.reset();
  }
  frame.request->typed_text = training::TypedText{std::string(field_.text()), target_};
  const auto& all = frame.seen.typed_text;
  const training::TextAttribution* const seen = all && !all->texts.empty() ? &all->texts.front() : nullptr;
  draw_characters(frame, seen);
  if (seen == nullptr) return;
  draw_facts(frame, *seen);
  draw_classes(frame, *seen);
  trace(*all);
}

void TypedText::draw_field(const Frame& frame) {
  const float button = ImGui::GetFrameHeight(), gap = std::floor(4 * frame.scale);
  const bool filled = !field_.text().empty();
  const float width = ImGui::GetContentRegionAvail().x - (filled ? button + gap : 0);
  field_.draw(frame, "predictions.typed", "Type or paste a text, and see what the network takes it for",
              std::max(1.0f, width));
  if (!filled) return;
  ImGui::SameLine(0, gap);
  if (icon_button(frame, "predictions.typed_clear", Icon::close, "Empty the field")) {
    field_.clear();
    target_.reset();
  }
}

void TypedText::draw_characters(const Frame& frame, const training::TextAttribution* seen) {
  const bool same = seen != nullptr && seen->text == field_.text();
  const TintedText text{shown_characters(field_.text()), same ? seen : nullptr};
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = std::max(1.0f, ImGui::GetContentRegionAvail().x),
              pitch = std::floor(kRow * frame.scale);
  const std::size_t lines = std::max<std::size_t>(1, tinted_lines(frame, text, width, kLines));
  const auto pointed = draw_tinted_text(frame, text, at, width, pitch, kLines, frame.palette.text);
  const ImVec2 end(at.x + width, at.y + static_cast<float>(lines) * pitch);
  trace_rectangle("predictions.typed_text", at, end);
  ImGui::Dummy(ImVec2(width, end.y - at.y));
  if (pointed && same) pointer_tip(frame, character_text(*seen, *pointed, class_name(frame, seen->target)));
}

/// In one line with the legend, where there are shares to tell of, if there is room.
void TypedText::draw_facts(const Frame& frame, const training::TextAttribution& seen) const {
  const std::string lost = field_.lost_text(frame);
  std::string facts = reading_text(seen, static_cast<std::size_t>(frame.snapshot.data->test.width));
  if (!lost.empty()) facts += " " + lost;
  const auto ends = legend_ends(seen);
  if (!ends) return paragraph(frame.fonts.small, frame.palette.muted, facts);
  const auto& [low, high] = *ends;
  const float bar = std::floor(kLegend * frame.scale), legend = share_legend_width(frame, low, high, bar);
  const float room = ImGui::GetContentRegionAvail().x - legend - std::floor(16 * frame.scale);
  if (text_width(frame.fonts.small, facts) <= room) {
    row_text(frame, frame.fonts.small, frame.palette.muted, facts);
    ImGui::SameLine(0, 0);
  } else {
    paragraph(frame.fonts.small, frame.palette.muted, facts);
  }
  align_right(frame, legend);
  share_legend(frame, low, high, bar);
}

void TypedText::draw_classes(const Frame& frame, const training::TextAttribution& seen) {
  const std::vector<double> probabilities = training::probabilities_of(seen);
  const std::vector<int> classes = shown_classes(probabilities, kClasses);
  for (const int index : classes) {
    draw_class(frame, seen, index, probabilities[static_cast<std::size_t>(index)]);
  }
  if (classes.size() == probabilities.size()) return;
  paragraph(frame.fonts.small, frame.palette.muted,
            fmt::format("The {} most probable of {} classes.", classes.size(), probabilities.size()));
}

/// Name, bar and figure. A click asks for the shares in its score, another one for those in the highest again.
void TypedText::draw_class(const Frame& frame, const training::TextAttribution& seen, int index,
                           double probability) {
  const float s = frame.scale, height = std::floor(kRow * s);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = std::max(1.0f, ImGui::GetContentRegionAvail().x);
  const std::string id = fmt::format("predictions.typed_class.{}", index);
  if (hit_area(id.c_str(), ImVec2(width, height))) {
    target_ = target_ == index ? std::nullopt : std::optional<int>(index);
  }
  trace_item(id);
  tooltip(
      frame,
      fmt::format("{}: probability {}, score {:.3g}. Click to tint the characters by what they do for it{}.",
                  class_name(frame, index), percent_text(probability),
                  seen.scores[static_cast<std::size_t>(index)],
                  target_ == index ? "; now they are, and a click goes back to the most probable" : ""));
  ImDrawList* const list = ImGui::GetWindowDrawList();
  if (ImGui::IsItemHovered()) {
    list->AddRectFilled(at, ImVec2(at.x + width, at.y + height), ImGui::GetColorU32(ImGuiCol_HeaderHovered));
  }
  const bool explained = seen.target == index;
  const float names = std::min(std::floor(kNames * s), width / 3), figures = std::floor(kFigures * s);
  const ImFont* const font = frame.fonts.text;
  const float baseline =
      at.y + (height - font_size(font)) / 2 + font->Ascent * ImGui::GetIO().FontGlobalScale;
  draw_text(list, explained ? frame.fonts.strong : font, at.x, baseline, frame.palette.text,
            ellipsize(font, class_name(frame, index), names - 8 * s));
  const float left = at.x + names, right = std::max(left + 1, at.x + width - figures);
  const float top = at.y + std::floor(5 * s), bottom = at.y + height - std::floor(5 * s);
  list->AddRectFilled(ImVec2(left, top), ImVec2(right, bottom), frame.palette.control);
  const double part = std::isnan(probability) ? 0 : probability;
  list->AddRectFilled(ImVec2(left, top), ImVec2(left + static_cast<float>(part) * (right - left), bottom),
                      explained ? frame.palette.accent : frame.palette.muted);
  const std::string figure = std::isnan(probability) ? "nan" : percent_text(probability);
  draw_text(list, frame.fonts.numbers, at.x + width - text_width(frame.fonts.numbers, figure), baseline,
            frame.palette.text, figure);
}

void TypedText::trace(const training::TextAttributions& seen) {
  if (!trace_enabled() || seen.number == traced_) return;
  traced_ = seen.number;
  const training::TextAttribution& text = seen.texts.front();
  std::vector<double> probabilities = training::probabilities_of(text);
  for (double& value : probabilities) value = std::isfinite(value) ? value : -1;
  trace_event("typed_text",
              fmt::format("\"step\":{},\"text\":{},\"target\":{},\"read\":{},\"left_out\":{},\"largest\":{},"
                          "\"probabilities\":[{:.6f}]",
                          seen.step, json_string(text.text), text.target, text.shares.size(), text.left_out,
                          largest_share(text), fmt::join(probabilities, ",")));
}

}  // namespace warpscope::ui
