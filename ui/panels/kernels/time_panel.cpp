#include "ui/panels/kernels/time_panel.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "ui/frame/kept_views.h"
#include "ui/input/cursor.h"
#include "ui/plot/axis.h"
#include "ui/widgets/theme.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using training::StepCall;

constexpr float kClickReach = 3;  ///< a button that goes up within so many pixels has clicked, not dragged
constexpr float kLeastLanesHeight = 80;  ///< design pixels, of the lanes

ImU32 color_of(const Frame& frame, OpFamily family) {
  // Neighbours in a step differ in hue and brightness.
  static constexpr std::array<std::size_t, kFamilies> kSeries{0, 1, 2, 3, 5, 4, 6, 7};
  return frame.palette.series[kSeries[static_cast<std::size_t>(family)]];
}

float line_height(const Frame& frame) {
  return std::floor(18 * frame.scale);
}

float name_width(const Frame& frame) {
  return std::floor(52 * frame.scale);
}

void draw_title(const Frame& frame, const StepLanes& lanes) {
  if (lanes.now.empty()) return;
  std::string text = fmt::format("{} in {}", time_text(lanes.now_end()),
                                 files::counted(static_cast<std::int64_t>(lanes.now.size()), "call"));
  if (!lanes.complete) text += ", others are not timed yet";
  if (text_width(frame.fonts.small, text) > title_room(frame)) return;
  caption(frame, text);
  tooltip(frame,
          "The sum of the calls of one step. Each time is the median of sampled steps, taken on the device "
          "with an event after each launch: calls stand one after the other, and what passes between two "
          "launches counts to the later one.");
}

void draw_legend(const Frame& frame, const StepLanes& lanes) {
  const auto shares = legend_of(lanes);
  std::vector<ColorKey> keys;
  for (const auto& [family, share] : shares)
    keys.push_back({color_of(frame, family), name_of(family), share});
  color_keys(frame, keys);
}

}  // namespace

double TimePanel::Room::time_at(float x) const {
  const double part = static_cast<double>(x - left) / static_cast<double>(max.x - left);
  return length * (window.first + part * (window.last - window.first));
}

float TimePanel::Room::pixel_of(double microseconds) const {
  const double part = (microseconds / length - window.first) / (window.last - window.first);
  return left + static_cast<float>(part * static_cast<double>(max.x - left));
}

void TimePanel::draw(const Frame& frame) {
  const CallTimes* const past = past_times(frame);
  const StepLanes lanes =
      past == nullptr ? lanes_of(frame.snapshot) : lanes_of(past->timings, past->step_microseconds);
  draw_title(frame, lanes);
  panel_body(frame);
  if (lanes.now.empty()) {
    centered_text(frame,
                  "No step has been timed launch by launch yet: the first times come soon after the start.");
    return;
  }
  draw_legend(frame, lanes);
  begin_rest(frame, kLeastLanesHeight);
  const float s = frame.scale, room = ImGui::GetContentRegionAvail().y;
  const float rows = lanes.before.empty() ? 1.0f : 2.0f;
  const float lane = std::clamp(std::floor(room * 0.16f), 24 * s, 64 * s);
  const float height = line_height(frame) + rows * (std::floor(lane) + std::floor(4 * s));
  draw_lanes(frame, lanes, std::min(height, room));
  ImGui::Dummy(ImVec2(1, std::floor(6 * s)));
  const float left = ImGui::GetContentRegionAvail().y;
  if (left > 56 * s) draw_history(frame, left);
  end_rest();
}

void TimePanel::draw_lanes(const Frame& frame, const StepLanes& lanes, float height) {
  const float s = frame.scale;
  const ImVec2 size(std::max(1.0f, ImGui::GetContentRegionAvail().x), height);
  Room room;
  room.min = ImGui::GetCursorScreenPos();
  room.max = ImVec2(room.min.x + size.x, room.min.y + size.y);
  room.left = std::min(room.min.x + name_width(frame), room.max.x - 1);
  room.ruler = room.min.y + line_height(frame);
  const float rows = lanes.before.empty() ? 1.0f : 2.0f;
  const float gap = std::floor(4 * s);
  room.lane = std::max(1.0f, std::floor((room.max.y - room.ruler) / rows) - gap);
  room.before = room.ruler;
  room.now = room.ruler + (rows - 1) * (room.lane + gap);
  room.length = lanes.length();
  room.window = window_;

  hit_area("time.lanes", size);
  trace_item("time.lanes");
  Hit hit;
  if (ImGui::IsItemHovered()) hit = hit_of(room, lanes);
  handle_mouse(frame, room, hit);
  room.window = window_;
  draw_ruler(frame, room);
  if (!lanes.before.empty()) draw_lane(frame, room, lanes.before, true, hit);
  draw_lane(frame, room, lanes.now, false, hit);
  draw_rest(frame, room, lanes);
  if (!ImGui::IsMouseDown(ImGuiMouseButton_Left)) draw_tip(frame, lanes, hit);
  trace(frame, lanes, hit);
}

TimePanel::Hit TimePanel::hit_of(const Room& room, const StepLanes& lanes) const {
  const ImVec2 pointer = ImGui::GetIO().MousePos;
  if (pointer.x < room.left || pointer.x >= room.max.x) return {};
  const double time = room.time_at(pointer.x);
  const auto in_lane = [&](float top) { return pointer.y >= top && pointer.y < top + room.lane; };
  if (in_lane(room.now)) {
    const bool rest = time >= lanes.now_end() && time < lanes.now_end() + lanes.rest;
    return {call_at(lanes.now, time), false, rest};
  }
  if (!lanes.before.empty() && in_lane(room.before)) return {call_at(lanes.before, time), true, false};
  return {};
}

void TimePanel::handle_mouse(const Frame& frame, const Room& room, const Hit& hit) {
  const ImGuiIO& io = ImGui::GetIO();
  if (ImGui::IsItemHovered() && io.MouseWheel != 0) {
    const float x = std::clamp(io.MousePos.x, room.left, room.max.x);
    window_.zoom(room.time_at(x) / room.length, std::pow(0.8, static_cast<double>(io.MouseWheel)));
  }
  if (ImGui::IsItemActivated()) dragged_ = 0;
  if (ImGui::IsItemActive() && io.MouseDelta.x != 0) {
    dragged_ += std::abs(io.MouseDelta.x);
    if (dragged_ > kClickReach * frame.scale) {
      const double pixels = static_cast<double>(room.max.x - room.left);
      window_.pan(-static_cast<double>(io.MouseDelta.x) / pixels * (window_.last - window_.first));
    }
  }
  if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) window_ = {};
  const bool clicked = ImGui::IsItemDeactivated() && dragged_ <= kClickReach * frame.scale;
  if (clicked && hit.call != nullptr) point_at_layer(frame, model_, hit.call->timing->layer);
}

void TimePanel::draw_ruler(const Frame& frame, const Room& room) const {
  const float s = frame.scale;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  // One unit for the whole ruler, whatever part of it is seen.
  const bool milliseconds = room.length >= 1e4;
  const double unit = milliseconds ? 1e3 : 1;
  const std::string_view name = milliseconds ? "ms" : "\u00b5s";
  const plot::Axis axis{room.time_at(room.left) / unit, room.time_at(room.max.x) / unit, room.left,
                        room.max.x, false};
  const float baseline = std::floor(room.min.y + 12 * s);
  draw_text(list, frame.fonts.small, room.min.x, baseline, frame.palette.muted, name);
  const int wanted = std::max(2, static_cast<int>((room.max.x - room.left) / (80 * s)));
  for (const plot::Tick& tick : plot::ticks(axis, wanted, plot::Unit::value)) {
    const float x = std::floor(axis.to_pixel(tick.value));
    list->AddRectFilled(ImVec2(x, room.ruler - std::floor(4 * s)), ImVec2(x + hairline(frame), room.max.y),
                        frame.palette.grid);
    const float width = text_width(frame.fonts.small, tick.label);
    const float left = std::clamp(x - width / 2, room.left, std::max(room.left, room.max.x - width));
    draw_text(list, frame.fonts.small, left, baseline, frame.palette.muted, tick.label);
  }
}

void TimePanel::draw_lane(const Frame& frame, const Room& room, const std::vector<StepCall>& lane,
                          bool before, const Hit& hit) const {
  const float s = frame.scale, top = before ? room.before : room.now, bottom = top + room.lane;
  const float baseline = std::floor((top + bottom) / 2 + 4 * s), pad = std::floor(4 * s);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  draw_text(list, frame.fonts.small, room.min.x, baseline, before ? frame.palette.muted : frame.palette.text,
            before                         ? "before"
            : past_times(frame) != nullptr ? "then"
                                           : "now");
  list->PushClipRect(ImVec2(room.left, top - 2 * s), ImVec2(room.max.x, bottom + 2 * s), true);
  const std::string_view layer = pointed_layer(frame, model_);
  for (const StepCall& call : lane) {
    const float left = room.pixel_of(call.start), right = room.pixel_of(call.end());
    if (right < room.left || left >= room.max.x) continue;
    // A hair of room between two calls, as long as both are seen.
    const float hair = right - left > 3 * s ? hairline(frame) : 0;
    const ImVec2 min(left, top), max(std::max(right - hair, left + hairline(frame)), bottom);
    const bool hovered = hit.call != nullptr && hit.call->timing == call.timing;
    const ImU32 plain = color_of(frame, family_of(call.timing->op));
    const ImU32 own = before ? blend(plain, frame.palette.panel, 0.62f) : plain;
    const ImU32 color = hovered ? blend(frame.palette.text, own, 0.3f) : own;
    list->AddRectFilled(min, max, color);
    if (!call.timing->layer.empty() && call.timing->layer == layer) {
      list->AddRectFilled(ImVec2(min.x, max.y - std::floor(3 * s)), max, frame.palette.text);
    }
    const float seen_left = std::max(min.x, room.left), seen_right = std::min(max.x, room.max.x);
    if (trace_enabled() && seen_right > seen_left) {
      trace_rectangle(fmt::format("time.{}.{}.{}", before ? "before" : "now", ops::to_string(call.timing->op),
                                  call.timing->layer),
                      ImVec2(seen_left, top), ImVec2(seen_right, bottom));
    }
    if (seen_right - seen_left < 24 * s) continue;
    for (const std::string& label : labels_of(call, before)) {
      if (text_width(frame.fonts.small, label) > seen_right - seen_left - 2 * pad) continue;
      draw_text(list, frame.fonts.small, std::floor(seen_left + pad), baseline,
                readable_on(color, frame.palette.panel, frame.palette.text), label);
      break;
    }
  }
  list->PopClipRect();
}

/// What a step takes beyond its calls, as an empty frame behind them.
void TimePanel::draw_rest(const Frame& frame, const Room& room, const StepLanes& lanes) const {
  const float left = room.pixel_of(lanes.now_end());
  const float right = std::min(room.pixel_of(lanes.now_end() + lanes.rest), room.max.x);
  if (lanes.rest <= 0 || right - left < 2 * frame.scale || right <= room.left) return;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  list->PushClipRect(ImVec2(room.left, room.now), ImVec2(room.max.x, room.now + room.lane), true);
  list->AddRect(ImVec2(left, room.now), ImVec2(right, room.now + room.lane), frame.palette.muted, 0, 0,
                hairline(frame));
  list->PopClipRect();
  if (trace_enabled()) {
    trace_rectangle("time.rest", ImVec2(std::max(left, room.left), room.now),
                    ImVec2(right, room.now + room.lane));
  }
}

void TimePanel::draw_tip(const Frame& frame, const StepLanes& lanes, const Hit& hit) const {
  if (hit.call != nullptr) {
    pointer_tip(frame, tip_of(*hit.call, lanes, hit.before, frame.on_gpu()));
  } else if (hit.rest) {
    pointer_tip(frame, fmt::format("{} of a step are in none of its calls: by the images a second a step "
                                   "takes {}. The device waits, starts launches or does something else.",
                                   time_text(lanes.rest), time_text(lanes.now_end() + lanes.rest)));
  }
}

void TimePanel::draw_history(const Frame& frame, float height) const {
  const float s = frame.scale, line = line_height(frame);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 size(std::max(1.0f, ImGui::GetContentRegionAvail().x), height);
  hit_area("time.history", size);
  trace_item("time.history");
  const ImVec2 min(std::min(at.x + name_width(frame), at.x + size.x - 1), at.y + std::floor(4 * s));
  const ImVec2 max(at.x + size.x, at.y + size.y - line);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  draw_text(list, frame.fonts.small, at.x, min.y + std::floor(9 * s), frame.palette.muted, "100 %");
  draw_text(list, frame.fonts.small, at.x, max.y, frame.palette.muted, "0 %");
  const float baseline = max.y + std::floor(14 * s);
  const auto& points = history_.points();
  if (points.size() < 2) {
    list->AddRect(min, max, frame.palette.grid, 0, 0, hairline(frame));
    const std::string text = ellipsize(
        frame.fonts.small, "Shares over the run: from the steps seen by this window", max.x - min.x - 16 * s);
    draw_text(list, frame.fonts.small, (min.x + max.x - text_width(frame.fonts.small, text)) / 2,
              std::floor((min.y + max.y) / 2 + 4 * s), frame.palette.muted, text);
    return;
  }
  draw_areas(frame, min, max);
  const std::string first = with_thousands(points.front().step), last = with_thousands(points.back().step);
  draw_text(list, frame.fonts.small, min.x, baseline, frame.palette.muted, first);
  draw_text(list, frame.fonts.small, max.x - text_width(frame.fonts.small, last), baseline,
            frame.palette.muted, last);
  const std::string_view name = "share of the calls over steps";
  const float middle = (min.x + max.x - text_width(frame.fonts.small, name)) / 2;
  if (middle > min.x + text_width(frame.fonts.small, first) + 8 * s)
    draw_text(list, frame.fonts.small, middle, baseline, frame.palette.muted, name);
  follow_step(frame, min, max);
}

/// Columns of whole pixels; runs of columns that look alike are one rectangle.
void TimePanel::draw_areas(const Frame& frame, ImVec2 min, ImVec2 max) const {
  const auto& points = history_.points();
  const double first = static_cast<double>(points.front().step),
               last = static_cast<double>(points.back().step);
  const float column = std::max(1.0f, std::floor(2 * frame.scale));
  const double per_pixel = (last - first) / static_cast<double>(max.x - min.x);
  struct Run {
    float left = 0, top = 0, bottom = 0;
  };
  std::array<Run, kFamilies> runs{};
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const auto flush = [&](std::size_t i, float right) {
    const Run& run = runs[i];
    if (run.bottom > run.top) {
      list->AddRectFilled(ImVec2(run.left, run.top), ImVec2(right, run.bottom),
                          color_of(frame, static_cast<OpFamily>(i)));
    }
  };
  for (float x = min.x; x < max.x; x += column) {
    const ShareHistory::Point* const point = history_.at(first + per_pixel * static_cast<double>(x - min.x));
    double sum = 0;
    float bottom = max.y;
    for (std::size_t i = 0; i < kFamilies; ++i) {
      sum += point->shares[i];
      const float top = std::round(max.y - static_cast<float>(std::min(sum, 1.0)) * (max.y - min.y));
      if (x == min.x || runs[i].top != top || runs[i].bottom != bottom) {
        if (x > min.x) flush(i, x);
        runs[i] = {x, top, bottom};
      }
      bottom = top;
    }
  }
  for (std::size_t i = 0; i < kFamilies; ++i) flush(i, max.x);
  for (const ShareHistory::Point& point : points) {
    if (!point.switched) continue;
    const float x =
        std::floor(min.x + static_cast<float>((static_cast<double>(point.step) - first) / per_pixel));
    list->AddRectFilled(ImVec2(x, min.y), ImVec2(x + hairline(frame), max.y), frame.palette.panel);
  }
}

void TimePanel::follow_step(const Frame& frame, ImVec2 min, ImVec2 max) const {
  const auto& points = history_.points();
  const std::uint64_t begin = points.front().step, end = points.back().step;
  const double first = static_cast<double>(begin);
  const double pixels = static_cast<double>(max.x - min.x) / std::max(1.0, static_cast<double>(end) - first);
  const std::optional<std::uint64_t> step = frame.cursor == nullptr ? std::nullopt : frame.cursor->step;
  if (step && *step >= begin && *step <= end) {
    const float line = min.x + static_cast<float>((static_cast<double>(*step) - first) * pixels);
    const float left = std::min(std::floor(line), max.x - hairline(frame));
    ImGui::GetWindowDrawList()->AddRectFilled(ImVec2(left, min.y), ImVec2(left + hairline(frame), max.y),
                                              frame.palette.accent);
  }
  const ImVec2 pointer = ImGui::GetIO().MousePos;
  const bool inside = pointer.x >= min.x && pointer.x < max.x && pointer.y >= min.y && pointer.y < max.y;
  if (!ImGui::IsItemHovered() || !inside) return;
  const double at = first + static_cast<double>(pointer.x - min.x) / pixels;
  const ShareHistory::Point* const point = history_.at(at);
  if (point == nullptr) return;
  if (frame.cursor != nullptr && ImGui::IsItemClicked()) {
    frame.cursor->step = step == point->step ? std::nullopt : std::optional(point->step);
  }
  draw_history_tip(frame, *point, min, max);
}

void TimePanel::draw_history_tip(const Frame& frame, const ShareHistory::Point& point, ImVec2 min,
                                 ImVec2 max) const {
  const float x = std::floor(ImGui::GetIO().MousePos.x);
  ImGui::GetWindowDrawList()->AddRectFilled(ImVec2(x, min.y), ImVec2(x + hairline(frame), max.y),
                                            frame.palette.text);
  std::string text = fmt::format("step {}", with_thousands(point.step));
  for (std::size_t i = kFamilies; i-- > 0;) {  // as they stand, from above
    if (point.shares[i] <= 0) continue;
    text += fmt::format("\n{:.1f} %  {}", 100 * point.shares[i], name_of(static_cast<OpFamily>(i)));
  }
  pointer_tip(frame, text + "\nClick: all views show this step, a second click the newest.");
}

void TimePanel::trace(const Frame& frame, const StepLanes& lanes, const Hit& hit) {
  if (!trace_enabled()) return;
  const std::string hovered = hit.call == nullptr ? "" : tip_of(*hit.call, lanes, hit.before, frame.on_gpu());
  const CallTimes* const past = past_times(frame);
  const std::string now = fmt::format(
      "\"step\":{},\"calls\":{},\"before\":{},\"first\":{:.6f},\"last\":{:.6f},\"points\":{},\"output\":{},"
      "\"tip\":{}",
      past == nullptr ? "null" : fmt::format("{}", past->step), lanes.now.size(), lanes.before.size(),
      window_.first, window_.last, history_.points().size(),
      frame.cursor == nullptr ? 0 : frame.cursor->output, json_string(hovered));
  trace_change(traced_, "time", now);
}

}  // namespace warpscope::ui
