#include "ui/panels/status_bar.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "gpu/files/utf8.h"
#include "ui/panels/data_texts.h"
#include "ui/text/terms.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

// What the entries are, by the names of ui/text/terms.h.
constexpr const char *kImagePath = "Image path", *kFrames = "Frames/s", *kMemory = "device memory",
                     *kViewsDrawn = "Views", *kData = "Data set";
constexpr std::array kEntryTerms{kImagePath, kFrames, kMemory, kViewsDrawn, kData};

// A training may log for days: the oldest lines are dropped.
constexpr std::size_t kMostLines = 20000;

ImU32 level_color(const Frame& frame, training::LogLevel level) {
  switch (level) {
    case training::LogLevel::info:
      return frame.palette.muted;
    case training::LogLevel::warning:
      return frame.palette.warning;
    case training::LogLevel::error:
      return frame.palette.error;
  }
  return frame.palette.muted;
}

// Design pixels: behind an entry, and of the button of the log.
constexpr float kEntryGap = 20, kArrowRoom = 12;

// One entry: `text` in the small font; its tool-tip explains `term` (of kTerms) and says `more`. Nothing where the row
// has no room for it and the button of the log.
void entry(const Frame& frame, const char* name, const char* term, std::string_view text, ImU32 color,
           std::string_view more) {
  const float needed = text_width(frame.fonts.small, text) + (kEntryGap + kArrowRoom) * frame.scale;
  if (ImGui::GetContentRegionAvail().x < needed) return;
  row_text(frame, frame.fonts.small, color, text);
  trace_item(name);
  tooltip(frame, label_tip(term, more));
  ImGui::SameLine(0, kEntryGap * frame.scale);
}

void copy(const std::string& text) {
  ImGui::SetClipboardText(text.c_str());
  trace_event("copied", fmt::format("\"text\":{}", json_string(text)));
}

std::string memory_text(const training::Snapshot& snapshot) {
  const auto used = static_cast<double>(snapshot.memory.total_bytes - snapshot.memory.free_bytes);
  return fmt::format("device memory {} of {}", bytes_text(used),
                     bytes_text(static_cast<double>(snapshot.memory.total_bytes)));
}

}  // namespace

std::span<const char* const> StatusBar::terms() {
  return kEntryTerms;
}

void StatusBar::consume(const training::FeedItem& item) {
  if (const auto* line = std::get_if<training::LogLine>(&item)) log(line->level, line->text);
}

void StatusBar::append(training::LogLevel level, std::string text) {
  if (lines_.size() >= kMostLines) lines_.erase(lines_.begin(), lines_.begin() + kMostLines / 10);
  lines_.push_back({level, std::move(text)});
  scroll_to_end_ = true;
}

void StatusBar::log(training::LogLevel level, std::string text) {
  last_ = {level, text};
  append(level, std::move(text));
}

void StatusBar::log_command(std::string line, bool of_view) {
  trace_event("command", fmt::format("\"line\":{}", json_string(line)));
  if (!of_view) return log(training::LogLevel::info, std::move(line));
  if (line == looks_at_) return;
  looks_at_ = line;
  append(training::LogLevel::info, std::move(line));
}

void StatusBar::draw_last_line(const Frame& frame, float room) {
  const float s = frame.scale, arrow = kArrowRoom * s;
  if (hit_area("status.log", ImVec2(room, ImGui::GetFrameHeight()))) {
    ImGui::OpenPopup("log");
    scroll_to_end_ = true;
  }
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
  auto* const list = ImGui::GetWindowDrawList();
  const bool hovered = ImGui::IsItemHovered();
  const float middle = (min.y + max.y) / 2;
  draw_icon(list, Icon::up, ImVec2(max.x - arrow, middle - arrow / 2), ImVec2(max.x, middle + arrow / 2),
            hovered ? frame.palette.text : frame.palette.muted);
  const auto level = last_.level;
  std::string text =
      ellipsize(frame.fonts.small, last_.text.empty() ? "log" : last_.text, room - arrow - 8 * s);
  if (text == "...") text.clear();
  const ImU32 color =
      hovered && level == training::LogLevel::info ? frame.palette.text : level_color(frame, level);
  draw_text(list, frame.fonts.small, max.x - arrow - 6 * s - text_width(frame.fonts.small, text),
            row_baseline(frame, min.y), color, text);
  trace_item("status.log");
  tooltip(frame, lines_.empty() ? "Nothing logged yet" : "The last log line; click for all of them");
}

void StatusBar::copy_all() const {
  std::string text;
  for (const training::LogLine& line : lines_) text.append(line.text).append("\n");
  copy(text);
}

void StatusBar::draw_log(const Frame& frame) {
  const float s = frame.scale;
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const ImVec2 size(std::min(display.x - 16 * s, 860 * s), std::min(display.y * 0.5f, 360 * s));
  ImGui::SetNextWindowPos(ImVec2(display.x - 6 * s, display.y - 30 * s), ImGuiCond_Always, ImVec2(1, 1));
  ImGui::SetNextWindowSize(size);
  if (!ImGui::BeginPopup("log", ImGuiWindowFlags_NoMove)) return;
  trace_open_list("status.log");
  row_text(frame, frame.fonts.strong, frame.palette.text, "Log");
  ImGui::SameLine(0, 10 * s);
  caption(frame, fmt::format("{}; a click on one copies it",
                             files::counted(static_cast<std::int64_t>(lines_.size()), "line")));
  ImGui::SameLine();
  align_right(frame, text_button_width(frame, "Copy all"));
  if (text_button(frame, "status.log.copy", "Copy all", "All lines into the clipboard", !lines_.empty()))
    copy_all();
  ImGui::BeginChild("lines");
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(lines_.size()));
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      const training::LogLine& line = lines_[static_cast<std::size_t>(i)];
      const bool plain = line.level == training::LogLevel::info;
      ImGui::PushStyleColor(ImGuiCol_Text, plain ? frame.palette.text : level_color(frame, line.level));
      ImGui::PushID(i);
      const float room = ImGui::GetContentRegionAvail().x;
      const std::string shown = ellipsize(frame.fonts.text, line.text, room);
      if (ImGui::Selectable(shown.c_str())) copy(line.text);
      trace_item(fmt::format("status.log.{}", i));
      ImGui::PopID();
      ImGui::PopStyleColor();
      if (shown != line.text) tooltip(frame, line.text);
    }
  }
  if (std::exchange(scroll_to_end_, false)) ImGui::SetScrollHereY(1.0f);
  ImGui::EndChild();
  trace_rectangle("status.log.window", ImGui::GetWindowPos(),
                  ImVec2(ImGui::GetWindowPos().x + size.x, ImGui::GetWindowPos().y + size.y));
  ImGui::EndPopup();
}

void StatusBar::draw(const Frame& frame, const WindowFacts& facts) {
  const float s = frame.scale;
  const auto& snapshot = frame.snapshot;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(12 * s, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
  ImGui::Begin("status", nullptr, kLowWindow);
  ImGui::PopStyleVar(2);
  if (!facts.image_path.empty()) {
    entry(frame, "status.images", kImagePath, facts.image_path, frame.palette.muted, "");
  }
  entry(frame, "status.fps", kFrames,
        facts.frames > 1 ? fmt::format("{} frames/s", facts.frames) : std::string("drawn when needed"),
        frame.palette.muted,
        fmt::format("As many as the display shows while you do something, else at most ten, when there is "
                    "something new. The window's thread works {:.1f} ms on a frame.\n{}",
                    facts.draw_milliseconds, facts.renderer));
  if (snapshot.memory.total_bytes > 0) {
    entry(frame, "status.memory", kMemory, memory_text(snapshot), frame.palette.muted,
          fmt::format("Training memory, a part of it: {}.",
                      bytes_text(static_cast<double>(snapshot.memory.allocated_bytes))));
  }
  if (const double share = frame.seen.time_share; share > 0) {
    entry(frame, "status.views", kViewsDrawn,
          fmt::format("views {:.{}f} %", 100 * share, share < 0.0995 ? 1 : 0), frame.palette.muted,
          "Over the last second, of pictures and all else that is looked at. Closed views take none.");
  }
  if (!snapshot.data_name.empty()) {
    const bool substituted = !snapshot.data_notice.empty();
    entry(frame, "status.data", kData, files::escaped(snapshot.data_name),
          substituted ? frame.palette.warning : frame.palette.muted,
          substituted ? snapshot.data_notice
                      : said_of_data(frame, files::counted(static_cast<std::int64_t>(snapshot.train_images),
                                                           "training image")));
  }
  draw_last_line(frame, ImGui::GetContentRegionAvail().x);
  draw_log(frame);
  ImGui::End();
}

}  // namespace warpscope::ui
