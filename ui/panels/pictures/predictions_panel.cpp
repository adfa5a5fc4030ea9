#include "ui/panels/pictures/predictions_panel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "gpu/files/utf8.h"
#include "ui/frame/kept_views.h"
#include "ui/frame/trace.h"
#include "ui/panels/data_texts.h"
#include "ui/panels/pictures/confusion_figures.h"
#include "ui/panels/tinted_text.h"
#include "ui/settings/steering.h"
#include "ui/text/numbers.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr std::array<const char*, 2> kTabs{"Predictions", "Confusion"};

constexpr float kRow = 20, kNames = 112, kShareWidth = 58, kLegend = 72;  // design pixels
constexpr std::size_t kLines = 3, kClasses = 6;

std::string class_name(const Frame& frame, int index) {
  return ui::class_name(frame.snapshot.data.get(), static_cast<std::size_t>(index));
}

constexpr char32_t kReplacement = 0xFFFD, kLastOfFirstPlane = 0xFFFF;
constexpr std::size_t kLongestCharacter = 3;  // bytes, in the first plane

/// Stands before the clipboard for as long as a field is drawn.
class Paste {
 public:
  explicit Paste(std::size_t room) : room_(room), before_(ImGui::GetIO()) {
    ImGuiIO& io = ImGui::GetIO();
    get_ = io.GetClipboardTextFn;
    set_ = io.SetClipboardTextFn;
    user_ = io.ClipboardUserData;
    io.ClipboardUserData = this;
    io.GetClipboardTextFn = [](void* self) { return static_cast<Paste*>(self)->get(); };
    io.SetClipboardTextFn = [](void* self, const char* text) {
      const auto* const paste = static_cast<Paste*>(self);
      paste->set_(paste->user_, text);
    };
  }
  ~Paste() {
    before_.ClipboardUserData = user_;
    before_.GetClipboardTextFn = get_;
    before_.SetClipboardTextFn = set_;
  }
  Paste(const Paste&) = delete;
  Paste& operator=(const Paste&) = delete;

  bool used() const { return used_; }
  std::size_t cut() const { return cut_; }

 private:
  const char* get() {
    const char* const text = get_(user_);
    if (text == nullptr) return nullptr;
    used_ = true;
    text_ = pasteable(text, room_, cut_);
    return text_.c_str();
  }

  std::size_t room_;
  ImGuiIO& before_;
  const char* (*get_)(void*) = nullptr;
  void (*set_)(void*, const char*) = nullptr;
  void* user_ = nullptr;
  std::string text_;
  bool used_ = false;
  std::size_t cut_ = 0;
};

}  // namespace

std::string pasteable(std::string_view text, std::size_t room, std::size_t& cut) {
  const std::u32string characters = shown_characters(text);
  const std::size_t taken = std::min(room, characters.size());
  cut = characters.size() - taken;
  std::string result;
  for (const char32_t point : std::u32string_view(characters).substr(0, taken)) {
    result += files::encode_utf8(point > kLastOfFirstPlane ? kReplacement : point);
  }
  return result;
}

TypedField::TypedField() : buffer_(kLongestCharacter * kMostCharacters + 1) {}

void TypedField::clear() {
  std::fill(buffer_.begin(), buffer_.end(), '\0');
  cut_ = 0;
}

void TypedField::draw(const Frame& frame, const char* name, const char* hint, float width) {
  const std::size_t now = files::decode_utf8(text()).size();
  Paste paste(kMostCharacters - std::min(now, kMostCharacters));
  ImGui::SetNextItemWidth(width);
  const std::string id = fmt::format("##{}", name);
  const bool escaped = active_ && ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Escape), false);
  const std::vector<char> before = escaped ? buffer_ : std::vector<char>();
  const std::string seen = ellipsize(frame.fonts.text, hint, width - 2 * ImGui::GetStyle().FramePadding.x);
  if (ImGui::InputTextWithHint(id.c_str(), seen.c_str(), buffer_.data(), buffer_.size()) && !paste.used())
    cut_ = 0;
  if (paste.used()) cut_ = paste.cut();
  // Dear ImGui puts back what stood there when the field was entered.
  if (escaped) buffer_ = before;
  active_ = ImGui::IsItemActive();
  if (active_) outline_typed(frame);
  trace_item(name);
}

std::string TypedField::lost_text(const Frame& frame) const {
  std::size_t replaced = 0, without_picture = 0;
  for (const char32_t point : shown_characters(text())) {
    if (point == kReplacement) {
      ++replaced;
    } else if (frame.fonts.text->FindGlyphNoFallback(static_cast<ImWchar>(point)) == nullptr) {
      ++without_picture;
    }
  }
  std::string result;
  const auto add = [&result](const std::string& sentence) {
    result += (result.empty() ? "" : " ") + sentence;
  };
  if (cut_ > 0) {
    add(fmt::format("The last {} of what was pasted had no room: the field holds {}.",
                    files::counted(static_cast<std::int64_t>(cut_), "character"),
                    with_thousands(kMostCharacters)));
  }
  if (replaced > 0) {
    add(fmt::format(
        "{} of the characters {} beyond Unicode's first plane or broken: the network gets U+FFFD.",
        with_thousands(replaced), replaced == 1 ? "is" : "are"));
  }
  if (without_picture > 0) {
    add(fmt::format(
        "{} of them {} not in the window's font and shown as one sign; the network reads them as they are.",
        with_thousands(without_picture), without_picture == 1 ? "is" : "are"));
  }
  return result;
}

void TypedText::draw(const Frame& frame) {
  ImGui::Dummy(ImVec2(1, std::floor(3 * frame.scale)));
  if (frame.request == nullptr) {
    return paragraph(
        frame.fonts.small, frame.palette.muted,
        why_no_look(frame.snapshot, "Texts are typed where the network is: this is a view of a run."));
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
  const float names = std::min(std::floor(kNames * s), width / 3), figures = std::floor(kShareWidth * s);
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
  trace_event("typed_text", fmt::format("\"step\":{},\"text\":{},\"target\":{},\"read\":{},\"left_out\":{},"
                                        "\"largest\":{},\"probabilities\":[{:.6f}]",
                                        seen.step, json_string(text.text), text.target, text.shares.size(),
                                        text.left_out, largest_share(text), fmt::join(probabilities, ",")));
}

std::span<const char* const> PredictionsPanel::tabs() {
  return kTabs;
}

void PredictionsPanel::shutdown() {
  grid_.shutdown();
  matrix_.shutdown();
  follower_ = {};
}

void PredictionsPanel::draw_title(const Frame& frame) {
  const float s = frame.scale;
  const auto& evaluation = *follower_.shown().evaluation;
  const std::uint64_t evaluated = follower_.shown().evaluated();
  const std::string_view split = training::to_string(evaluation.split);
  const std::string accuracy = fmt::format("{:.2f}", 100 * evaluation.accuracy),
                    step = with_thousands(evaluation.step);
  const auto room = [&] { return title_end(frame) - ImGui::GetCursorPosX(); };
  const float accuracy_width =
      text_width(frame.fonts.numbers, accuracy) + text_width(frame.fonts.small, "% accuracy") + 5 * s;
  const float step_width =
      text_width(frame.fonts.small, "step") + text_width(frame.fonts.numbers, step) + 22 * s;
  if (room() >= step_width + accuracy_width) {
    caption(frame, "step");
    ImGui::SameLine(0, 6 * s);
    value_with_unit(frame, step, "",
                    said_of_data(frame, "The training step after which the network looked at these images."));
    ImGui::SameLine(0, 16 * s);
  }
  if (room() >= accuracy_width) {
    value_with_unit(
        frame, accuracy, "% accuracy",
        fmt::format("Part of the {} {} {}s whose most probable class is their truth, at step {}.{}",
                    with_thousands(evaluated), split, follower_.shown().thing(), step,
                    views_sentence(frame.snapshot)));
    ImGui::SameLine(0, 16 * s);
  }
  if (tab_ == kPredictions && !follower_.shown().has_texts()) grid_.draw_zoom(frame);
}

void PredictionsPanel::draw(const Frame& frame) {
  const auto& snapshot = frame.snapshot;
  const bool still = tab_ == kPredictions && grid_.looked_at();
  const auto evaluation = shown_evaluation(frame);
  const auto past = frame.past != nullptr && evaluation ? std::optional(evaluation->step) : std::nullopt;
  if (std::exchange(past_, past) != past) follower_ = {};  // at once
  follower_.update({evaluation, snapshot.data}, snapshot.generation, ImGui::GetTime(), still);
  const HeldOut& held_out = follower_.shown();
  if (panel_tabs(frame, "images", kTabs, &tab_)) grid_.left_alone();
  // The view of another process's run has the figures without the images.
  const bool images = held_out.count() > 0;
  const bool figures = held_out.evaluation && held_out.evaluation->classes > 0;
  if (images || figures) draw_title(frame);
  panel_body(frame, false);
  if (tab_ == kPredictions && snapshot.data && snapshot.data->test.texts) typed_.draw(frame);
  const bool shown = images || (figures && tab_ == kConfusion);
  ask_for_results(frame, shown);
  if (!shown) {
    grid_.left_alone();
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    trace_rectangle("images.empty", at, ImVec2(at.x + room.x, at.y + room.y));
    centered_text(frame, said_of_data(frame, no_predictions_text(snapshot)));
  } else if (tab_ == kPredictions) {
    grid_.draw(frame, held_out, follower_.held());
  } else if (const auto clicked = matrix_.draw(frame, held_out); clicked && images) {
    grid_.show_pair(clicked->truth, clicked->predicted);
    tab_ = kPredictions;
  }
}

}  // namespace warpscope::ui
