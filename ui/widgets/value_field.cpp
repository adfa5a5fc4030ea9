#include "ui/widgets/value_field.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ui/frame/trace.h"
#include "ui/text/numbers.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr float kLabel = 104, kBox = 88, kChoice = 120, kLeastChoice = 96;  // design pixels
constexpr float kLeastWithUnit = 96;  // of a slider beside which its unit stands

// What a text behind the slider takes from its row: nothing where the slider would get short.
float room_behind(const Frame& frame, std::string_view text) {
  if (text.empty()) return 0;
  const float wanted = std::ceil(text_width(frame.fonts.small, text)) + 12 * frame.scale;
  return ImGui::GetContentRegionAvail().x - wanted < kLeastWithUnit * frame.scale ? 0 : wanted;
}

// The part of a slider at its left end that stands for 0.
constexpr double kZeroPart = 0.04;
constexpr double kSaidLimit = 1e6;
constexpr float kLeastRefusal = 120;  // design pixels of a row in which a refusal begins

double logarithmic_start(const ValueScale& scale) {
  return scale.zero ? kZeroPart : 0.0;
}

std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::string replaced(std::string_view text, std::string_view comma) {
  std::string result;
  for (const char c : text) {
    if (c == ',') {
      result += comma;
    } else {
      result += c;
    }
  }
  return result;
}

// Nothing where it is not finite either.
std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

// True if the commas stand as in "21,763", which no number begins with 0; digits behind a point may follow in one that
// need not be `integer`.
bool parts_thousands(std::string_view text, bool integer) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::size_t point = std::min(text.find('.'), text.size());
  if (integer && point < text.size()) return false;
  const auto digits = [](std::string_view part) {
    return std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
  };
  if (point < text.size() && !digits(text.substr(point + 1))) return false;
  text = text.substr(0, point);
  std::size_t comma = text.find(',');
  if (comma == text.npos || comma < 1 || comma > 3 || text.front() == '0' || !digits(text.substr(0, comma)))
    return false;
  while (comma < text.size()) {
    const std::size_t next = std::min(text.find(',', comma + 1), text.size());
    if (next - comma != 4 || !digits(text.substr(comma + 1, 3))) return false;
    comma = next;
  }
  return true;
}

}  // namespace

double value_at(const ValueScale& scale, double position) {
  const double t = std::clamp(position, 0.0, 1.0);
  if (!scale.logarithmic) {
    const double value = scale.low + t * (scale.high - scale.low);
    const double unit =
        scale.integer ? 1.0 : std::pow(10.0, std::floor(std::log10((scale.high - scale.low) / 200)));
    return std::clamp(std::round(value / unit) * unit, scale.low, scale.high);
  }
  const double start = logarithmic_start(scale);
  if (t < start) return 0;
  const double value = scale.low * std::pow(scale.high / scale.low, (t - start) / (1 - start));
  const double unit = scale.integer ? 1.0 : std::pow(10.0, std::floor(std::log10(value) + 1e-9) - 2);
  return std::clamp(std::round(value / unit) * unit, scale.low, scale.high);
}

double position_of(const ValueScale& scale, double value) {
  if (!scale.logarithmic) return std::clamp((value - scale.low) / (scale.high - scale.low), 0.0, 1.0);
  if (value <= 0) return 0;
  const double start = logarithmic_start(scale);
  const double part = std::log(value / scale.low) / std::log(scale.high / scale.low);
  return start + (1 - start) * std::clamp(part, 0.0, 1.0);
}

bool is_valid(const ValueLimits& limits, double value) {
  return std::isfinite(value) && value >= limits.least && value <= limits.most &&
         (!limits.above_least || value > limits.least) && (!limits.below_most || value < limits.most) &&
         (!limits.integer || value == std::floor(value));
}

std::string range_text(const ValueLimits& limits, double refused) {
  const auto number = [&](double value) {
    return limits.integer ? with_thousands(value) : fmt::format("{:g}", value);
  };
  std::string text = limits.integer ? "a whole number" : "a number";
  if (limits.most >= kSaidLimit && !(refused > limits.most)) {
    return text + (limits.above_least ? " above " : " of at least ") + number(limits.least);
  }
  text += (limits.above_least ? " above " : " from ") + number(limits.least);
  return text + (limits.above_least ? " and " : " ") +
         (limits.below_most ? (limits.above_least ? "below " : "to below ")
                            : (limits.above_least ? "at most " : "to ")) +
         number(limits.most);
}

std::string field_text(double value, bool integer, std::string_view zero_text) {
  if (value == 0 && !zero_text.empty()) return std::string(zero_text);
  // Thousands in full: 10000 reads better than 1e+04.
  return integer ? fmt::format("{:.0f}", value) : fmt::format("{:.{}g}", value, value >= 1000 ? 7 : 4);
}

TypedValue read_field(const ValueSpec& spec, std::string_view text) {
  text = without_blanks(text);
  if (!spec.zero_text.empty() && text == spec.zero_text) text = "0";
  const bool grouped = parts_thousands(text, spec.limits.integer);
  const bool decimal =
      !spec.limits.integer && text.find('.') == text.npos && std::ranges::count(text, ',') == 1;
  const std::optional<double> whole = grouped ? number_in(replaced(text, "")) : std::nullopt;
  std::optional<double> value = decimal ? number_in(replaced(text, ".")) : std::nullopt;
  if (whole && value) {
    return {0, fmt::format("{} may mean {:g} or {:.0f}: type the {} without the comma", text, *value, *whole,
                           spec.label)};
  }
  if (!value) value = whole ? whole : number_in(text);
  if (value && is_valid(spec.limits, *value)) return {*value, ""};
  std::string range = range_text(spec.limits, value.value_or(0));
  constexpr std::string_view kNumber = "a number ";
  if (value && range.starts_with(kNumber)) range.erase(0, kNumber.size());  // it is one
  return {0, fmt::format("{} must be {}", spec.label, range)};
}

float value_left(const Frame& frame) {
  return kLabel * frame.scale;
}

float value_width(const Frame& frame) {
  return kBox * frame.scale;
}

float choice_width(const Frame& frame, float beside) {
  const float room = ImGui::GetContentRegionAvail().x - beside - 8 * frame.scale;
  return room < kLeastChoice * frame.scale ? kChoice * frame.scale : std::min(room, kChoice * frame.scale);
}

void same_line_if_fits(const Frame& frame, float width) {
  ImGui::SameLine(0, 8 * frame.scale);
  if (ImGui::GetContentRegionAvail().x >= width) return;
  ImGui::NewLine();
  ImGui::SetCursorPosX(value_left(frame));
}

ValueEdit ValueField::draw_box(const Frame& frame, const ValueSpec& spec, double current, float width) {
  const std::string shown = field_text(current, spec.limits.integer, spec.zero_text);
  // One that was hidden meanwhile is not being typed into any more.
  typing_ = typing_ && frame_ + 1 >= ImGui::GetFrameCount();
  frame_ = ImGui::GetFrameCount();
  if (!typing_) text_ = shown;
  char buffer[128] = {};
  text_.copy(buffer, sizeof buffer - 1);
  ImGui::PushFont(frame.fonts.numbers);
  // Numbers are a pixel smaller than text: the same frame height as the other controls.
  const float pad = std::max(0.0f, (ImGui::GetStyle().FramePadding.y * 2 + font_size(frame.fonts.text) -
                                    font_size(frame.fonts.numbers)) /
                                       2);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(8 * frame.scale, pad));
  ImGui::SetNextItemWidth(width);
  if (std::exchange(wants_keys_, false)) ImGui::SetKeyboardFocusHere();
  const bool entered =
      ImGui::InputText(fmt::format("##{}", spec.name).c_str(), buffer, sizeof buffer,
                       ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll);
  ImGui::PopStyleVar();
  ImGui::PopFont();
  text_ = buffer;
  const bool was_typing = std::exchange(typing_, ImGui::IsItemActive());
  typed_ = typing_ && text_ != shown;
  if (typing_) outline_typed(frame);
  trace_item(spec.name);
  if (!typing_) tooltip(frame, spec.tip);
  ValueEdit edit;
  edit.value = current;
  if (typing_ && !was_typing) first_ = shown;
  const bool left =
      was_typing && !typing_ && !ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Escape), false);
  // The text may have fewer digits than the value: Enter on an unedited text changes nothing, nor does a look.
  if (!(entered || (left && text_ != first_)) || text_ == shown) return edit;
  // Every character reaches this: one that the box would drop makes another number of the rest.
  TypedValue typed = read_field(spec, text_);
  edit.refusal = std::move(typed.refusal);
  edit.changed = edit.finished = edit.refusal.empty();
  if (edit.finished) edit.value = typed.value;
  return edit;
}

// Leaves `beside` pixels of the row.
void ValueField::draw_slider(const Frame& frame, const ValueSpec& spec, double current, float beside,
                             ValueEdit& edit) {
  const float s = frame.scale;
  const float room = ImGui::GetContentRegionAvail().x - beside;
  const float width = std::clamp(room, 40 * s, 240 * s);
  const double before = dragging_ ? dragged_ : current;
  auto position = static_cast<float>(position_of(*spec.scale, before));
  const bool moved = slider(frame, (spec.name + "_slider").c_str(), &position, 0, 1, "", width, spec.tip);
  if (ImGui::IsItemActivated() && ImGui::GetIO().KeyCtrl) asked_to_type_ = true;
  if (asked_to_type_) {
    // Taken from the slider only when the button is up: before that the box would lose the keyboard to it
    // again.
    if (ImGui::IsItemActive()) return;
    asked_to_type_ = false;
    wants_keys_ = true;
    return;
  }
  if (ImGui::IsItemActive()) {
    if (!dragging_) dragged_ = current;
    dragging_ = true;
    if (moved) dragged_ = value_at(*spec.scale, static_cast<double>(position));
    edit.changed = dragged_ != before;
    edit.value = dragged_;
  } else if (dragging_) {
    dragging_ = false;
    edit.value = dragged_;
    edit.changed = edit.finished = dragged_ != current;
  }
}

ValueEdit ValueField::draw(const Frame& frame, const ValueSpec& spec, double current, float left,
                           Refusal* refusal) {
  row_text(frame, frame.fonts.text, frame.palette.muted, spec.label);
  tooltip(frame, spec.tip);
  ImGui::SameLine(left);
  ValueEdit edit = draw_box(frame, spec, dragging_ ? dragged_ : current, value_width(frame));
  Refusal none;
  Refusal& shared = refusal == nullptr ? none : *refusal;
  take_refusal(spec.name, edit, shared);
  if (typing_ && shared.field == spec.name) shared = {};
  const bool refused = shared.field == spec.name && !shared.text.empty();
  if (!spec.scale && !refused && spec.unit.empty()) return edit;
  ImGui::SameLine(0, 8 * frame.scale);
  const float beside = spec.scale ? room_behind(frame, refused ? shared.text : spec.unit) : 0;
  if (spec.scale && (!refused || beside > 0)) {
    draw_slider(frame, spec, current, beside, edit);
    take_refusal(spec.name, edit, shared);
    if (beside <= 0) return edit;
    ImGui::SameLine(0, 10 * frame.scale);
  }
  if (refused) {
    draw_refusal(frame, {spec.name, shared.text});
  } else {
    caption(frame, ellipsize(frame.fonts.small, spec.unit, ImGui::GetContentRegionAvail().x));
    tooltip(frame, spec.tip);
  }
  return edit;
}

void take_refusal(const std::string& name, const ValueEdit& edit, Refusal& refusal) {
  if (!edit.refusal.empty()) refusal = {name, edit.refusal};
  if (edit.finished) refusal = {};
}

void draw_refusal(const Frame& frame, const Refusal& refusal) {
  if (ImGui::GetContentRegionAvail().x < kLeastRefusal * frame.scale) ImGui::NewLine();
  const ImFont* const font = frame.fonts.small;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const std::vector<std::string> lines = wrap(font, refusal.text, ImGui::GetContentRegionAvail().x);
  float width = 0, height = ImGui::GetFrameHeight(), baseline = row_baseline(frame, at.y);
  for (const std::string& line : lines) {
    draw_text(ImGui::GetWindowDrawList(), font, at.x, baseline, frame.palette.warning, line);
    width = std::max(width, text_width(font, line));
    baseline += line_height(font);
  }
  const float more = line_height(font) * static_cast<float>(lines.empty() ? 0 : lines.size() - 1);
  ImGui::Dummy(ImVec2(width, height + more));
  if (ImGui::IsItemVisible())
    trace_rectangle(refusal.field + "_refusal", at, ImVec2(at.x + width, at.y + height));
}

}  // namespace warpscope::ui
