#include "ui/widgets/widgets.h"

#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "ui/input/cursor.h"
#include "ui/text/cut_texts.h"
#include "ui/text/terms.h"

namespace warpscope::ui {
namespace {

// Dear ImGui takes fonts without const from 1.91.9 on, and changes none of them here.
ImFont* mutable_font(const ImFont* font) {
  return const_cast<ImFont*>(font);
}

}  // namespace

std::vector<std::size_t> tabs_that_fit(std::span<const float> widths, std::size_t active, float gap,
                                       float more, float room) {
  std::vector<std::size_t> seen(widths.size());
  std::iota(seen.begin(), seen.end(), std::size_t{0});
  const float all =
      std::accumulate(widths.begin(), widths.end(), gap * static_cast<float>(widths.size() - 1));
  if (all <= room) return seen;
  seen.clear();
  float left = room - more - gap - widths[active];
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (i == active) continue;
    left -= gap + widths[i];
    if (left < 0) break;
    seen.push_back(i);
  }
  seen.insert(std::lower_bound(seen.begin(), seen.end(), active), active);
  return seen;
}

void begin_news_row(const Frame& frame, const char* name, float padding, ImGuiWindowFlags more) {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(padding, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 4 * frame.scale);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, blend(frame.palette.accent, frame.palette.panel, 0.16f));
  ImGui::Begin(name, nullptr, kLowWindow | more);
  ImGui::PopStyleColor();
  ImGui::PopStyleVar(3);
  ImGui::SetCursorPosY(std::floor((ImGui::GetWindowHeight() - ImGui::GetFrameHeight()) / 2));
}

float hairline(const Frame& frame) {
  return std::max(1.0f, std::floor(frame.scale));
}

float font_size(const ImFont* font) {
  return font->FontSize * ImGui::GetIO().FontGlobalScale;
}

float text_width(const ImFont* font, std::string_view text) {
  if (text.empty()) return 0;  // it may have no address, which Dear ImGui does not take
  return mutable_font(font)
      ->CalcTextSizeA(font_size(font), FLT_MAX, 0, text.data(), text.data() + text.size())
      .x;
}

std::string ellipsize(const ImFont* font, std::string_view text, float width) {
  constexpr float kRounding = 0.75f;  // of a place that was made for the text
  if (text_width(font, text) <= width + kRounding) return std::string(text);
  const float dots = text_width(font, "...");
  const char* cut = text.data();
  mutable_font(font)->CalcTextSizeA(font_size(font), std::max(0.0f, width - dots), 0, text.data(),
                                    text.data() + text.size(), &cut);
  const auto length = static_cast<std::size_t>(cut - text.data());
  std::string_view kept = without_cut_number(text.substr(0, length), text.substr(length));
  while (kept.ends_with(' ')) kept.remove_suffix(1);
  std::string shown(kept);
  shown += "...";
  note_cut(shown, text);
  return shown;
}

void draw_text(ImDrawList* list, const ImFont* font, float x, float baseline, ImU32 color,
               std::string_view text) {
  if (text.empty()) return;
  const float ascent = font->Ascent * ImGui::GetIO().FontGlobalScale;
  const ImVec2 position(std::floor(x), std::floor(baseline - ascent + 0.5f));
  note_drawn(list, position, ImVec2(x + text_width(font, text), position.y + font_size(font)), text);
  list->AddText(mutable_font(font), font_size(font), position, color, text.data(), text.data() + text.size());
}

float advance_text(ImDrawList* list, const ImFont* font, float x, float baseline, ImU32 color,
                   std::string_view text) {
  draw_text(list, font, x, baseline, color, text);
  return x + text_width(font, text);
}

ImU32 blend(ImU32 color, ImU32 background, float opacity) {
  const ImVec4 a = ImGui::ColorConvertU32ToFloat4(color), b = ImGui::ColorConvertU32ToFloat4(background);
  const auto mix = [opacity](float over, float under) { return under + (over - under) * opacity; };
  return ImGui::ColorConvertFloat4ToU32(ImVec4(mix(a.x, b.x), mix(a.y, b.y), mix(a.z, b.z), 1));
}

float row_baseline(const Frame& frame, float top) {
  const float ascent = frame.fonts.text->Ascent * ImGui::GetIO().FontGlobalScale;
  return std::floor(top + (ImGui::GetFrameHeight() - font_size(frame.fonts.text)) / 2 + ascent + 0.5f);
}

void row_text(const Frame& frame, const ImFont* font, ImU32 color, std::string_view text) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_text(ImGui::GetWindowDrawList(), font, at.x, row_baseline(frame, at.y), color, text);
  ImGui::Dummy(ImVec2(text_width(font, text), ImGui::GetFrameHeight()));
}

void next_in_row(const Frame& frame, float gap, float width) {
  ImGui::SameLine(0, std::floor(gap * frame.scale));
  if (ImGui::GetContentRegionAvail().x < width) ImGui::NewLine();
}

void caption(const Frame& frame, std::string_view text) {
  row_text(frame, frame.fonts.small, frame.palette.muted, text);
}

void value_with_unit(const Frame& frame, std::string_view value, std::string_view unit, std::string_view tip,
                     float width) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float baseline = row_baseline(frame, at.y);
  const float value_width = text_width(frame.fonts.numbers, value);
  const float gap = unit.empty() ? 0.0f : std::floor(5 * frame.scale);
  const float total = value_width + gap + text_width(frame.fonts.small, unit);
  const float start = at.x + std::max(0.0f, width - total);
  auto* const list = ImGui::GetWindowDrawList();
  draw_text(list, frame.fonts.numbers, start, baseline, frame.palette.text, value);
  draw_text(list, frame.fonts.small, start + value_width + gap, baseline, frame.palette.muted, unit);
  ImGui::Dummy(ImVec2(std::max(total, width), ImGui::GetFrameHeight()));
  tooltip(frame, tip);
}

void outline_typed(const Frame& frame) {
  ImGui::GetWindowDrawList()->AddRect(ImGui::GetItemRectMin(), ImGui::GetItemRectMax(), frame.palette.accent,
                                      3 * frame.scale);
}

void begin_picture_tip(const Frame& frame, ImVec2 place) {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(12 * frame.scale, 8 * frame.scale));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  ImVec4 background = ImGui::GetStyleColorVec4(ImGuiCol_PopupBg);
  background.w = 1;
  ImGui::PushStyleColor(ImGuiCol_PopupBg, background);
  ImGui::SetNextWindowPos(place);
  ImGui::BeginTooltip();
}

void end_picture_tip() {
  ImGui::EndTooltip();
  ImGui::PopStyleColor();
  ImGui::PopStyleVar(2);
}

void color_keys(const Frame& frame, std::span<const ColorKey> keys) {
  const float s = frame.scale, line = std::floor(18 * s), side = std::floor(10 * s);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float right = at.x + ImGui::GetContentRegionAvail().x;
  const ImFont* const font = frame.fonts.small;
  float x = at.x, y = at.y;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  for (const ColorKey& key : keys) {
    const float name = text_width(font, key.name);
    const float figure = key.figure.empty() ? 0 : 5 * s + text_width(font, key.figure);
    const float width = side + 5 * s + name + figure;
    if (x > at.x && x + width > right) {
      x = at.x;
      y += line;
    }
    const float top = std::floor(y + (line - side) / 2), baseline = std::floor(y + line / 2 + 4 * s);
    list->AddRectFilled(ImVec2(x, top), ImVec2(x + side, top + side), key.color, 2 * s);
    draw_text(list, font, x + side + 5 * s, baseline, frame.palette.text, key.name);
    draw_text(list, font, x + side + 10 * s + name, baseline, frame.palette.muted, key.figure);
    x += width + std::floor(16 * s);
  }
  ImGui::Dummy(ImVec2(1, y + line - at.y));
}

void centered_text(const Frame& frame, std::string_view text) {
  const ImVec2 room = ImGui::GetContentRegionAvail(), at = ImGui::GetCursorScreenPos();
  const ImFont* const font = frame.fonts.text;
  const float most = std::max(1.0f, std::min(room.x - 16 * frame.scale, 560 * frame.scale));
  const std::vector<std::string> lines = wrap(font, text, most);
  const float line = std::floor(1.25f * font_size(font)), height = line * static_cast<float>(lines.size());
  float baseline =
      at.y + std::max(0.0f, (room.y - height) / 2) + font->Ascent * ImGui::GetIO().FontGlobalScale;
  for (const std::string& each : lines) {
    const float left = at.x + std::max(0.0f, (room.x - text_width(font, each)) / 2);
    draw_text(ImGui::GetWindowDrawList(), font, left, baseline, frame.palette.muted, each);
    baseline += line;
  }
  ImGui::Dummy(ImVec2(std::max(1.0f, room.x), std::max(1.0f, height)));
}

// Panels --------------------------------------------------------------------------------------------

namespace {

// Between the upper edge of a panel, its title row and the line below.
constexpr float kTitleTop = 6, kTitleBottom = 5;

// Where the title row begins that the cursor is in, kept by the window: its items may end it or not.
float* title_row_top() {
  return ImGui::GetStateStorage()->GetFloatRef(ImGui::GetID("title row"));
}

// A hairline below the title row; the cursor then stands below the line.
void end_title_row(const Frame& frame) {
  const float row_end = *title_row_top() + ImGui::GetFrameHeight();
  ImGui::NewLine();
  const ImVec2 at = ImGui::GetWindowPos();
  const float line = std::floor(at.y + row_end + kTitleBottom * frame.scale);
  ImGui::GetWindowDrawList()->AddRectFilled(
      ImVec2(at.x, line), ImVec2(at.x + ImGui::GetWindowWidth(), line + hairline(frame)), frame.palette.grid);
  ImGui::SetCursorPosY(line + hairline(frame) - at.y);
}

}  // namespace

void begin_panel(const Frame& frame, const char* name, bool floats) {
  const float s = frame.scale;
  ImGui::PushStyleColor(ImGuiCol_WindowBg, frame.palette.panel);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(12 * s, kTitleTop * s));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, floats ? hairline(frame) : 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 4 * s);
  const ImGuiWindowFlags fixed =
      ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoBringToFrontOnFocus;
  ImGui::Begin(name, nullptr,
               ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse |
                   (floats ? ImGuiWindowFlags_None : fixed));
  ImGui::PopStyleVar(3);
  ImGui::PopStyleColor();
  *title_row_top() = ImGui::GetCursorPosY();
}

void panel_title(const Frame& frame, const char* title) {
  if (frame.tabbed) return;
  row_text(frame, frame.fonts.strong, frame.palette.text, title);
  ImGui::SameLine(0, 12 * frame.scale);
}

bool title_tab(const Frame& frame, const char* name, const char* label, bool active) {
  const float s = frame.scale;
  const bool clicked = hit_area(name, ImVec2(text_width(frame.fonts.strong, label), ImGui::GetFrameHeight()));
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
  auto* const list = ImGui::GetWindowDrawList();
  const ImU32 color = active || ImGui::IsItemHovered() ? frame.palette.text : frame.palette.muted;
  draw_text(list, active ? frame.fonts.strong : frame.fonts.text, min.x, row_baseline(frame, min.y), color,
            label);
  if (active) {
    const float bottom = max.y + std::floor(kTitleBottom * s);
    list->PushClipRectFullScreen();
    list->AddRectFilled(ImVec2(min.x, bottom - std::max(1.0f, std::floor(2 * s))), ImVec2(max.x, bottom),
                        frame.palette.accent);
    list->PopClipRect();
  }
  trace_item(name);
  return clicked;
}

float tab_gap(const Frame& frame, std::span<const char* const> tabs) {
  float words = 0;
  for (const char* const label : tabs) words += text_width(frame.fonts.strong, label);
  const float room = ImGui::GetContentRegionAvail().x - words - ImGui::GetFrameHeight();
  return std::floor(std::clamp(room / static_cast<float>(std::max<std::size_t>(1, tabs.size())),
                               6 * frame.scale, 16 * frame.scale));
}

std::optional<std::size_t> more_tabs(const Frame& frame, const char* name, std::span<const char* const> tabs,
                                     std::span<const std::size_t> others) {
  const float s = frame.scale;
  const std::string button = std::string(name) + ".more", popup = button + "##popup";
  std::string tip;
  for (const std::size_t i : others) tip.append(tip.empty() ? "" : ", ").append(tabs[i]);
  if (text_button(frame, button.c_str(), fmt::format("+{}", others.size()).c_str(), tip))
    ImGui::OpenPopup(popup.c_str());
  const ImVec2 corner = ImGui::GetItemRectMax();
  ImGui::SameLine(0, 0);
  ImGui::SetNextWindowPos(ImVec2(corner.x, corner.y + 2 * s), ImGuiCond_Always, ImVec2(1, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(4 * s, 4 * s));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8 * s, 0));
  std::optional<std::size_t> chosen;
  if (ImGui::BeginPopup(popup.c_str(), ImGuiWindowFlags_NoMove)) {
    trace_open_list(button);
    for (const std::size_t i : others) {
      if (combo_item(frame, fmt::format("{}.{}", button, tabs[i]).c_str(), tabs[i], false)) chosen = i;
    }
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar(2);
  return chosen;
}

bool panel_tabs(const Frame& frame, const char* name, std::span<const char* const> tabs, int* active) {
  if (frame.tabbed) {
    end_title_row(frame);
    *title_row_top() = ImGui::GetCursorPosY() + std::floor(4 * frame.scale);
    ImGui::SetCursorPosY(*title_row_top());
  }
  const float gap = tab_gap(frame, tabs);
  std::vector<float> widths;
  for (const char* const label : tabs) widths.push_back(text_width(frame.fonts.strong, label));
  const auto now = static_cast<std::size_t>(*active);
  const auto seen =
      tabs_that_fit(widths, now, gap, text_button_width(frame, "+8"), ImGui::GetContentRegionAvail().x);
  std::size_t chosen = now;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < tabs.size(); ++i) {
    if (!std::binary_search(seen.begin(), seen.end(), i)) {
      others.push_back(i);
      continue;
    }
    const std::string item = std::string(name) + "." + tabs[i];
    if (title_tab(frame, item.c_str(), tabs[i], i == now)) chosen = i;
    tooltip(frame, explain(tabs[i]));
    ImGui::SameLine(0, gap);
  }
  if (!others.empty()) {
    chosen = more_tabs(frame, name, tabs, others).value_or(chosen);
    ImGui::SameLine(0, gap);
  }
  *active = static_cast<int>(chosen);
  return chosen != now;
}

float title_height(const Frame& frame) {
  return std::floor((kTitleTop + kTitleBottom) * frame.scale + ImGui::GetFrameHeight()) + hairline(frame);
}

float title_end(const Frame& frame) {
  const float button = frame.tabbed ? ImGui::GetFrameHeight() + std::floor(8 * frame.scale) : 0;
  return ImGui::GetWindowContentRegionMax().x - button;
}

void align_title_right(const Frame& frame, float width) {
  const float target = title_end(frame) - width;
  if (target > ImGui::GetCursorPosX()) ImGui::SetCursorPosX(target);
}

float title_room(const Frame& frame) {
  return ImGui::GetWindowContentRegionMax().x - ImGui::GetCursorPosX() - ImGui::GetFrameHeight() -
         12 * frame.scale;
}

void align_right(const Frame&, float width) {
  const float target = ImGui::GetWindowContentRegionMax().x - width;
  if (target > ImGui::GetCursorPosX()) ImGui::SetCursorPosX(target);
}

/// With the gap before it; 0 of none.
float step_button_width(const Frame& frame, const std::string& text) {
  return text.empty() ? 0 : text_width(frame.fonts.small, text) + 20 * frame.scale;
}

/// A button behind the line of a step; true when clicked.
bool step_button(const Frame& frame, const char* kind, const std::string& text, const char* tip,
                 float height) {
  const float s = frame.scale;
  ImGui::SameLine(0, 8 * s);
  const ImVec2 at = ImGui::GetCursorScreenPos(), size(step_button_width(frame, text) - 8 * s, height);
  const std::string name = fmt::format("step.{}.{}", kind, frame.panel);
  const bool clicked = hit_area(name.c_str(), size);
  const ImU32 color = ImGui::IsItemHovered() ? frame.palette.control_hovered : frame.palette.control;
  trace_item(name);
  auto* const list = ImGui::GetWindowDrawList();
  list->AddRectFilled(at, ImVec2(at.x + size.x, at.y + size.y - s), color, 4 * s);
  draw_text(list, frame.fonts.small, at.x + 6 * s, at.y + std::floor(13 * s), frame.palette.text, text);
  tooltip(frame, tip);
  return clicked;
}

/// For the pinned step, which the panel does not show: has it computed aside, or rewinds the training to it.
void draw_step_buttons(const Frame& frame, const std::string& aside, const std::string& rewind,
                       float height) {
  const training::Snapshot& now = frame.snapshot;
  const auto wanted = frame.cursor != nullptr ? frame.cursor->step : std::nullopt;
  if (!aside.empty() && step_button(frame, "aside", aside, kAsideTip, height) && wanted) {
    const bool on_the_way = now.aside.step == *wanted && now.aside.problem.empty();
    if (!on_the_way) look_aside(frame, *wanted);
  }
  if (!rewind.empty() && step_button(frame, "rewind", rewind, kRewindTip, height) && wanted) {
    const bool on_the_way = now.rewind.running && now.rewind.to == *wanted;
    if (!on_the_way) frame.send(training::RewindTo{*wanted});
  }
}

/// Over the body of a panel that follows the cursor's step.
void draw_step_line(const Frame& frame) {
  const float s = frame.scale, height = std::floor(18 * s);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const std::string rewind(frame.step_rewind), aside(frame.step_aside);
  const float buttons = step_button_width(frame, rewind) + step_button_width(frame, aside);
  const std::string text =
      ellipsize(frame.fonts.small, frame.step_line, ImGui::GetContentRegionAvail().x - 8 * s - buttons);
  const std::string name = std::string("step.") + frame.panel;
  const bool clicked =
      hit_area(name.c_str(), ImVec2(std::max(1.0f, text_width(frame.fonts.small, text) + 8 * s), height));
  trace_item(name);
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.small, at.x + 4 * s, at.y + std::floor(13 * s),
            frame.palette.accent, text);
  tooltip(frame,
          "The pinned step, or the nearest of which something was kept; the training is not moved. Click, or "
          "Esc: the newest again. A right click in the curves can compute the step aside, or rewind the "
          "training to it, for all views.");
  if (clicked && frame.cursor != nullptr) let_step_go(*frame.cursor);
  draw_step_buttons(frame, aside, rewind, height);
}

void panel_body(const Frame& frame, bool scrolls) {
  end_title_row(frame);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  const float height = ImGui::GetWindowHeight() - ImGui::GetCursorPosY();
  ImGui::BeginChild(
      "body", ImVec2(0, std::max(1.0f, height)), false,
      scrolls ? ImGuiWindowFlags_None : ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  ImGui::PopStyleVar();
  if (!frame.step_line.empty()) draw_step_line(frame);
}

void begin_rest(const Frame& frame, float least) {
  const float height = std::max(ImGui::GetContentRegionAvail().y, std::floor(least * frame.scale));
  ImGui::BeginChild(
      "rest", ImVec2(0, height), false,
      ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
}

void end_rest() {
  ImGui::EndChild();
}

void end_panel() {
  ImGui::EndChild();
  ImGui::End();
}

std::string sentence(std::string text) {
  if (text.empty()) return text;
  const std::string_view word = std::string_view(text).substr(0, text.find_first_of(" ,"));
  const std::size_t inside = word.find_first_of("._:/");
  const bool is_name = inside != std::string_view::npos && inside + 1 < word.size();
  if (!is_name && text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text.back() == '.' ? text : text + ".";
}

float line_height(const ImFont* font) {
  return std::floor(1.2f * font_size(font));
}

std::vector<std::string> wrap(const ImFont* font, std::string_view text, float width) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const std::string longer = lines.empty() ? std::string(word) : lines.back() + " " + std::string(word);
    if (!lines.empty() && text_width(font, longer) <= width) {
      lines.back() = longer;
    } else {
      lines.emplace_back(word);
    }
  }
  return lines;
}

std::string wrapped(const ImFont* font, std::string_view text, float width) {
  std::string result;
  for (bool more = true; more;) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    more = end < text.size();
    text.remove_prefix(std::min(end + 1, text.size()));
    if (text_width(font, line) <= width) {
      result.append(line);  // as it is, with the room before and between its words
    } else {
      for (const std::string& part : wrap(font, line, width)) result.append(part).append("\n");
      if (result.ends_with('\n')) result.pop_back();
    }
    if (more) result += '\n';
  }
  return result;
}

float paragraph_height(const ImFont* font, std::string_view text, float width) {
  return line_height(font) * static_cast<float>(wrap(font, text, width).size());
}

void paragraph(const ImFont* font, ImU32 color, std::string_view text) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = std::max(1.0f, ImGui::GetContentRegionAvail().x), line = line_height(font);
  const float ascent = font->Ascent * ImGui::GetIO().FontGlobalScale;
  float baseline = at.y + (line - font_size(font)) / 2 + ascent;
  const auto lines = wrap(font, text, width);
  for (const std::string& each : lines) {
    draw_text(ImGui::GetWindowDrawList(), font, at.x, baseline, color, each);
    baseline += line;
  }
  ImGui::Dummy(ImVec2(width, line * static_cast<float>(lines.size())));
}

}  // namespace warpscope::ui
