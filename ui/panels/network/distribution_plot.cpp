#include "ui/panels/network/distribution_plot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "ui/input/cursor.h"
#include "ui/plot/draw_curve.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using charts::Axis;
using charts::Tick;

constexpr std::array kParts{0.05, 0.25, 0.5, 0.75, 0.95};
/// Beyond these magnitudes, on the side of the label, FP16 loses numbers (statistics/value_bins.h).
struct Limit {
  double magnitude;
  const char* label;
  bool below;  ///< what is lost is smaller
};
constexpr std::array kFp16Limits{Limit{65520, "infinite in FP16", false},
                                 Limit{0x1p-14, "subnormal in FP16", true},
                                 Limit{0x1p-25, "0 in FP16", true}};

constexpr float kRidgePitch = 14;  ///< design pixels from ridge to ridge, at the least

double step_of(const std::shared_ptr<const DistributionMoment>& moment) {
  return static_cast<double>(moment->step);
}

/// The steps from the first moment to the last, as an axis over pixels.
Axis step_axis(Moments moments, bool logarithmic, float left, float right) {
  const double first = logarithmic ? std::max(1.0, step_of(moments.front())) : step_of(moments.front());
  return {first, std::max(first + 1, step_of(moments.back())), left, right, logarithmic};
}

/// How the label of a line of `figure` reads `value`.
std::string figure_text(Figure figure, double value) {
  return is_share(figure) ? share_text(value) : fmt::format("{:.3g}", value);
}

/// The values of the figures' axis: shares from 0, the others on a logarithm.
Axis figure_axis(const std::vector<plot::Series>& lines, Figure figure, float bottom, float top) {
  float least = 0, most = 0;
  for (const plot::Series& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      const float y = line.y(i);
      if (!std::isfinite(y) || y <= 0) continue;
      least = least == 0 ? y : std::min(least, y);
      most = std::max(most, y);
    }
  }
  if (is_share(figure)) return {0, most > 0 ? 1.08 * static_cast<double>(most) : 1, bottom, top, false};
  if (most == 0) return {0.1, 1, bottom, top, true};
  return {static_cast<double>(least) / 1.3, static_cast<double>(most) * 1.3, bottom, top, true};
}

/// A line a layer; empty where a layer has no such figure.
std::vector<plot::Series> lines_of(Moments moments, std::size_t layers, const DistributionLook& look) {
  std::vector<plot::Series> lines(layers);
  for (const auto& moment : moments) {
    for (std::size_t layer = 0; layer < layers; ++layer) {
      const auto value = figure_of(*moment, layer, look.figure, look.quantity);
      if (value) lines[layer].append(step_of(moment), static_cast<float>(*value));
    }
  }
  return lines;
}

std::string figures_tip(const models::Model& model, const DistributionMoment& moment,
                        const DistributionLook& look) {
  std::string text = fmt::format("{}, step {}", name_of(look.figure), with_thousands(moment.step));
  for (std::size_t layer = 0; layer <= model.layers.size(); ++layer) {
    const auto value = figure_of(moment, layer, look.figure, look.quantity);
    if (!value) continue;
    text += fmt::format("\n{}{}: {}", layer == look.layer ? "\u25b8 " : "", layer_name(model, layer),
                        figure_text(look.figure, *value));
  }
  return text;
}

}  // namespace

void DistributionPlot::draw(const Frame& frame, ImVec2 size, const models::Model& model,
                            const std::shared_ptr<const training::Distributions>& seen,
                            const DistributionLook& look) {
  const ImVec2 min = ImGui::GetCursorScreenPos(), max(min.x + size.x, min.y + size.y);
  hit_area("distributions.plot", size);
  const Moments moments = seen->moments;
  const Room room = arrange(frame, min, max, moments, look);
  if (room.right - room.left < 8 || room.bottom - room.top < 8) return;
  if (trace_enabled()) {
    trace_rectangle("distributions.plot", ImVec2(room.left, room.top), ImVec2(room.right, room.bottom));
  }
  const bool has_numbers = !over_moments(moments, look.layer, look.quantity).empty();
  if (look.view == DistributionView::figures) {
    draw_figures(frame, room, moments, look);
  } else if (!has_numbers) {
    const std::string text = fmt::format("{} has no {}: choose another layer, or activations",
                                         layer_name(model, look.layer), training::name_of(look.quantity));
    ImGui::SetCursorScreenPos(min);
    ImGui::BeginChild("distributions.none", size, false, ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoInputs);
    centered_text(frame, text);
    ImGui::EndChild();
    return;
  } else if (look.view == DistributionView::ridges) {
    draw_ridges(frame, room, moments, look);
  } else {
    make_heat_map(frame, room, seen, look);
    draw_heat_map(frame, room);
  }
  point(frame, room, model, moments, look);
}

DistributionPlot::Room DistributionPlot::arrange(const Frame& frame, ImVec2 min, ImVec2 max, Moments moments,
                                                 const DistributionLook& look) const {
  const float s = frame.scale;
  Room room;
  room.left = std::floor(min.x + 60 * s);
  room.right = std::floor(max.x - 8 * s);
  room.top = std::floor(min.y + 4 * s);
  room.bottom = std::floor(max.y - 20 * s);
  room.steps = step_axis(moments, look.logarithmic_steps, room.left, room.right);
  return room;
}

/// Ticks and the name of the x axis, and hairlines where steps are.
void DistributionPlot::draw_step_axis(const Frame& frame, const Room& room) const {
  const float s = frame.scale, baseline = room.bottom + 15 * s;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const float name = text_width(frame.fonts.small, "step");
  const int wanted = std::max(2, static_cast<int>((room.right - room.left) / (72 * s)));
  float free = room.left - 8 * s;
  for (const Tick& tick : charts::ticks(room.steps, wanted, charts::Unit::count)) {
    const float x = std::floor(room.steps.to_pixel(tick.value)),
                width = text_width(frame.fonts.small, tick.label);
    list->AddRectFilled(ImVec2(x, room.bottom), ImVec2(x + hairline(frame), room.bottom + 3 * s),
                        frame.palette.muted);
    const float at = std::max(x - width / 2, room.left);
    if (at < free || at + width > room.right - name - 8 * s) continue;
    draw_text(list, frame.fonts.small, at, baseline, frame.palette.muted, tick.label);
    free = at + width + 8 * s;
  }
  draw_text(list, frame.fonts.small, room.right - name, baseline, frame.palette.muted, "step");
}

void DistributionPlot::draw_cursor(const Frame& frame, const Room& room) const {
  if (!frame.cursor->step) return;
  const auto step = static_cast<double>(*frame.cursor->step);
  const float x =
      std::floor(std::clamp(room.steps.to_pixel(std::max(step, room.steps.low)), room.left, room.right));
  ImGui::GetWindowDrawList()->AddRectFilled(ImVec2(x - hairline(frame), room.top),
                                            ImVec2(x + hairline(frame), room.bottom), frame.palette.accent);
}

void DistributionPlot::make_heat_map(const Frame& frame, const Room& room,
                                     const std::shared_ptr<const training::Distributions>& seen,
                                     const DistributionLook& look) {
  const int width = static_cast<int>(room.right - room.left),
            height = static_cast<int>(room.bottom - room.top);
  const Made wanted{seen, look, width, height};
  if (wanted == made_ && texture_) return;
  made_ = wanted;
  const Moments moments = seen->moments;
  axis_ = ValueAxis(over_moments(moments, look.layer, look.quantity));
  const Axis x = step_axis(moments, look.logarithmic_steps, 0, static_cast<float>(width));
  const Pixels pixels = heat_map(moments, look.layer, look.quantity, axis_, x, width, height);
  most_ = pixels.most;
  quantiles_.clear();
  for (const auto& moment : moments) {
    std::vector<float> positions;
    const statistics::Distribution* const one = moment->find(look.layer, look.quantity);
    for (const double part : kParts) {
      const auto value = one == nullptr ? std::nullopt : statistics::quantile(*one, part);
      if (value) positions.push_back(static_cast<float>(axis_.position(*value)));
    }
    quantiles_.push_back(positions);
  }
  if (!texture_ || texture_->width() != width || texture_->height() != height) {
    texture_ = std::make_unique<interop::Texture>(width, height, frame.textures);
  }
  texture_->upload(pixels.colours.data());
}

void DistributionPlot::draw_heat_map(const Frame& frame, const Room& room) const {
  const float s = frame.scale;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const ImVec2 min(room.left, room.top), max(room.right, room.bottom);
  list->AddRectFilled(min, max, kNoNumbers);
  list->AddImage((ImTextureID)(std::intptr_t)texture_->id(), min, max);
  const double apart = 14.0 * static_cast<double>(s) / static_cast<double>(room.bottom - room.top);
  for (const Tick& tick : axis_.ticks(apart)) {
    const float y =
        std::floor(room.bottom - static_cast<float>(axis_.position(tick.value)) * (room.bottom - room.top));
    list->AddRectFilled(ImVec2(room.left - 3 * s, y), ImVec2(room.left, y + hairline(frame)),
                        frame.palette.muted);
    const float baseline = std::clamp(y + 4 * s, room.top + 9 * s, room.bottom);
    draw_text(list, frame.fonts.small, room.left - 7 * s - text_width(frame.fonts.small, tick.label),
              baseline, frame.palette.muted, tick.label);
  }
  draw_quantiles(frame, room);
  draw_fp16_limits(frame, room);
  draw_step_axis(frame, room);
  draw_cursor(frame, room);
}

/// Lines at the magnitudes from which on FP16 loses numbers, where the axis has them; those above 0 say what they are.
void DistributionPlot::draw_fp16_limits(const Frame& frame, const Room& room) const {
  const float s = frame.scale;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  for (const Limit& limit : kFp16Limits) {
    for (const double value : {-limit.magnitude, limit.magnitude}) {  // no line crosses a label
      const double position = axis_.position(value);
      if (std::abs(axis_.value(position) - value) > 1e-3 * limit.magnitude) continue;  // beyond the axis
      const float y = std::floor(room.bottom - static_cast<float>(position) * (room.bottom - room.top));
      for (float x = room.left; x < room.right; x += 8 * s) {
        list->AddRectFilled(ImVec2(x, y), ImVec2(std::min(x + 4 * s, room.right), y + hairline(frame)),
                            frame.palette.warning);
      }
      if (value < 0) continue;
      const float baseline = limit.below ? y + 13 * s : y - 4 * s;
      const float left = room.right - 4 * s - text_width(frame.fonts.small, limit.label);
      // Readable on every colour of the map.
      list->AddRectFilled(ImVec2(left - 4 * s, baseline - 11 * s), ImVec2(room.right, baseline + 4 * s),
                          frame.palette.panel);
      draw_text(list, frame.fonts.small, left, baseline, frame.palette.warning, limit.label);
    }
  }
}

void DistributionPlot::draw_quantiles(const Frame& frame, const Room& room) const {
  ImDrawList* const list = ImGui::GetWindowDrawList();
  list->PushClipRect(ImVec2(room.left, room.top), ImVec2(room.right, room.bottom), true);
  for (std::size_t part = 0; part < kParts.size(); ++part) {
    const bool median = kParts[part] == 0.5;
    const float thick = (median ? 1.8f : 1.0f) * frame.scale;
    std::vector<ImVec2> points;
    for (std::size_t i = 0; i < quantiles_.size(); ++i) {
      if (quantiles_[i].size() != kParts.size()) continue;
      const float x = room.steps.to_pixel(std::max(step_of(made_.seen->moments[i]), room.steps.low));
      points.emplace_back(x, room.bottom - quantiles_[i][part] * (room.bottom - room.top));
    }
    if (points.size() == 1) points.emplace_back(room.right, points.front().y);
    const auto count = static_cast<int>(points.size());
    // Seen on every colour of the map.
    list->AddPolyline(points.data(), count, IM_COL32(0, 0, 0, 160), ImDrawFlags_None,
                      thick + 2 * frame.scale);
    list->AddPolyline(points.data(), count, IM_COL32(255, 255, 255, 235), ImDrawFlags_None, thick);
  }
  list->PopClipRect();
}

void DistributionPlot::draw_ridge(const Frame& frame, const Room& room, const std::vector<float>& density,
                                  float baseline, float height, ImU32 color) const {
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const float width = room.right - room.left;
  std::vector<ImVec2> points{ImVec2(room.left, baseline)};
  const auto& bands = axis_.bands();
  for (std::size_t i = 0; i < bands.size(); ++i) {
    const auto middle = static_cast<float>((bands[i].low + bands[i].high) / 2);
    // Zeros may be many times as dense as any number.
    points.emplace_back(room.left + middle * width, baseline - height * std::min(density[i] / most_, 1.0f));
  }
  points.emplace_back(room.right, baseline);
  const ImU32 fill = blend(color, frame.palette.panel, 0.28f);
  for (std::size_t i = 1; i < points.size(); ++i) {
    const ImVec2 a = points[i - 1], b = points[i];
    if (a.y >= baseline && b.y >= baseline) continue;
    list->AddQuadFilled(ImVec2(a.x, baseline), a, b, ImVec2(b.x, baseline), fill);
  }
  list->AddPolyline(points.data(), static_cast<int>(points.size()), color, ImDrawFlags_None,
                    std::max(1.0f, 1.2f * frame.scale));
}

void DistributionPlot::draw_ridges(const Frame& frame, const Room& room, Moments moments,
                                   const DistributionLook& look) {
  const float s = frame.scale, room_height = room.bottom - room.top;
  const float height = std::floor(std::max(18 * s, room_height * 0.24f));
  const int most = std::max(1, static_cast<int>((room_height - height) / (kRidgePitch * s)));
  ridges_ = ridge_moments(moments, look.layer, look.quantity, most);
  made_ = {};  // the axis and the scale below are not those of the heat map's texture
  std::vector<const statistics::Distribution*> shown;
  for (const std::size_t i : ridges_) shown.push_back(moments[i]->find(look.layer, look.quantity));
  axis_ = ValueAxis(shown);
  most_ = 0;
  for (const statistics::Distribution* const one : shown) {
    const std::vector<float> density = densities(*one, axis_);
    for (std::size_t i = 0; i < density.size(); ++i) {
      if (axis_.bands()[i].counter != statistics::kZeros) most_ = std::max(most_, density[i]);
    }
  }
  if (most_ == 0) most_ = 1;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const double apart = 44.0 * static_cast<double>(s) / static_cast<double>(room.right - room.left);
  for (const Tick& tick : axis_.ticks(apart)) {
    const float x =
        std::floor(room.left + static_cast<float>(axis_.position(tick.value)) * (room.right - room.left));
    list->AddRectFilled(ImVec2(x, room.top), ImVec2(x + hairline(frame), room.bottom), frame.palette.grid);
    const float width = text_width(frame.fonts.small, tick.label);
    draw_text(list, frame.fonts.small, std::clamp(x - width / 2, room.left, room.right - width),
              room.bottom + 15 * s, frame.palette.muted, tick.label);
  }
  const auto count = static_cast<float>(ridges_.size());
  const std::size_t chosen =
      frame.cursor->step ? nearest_moment(moments, *frame.cursor->step) : moments.size();
  for (std::size_t i = 0; i < ridges_.size(); ++i) {
    const float age = (static_cast<float>(i) + 1) / count;
    const float baseline = std::floor(room.top + height + (room_height - height) * age - hairline(frame));
    const bool is_chosen = ridges_[i] == chosen;
    const ImU32 color = is_chosen ? frame.palette.accent
                                  : blend(frame.palette.series[0], frame.palette.panel, 0.3f + 0.7f * age);
    draw_ridge(frame, room, densities(*shown[i], axis_), baseline, height, color);
    const std::string label = with_thousands(moments[ridges_[i]]->step);
    draw_text(list, frame.fonts.small, room.left - 7 * s - text_width(frame.fonts.small, label), baseline,
              is_chosen ? frame.palette.accent : frame.palette.muted, label);
  }
}

void DistributionPlot::draw_figures(const Frame& frame, const Room& room, Moments moments,
                                    const DistributionLook& look) {
  const float s = frame.scale;
  std::size_t layers = look.layer + 1;
  for (const auto& [key, distribution] : moments.back()->distributions)
    layers = std::max(layers, key.first + 1);
  const std::vector<plot::Series> lines = lines_of(moments, layers, look);
  const Axis y = figure_axis(lines, look.figure, room.bottom, room.top);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const int wanted = std::max(2, static_cast<int>((room.bottom - room.top) / (36 * s)));
  std::vector<Tick> ticks = charts::ticks(y, wanted, charts::Unit::value);
  for (Tick& tick : ticks)
    if (is_share(look.figure)) tick.label = fmt::format("{:g} %", 100 * tick.value);
  plot::draw_y_grid(frame, ticks, y, room.left, room.right, 7 * s);
  list->PushClipRect(ImVec2(room.left, room.top), ImVec2(room.right + 3 * s, room.bottom + 1), true);
  std::size_t drawn = 0;
  for (const bool chosen : {false, true}) {
    for (std::size_t layer = 0; layer < layers; ++layer) {
      if (lines[layer].empty() || chosen != (layer == look.layer)) continue;
      const ImU32 color =
          chosen ? frame.palette.accent : blend(frame.palette.series[drawn % 8], frame.palette.panel, 0.55f);
      const plot::Dash dash = plot::dash_pattern(chosen ? 0 : drawn++ / 8, s);
      plot::draw_curve(list, lines[layer], room.steps, y, color, (chosen ? 2.0f : 1.2f) * s, hairline(frame),
                       dash);
      plot::draw_dots(list, lines[layer], room.steps, y, color, 2 * s);
    }
  }
  list->PopClipRect();
  draw_step_axis(frame, room);
  draw_cursor(frame, room);
}

std::size_t DistributionPlot::pointed_moment(const Room& room, Moments moments,
                                             const DistributionLook& look) const {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (look.view == DistributionView::ridges) {
    const float part = (mouse.y - room.top) / (room.bottom - room.top);
    const auto count = static_cast<float>(ridges_.size());
    return ridges_[static_cast<std::size_t>(std::clamp(part * count, 0.0f, count - 1))];
  }
  return moment_at(moments, room.steps.to_value(mouse.x));
}

/// The moment under the pointer tells its figures; a click goes to it, or to the newest.
void DistributionPlot::point(const Frame& frame, const Room& room, const models::Model& model,
                             Moments moments, const DistributionLook& look) const {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (!ImGui::IsItemHovered() || !room.holds(mouse)) return;
  const std::size_t index = pointed_moment(room, moments, look);
  const DistributionMoment& moment = *moments[index];
  if (look.view != DistributionView::ridges) {
    const float x = std::floor(mouse.x);
    ImGui::GetWindowDrawList()->AddRectFilled(ImVec2(x, room.top), ImVec2(x + hairline(frame), room.bottom),
                                              frame.palette.muted);
  }
  pointer_tip(frame, look.view == DistributionView::figures
                         ? figures_tip(model, moment, look)
                         : tip_of(moment, look.layer, look.quantity, frame.snapshot.selection.precision));
  if (!ImGui::IsItemClicked()) return;
  if (index + 1 == moments.size()) {
    frame.cursor->step.reset();
  } else {
    frame.cursor->step = moment.step;
  }
}

}  // namespace warpscope::ui
