#include "ui/panels/network/distributions_panel.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ui/frame/kept_views.h"
#include "ui/images/colour_bar.h"
#include "ui/input/cursor.h"
#include "ui/settings/steering.h"
#include "ui/text/numbers.h"
#include "ui/text/terms.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using training::kQuantities;

constexpr std::array<const char*, 3> kViews{"heat map", "ridges", "figures"};
constexpr std::array<const char*, kQuantities> kQuantityNames{"weights", "activations", "gradients",
                                                              "updates"};
constexpr std::array<std::string_view, kQuantities> kMeanings{
    "A layer's weights and bias, in FP32",
    "What the layer makes of the first test images, in the precision of the training",
    "Gradients of weights and bias in the last step (of its last micro-batch), before clipping and without "
    "the loss scale",
    "By how much one step changed weights and bias. The weights are copied at the end of the step before; "
    "where more steps lie between, the change is divided by their number, and the tip says so"};
constexpr const char* kLogSteps = "log steps";
constexpr float kGap = 12, kFigureWidth = 128;  ///< design pixels, of the controls
constexpr float kLeastHeight = 144;
constexpr float kTableLeast = 260, kStripGap = 6;
constexpr float kStacked = 560;  ///< narrower panels have the table above the plot

/// The numbers behind the strips, from left to right.
constexpr std::array kNumbers{Figure::dead_channels, Figure::gradient_norm, Figure::update_ratio};
constexpr std::array<std::string_view, kNumbers.size()> kNumberNames{"dead", "gradient norm", "update ratio"};

float line_height(const Frame& frame) {
  return std::floor(20 * frame.scale);
}

void text_right(const Frame& frame, float right, float baseline, ImU32 color, std::string_view text) {
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.small, right - text_width(frame.fonts.small, text),
            baseline, color, text);
}

std::string step_text(const training::DistributionMoment& moment) {
  return "step " + with_thousands(moment.step);
}

/// From strip to strip, where each is as wide as its name.
float named_pitch(const Frame& frame) {
  float longest = 0;
  for (const char* const name : kQuantityNames)
    longest = std::max(longest, std::ceil(text_width(frame.fonts.small, name)) + 1);
  return longest + std::floor(kStripGap * frame.scale);
}

/// The width of all of them in one row, whatever is chosen.
float controls_width(const Frame& frame) {
  const float s = frame.scale;
  return segmented_width(frame, kQuantityNames) + segmented_width(frame, kViews) +
         toggle_width(frame, kLogSteps) + (3 * kGap + kFigureWidth) * s;
}

}  // namespace

void DistributionsPanel::follow(const models::Model& model) {
  model_ = model;
  seen_ = nullptr;
  moment_ = nullptr;
  for (Strips& strips : strips_) strips.moment = nullptr;
}

void DistributionsPanel::draw(const Frame& frame) {
  seen_ = frame.seen.distributions;
  const bool ready = seen_ && !seen_->moments.empty() && seen_->generation == frame.snapshot.generation;
  if (frame.cursor == nullptr || (frame.request == nullptr && !ready)) {
    panel_body(frame);
    return centered_text(frame,
                         why_no_look(frame.snapshot, "The folder of this run holds no distributions."));
  }
  const auto& revival = frame.snapshot.revival;
  const bool chosen = revival && revival->chosen > 0 && !frame.cursor->step;  // of checkpoints, by a person
  // What a run has recorded need not be counted once more.
  const bool recorded = ready && has_recorded_distributions(frame);
  if (frame.request != nullptr && (!recorded || chosen)) frame.request->distributions = true;
  const bool in_title = title_room(frame) >= controls_width(frame);
  if (ready && in_title) draw_controls(frame);
  panel_body(frame);
  if (!ready) {
    centered_text(
        frame, frame.snapshot.revival
                   ? "The checkpoint is being counted ..."
                   : "Counting begins with the next step. What was before this tab was opened is not kept.");
    return;
  }
  Cursor& cursor = *frame.cursor;
  cursor.output = std::min(cursor.output, model_.layers.size());
  look_.layer = cursor.output;
  const Moments moments = seen_->moments;
  const auto step = chosen ? std::optional(revival->chosen) : cursor.step;
  moment_ = step ? moments[nearest_moment(moments, *step)] : moments.back();
  ImGui::Dummy(ImVec2(1, std::floor(3 * frame.scale)));
  if (!in_title) draw_controls(frame);
  begin_rest(frame, kLeastHeight);
  draw_body(frame);
  end_rest();
  trace(frame);
}

void DistributionsPanel::draw_controls(const Frame& frame) {
  int quantity = static_cast<int>(look_.quantity);
  if (segmented(frame, "distributions.quantity", kQuantityNames, &quantity, "Whose numbers are shown large",
                true)) {
    look_.quantity = static_cast<Quantity>(quantity);
  }
  int view = static_cast<int>(look_.view);
  if (segmented_in_row(frame, kGap, "distributions.view", kViews, &view,
                       "Heat map: density over steps, with the quantiles 5, 25, 50, 75 and 95 %. Ridges: one "
                       "line a moment, the newest in front. Figures: one number a layer over steps")) {
    look_.view = static_cast<DistributionView>(view);
  }
  if (look_.view != DistributionView::ridges) {
    next_in_row(frame, kGap, toggle_width(frame, kLogSteps));
    toggle(frame, "distributions.log", kLogSteps, &look_.logarithmic_steps,
           "Equal ratios of steps take equal room");
  }
  if (look_.view == DistributionView::figures) draw_figure_choice(frame);
}

void DistributionsPanel::draw_figure_choice(const Frame& frame) {
  const float width = std::floor(kFigureWidth * frame.scale);
  next_in_row(frame, kGap, width);
  const std::string now(name_of(look_.figure));
  if (!begin_combo(frame, "distributions.figure", now, width, label_tip(now, explanation_of(look_.figure))))
    return;
  for (std::size_t i = 0; i < kFigures; ++i) {
    const auto figure = static_cast<Figure>(i);
    const std::string name(name_of(figure));
    if (combo_item(frame, fmt::format("distributions.figure={}", i).c_str(), name.c_str(),
                   figure == look_.figure)) {
      look_.figure = figure;
    }
  }
  end_combo();
}

void DistributionsPanel::draw_body(const Frame& frame) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float s = frame.scale, gap = std::floor(8 * s);
  if (room.x < kStacked * s) {
    const float table = std::floor(room.y * 0.45f);
    draw_table(frame, ImVec2(room.x, table));
    draw_detail(frame, ImVec2(room.x, room.y - table - ImGui::GetStyle().ItemSpacing.y));
    return;
  }
  const float least = std::max(kTableLeast * s, std::min(named_width(frame), 0.6f * room.x));
  const float table = std::floor(std::clamp(room.x * 0.46f, least, std::max(least, 720 * s)));
  draw_table(frame, ImVec2(table, room.y));
  ImGui::SameLine(0, gap);
  draw_detail(frame, ImVec2(room.x - table - gap, room.y));
}

float DistributionsPanel::names_width(const Frame& frame) const {
  const float s = frame.scale;
  float longest = 0;
  for (std::size_t layer = 0; layer <= model_.layers.size(); ++layer) {
    longest = std::max(longest, text_width(frame.fonts.small, layer_name(model_, layer)));
  }
  return std::max(std::min(std::floor(longest + 12 * s), std::floor(96 * s)),
                  std::ceil(text_width(frame.fonts.small, step_text(*moment_)) + 16 * s));
}

float DistributionsPanel::named_width(const Frame& frame) const {
  return names_width(frame) + static_cast<float>(kQuantities) * named_pitch(frame) +
         ImGui::GetStyle().ScrollbarSize;
}

DistributionsPanel::Columns DistributionsPanel::columns_of(const Frame& frame, float width) const {
  const float s = frame.scale, gap = std::floor(kStripGap * s);
  Columns columns;
  columns.name = names_width(frame);
  columns.figure = std::floor(68 * s);
  for (const std::string_view name : kNumberNames)
    columns.figure = std::max(columns.figure, std::ceil(text_width(frame.fonts.small, name) + 12 * s));
  const auto strips = static_cast<float>(kQuantities), numbers = static_cast<float>(kNumbers.size());
  columns.figures = width - columns.name - numbers * columns.figure > strips * named_pitch(frame);
  const float left = width - columns.name - (columns.figures ? numbers * columns.figure : 0);
  columns.pitch = std::floor(left / strips);
  columns.strip = std::max(8.0f, columns.pitch - gap);
  return columns;
}

void DistributionsPanel::draw_table(const Frame& frame, ImVec2 size) {
  ImGui::BeginChild("distributions.table", size, false, ImGuiWindowFlags_NoNav);
  Columns columns = columns_of(frame, ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ScrollbarSize);
  const float pitch =
      (ImGui::GetContentRegionAvail().y - line_height(frame)) / static_cast<float>(model_.layers.size() + 1);
  columns.row =
      std::floor(std::clamp(pitch - ImGui::GetStyle().ItemSpacing.y, line_height(frame), 36 * frame.scale));
  make_strips(frame, static_cast<int>(columns.strip));
  draw_head(frame, columns);
  ImGui::BeginChild("distributions.rows", ImVec2(0, 0), false, ImGuiWindowFlags_NoNav);
  for (std::size_t layer = 0; layer <= model_.layers.size(); ++layer) draw_row(frame, columns, layer);
  ImGui::EndChild();
  ImGui::EndChild();
}

/// One texture a quantity, one row of texels a layer, all layers on one axis.
void DistributionsPanel::make_strips(const Frame& frame, int width) {
  for (std::size_t i = 0; i < kQuantities; ++i) {
    Strips& column = strips_[i];
    if (column.texture && column.moment == moment_ && column.width == width) continue;
    column.moment = moment_;
    column.width = width;
    const auto quantity = static_cast<Quantity>(i);
    const ValueAxis axis(over_layers(*moment_, quantity));
    const Pixels pixels = strips(*moment_, model_.layers.size() + 1, quantity, axis, width);
    if (!column.texture || column.texture->width() != width || column.texture->height() != pixels.height) {
      column.texture = std::make_unique<interop::Texture>(width, pixels.height, frame.textures);
    }
    column.texture->upload(pixels.colours.data());
  }
}

void DistributionsPanel::draw_head(const Frame& frame, const Columns& columns) const {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float s = frame.scale, height = line_height(frame), baseline = std::floor(at.y + 14 * s);
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.small, at.x + 4 * s, baseline,
            frame.cursor->step ? frame.palette.accent : frame.palette.muted, step_text(*moment_));
  area_tooltip(frame, at, ImVec2(at.x + columns.name, at.y + height), "The step that the rows show");
  for (std::size_t i = 0; i < kQuantities; ++i) {
    const float left = at.x + columns.name + static_cast<float>(i) * columns.pitch;
    const bool chosen = static_cast<std::size_t>(look_.quantity) == i;
    draw_text(ImGui::GetWindowDrawList(), frame.fonts.small, left, baseline,
              chosen ? frame.palette.text : frame.palette.muted,
              ellipsize(frame.fonts.small, kQuantityNames[i], columns.strip));
    area_tooltip(frame, ImVec2(left, at.y), ImVec2(left + columns.strip, at.y + height),
                 label_tip(kQuantityNames[i], kMeanings[i]));
  }
  for (std::size_t i = 0; columns.figures && i < kNumbers.size(); ++i) {
    const float right = at.x + columns.name + static_cast<float>(kQuantities) * columns.pitch +
                        static_cast<float>(i + 1) * columns.figure;
    text_right(frame, right, baseline, frame.palette.muted, kNumberNames[i]);
    area_tooltip(frame, ImVec2(right - columns.figure, at.y), ImVec2(right, at.y + height),
                 label_tip(name_of(kNumbers[i]), explanation_of(kNumbers[i])));
  }
  ImGui::Dummy(ImVec2(1, height));
}

void DistributionsPanel::draw_row(const Frame& frame, const Columns& columns, std::size_t layer) {
  const float s = frame.scale, height = columns.row;
  const ImVec2 min = ImGui::GetCursorScreenPos();
  const float width = std::max(1.0f, ImGui::GetContentRegionAvail().x);
  const std::string name = layer_name(model_, layer), item = fmt::format("distributions.layer.{}", name);
  if (hit_area(item.c_str(), ImVec2(width, height))) choose(frame, layer);
  trace_item(item);
  if (!ImGui::IsItemVisible()) return;
  const bool chosen = frame.cursor->output == layer, hovered = ImGui::IsItemHovered();
  const bool clicked = ImGui::IsItemClicked();
  ImDrawList* const list = ImGui::GetWindowDrawList();
  if (chosen || hovered) {
    list->AddRectFilled(min, ImVec2(min.x + width, min.y + height),
                        blend(frame.palette.accent, frame.palette.panel, chosen ? 0.22f : 0.12f), 3 * s);
  }
  const float baseline = std::floor(min.y + height / 2 + 4 * s);
  draw_text(list, frame.fonts.small, min.x + 4 * s, baseline, frame.palette.text,
            ellipsize(frame.fonts.small, name, columns.name - 8 * s));
  for (std::size_t i = 0; i < kQuantities; ++i) {
    const float left = min.x + columns.name + static_cast<float>(i) * columns.pitch;
    const ImVec2 from(left, min.y + std::floor(3 * s)),
        to(left + columns.strip, min.y + height - std::floor(3 * s));
    const auto quantity = static_cast<Quantity>(i);
    draw_strip(frame, layer, quantity, from, to);
    if (trace_enabled())
      trace_rectangle(fmt::format("distributions.{}.{}", name, kQuantityNames[i]), from, to);
    if (!hovered || !ImGui::IsMouseHoveringRect(from, to)) continue;
    pointer_tip(frame, tip_of(*moment_, layer, quantity, frame.snapshot.selection.precision));
    if (clicked) look_.quantity = quantity;
  }
  if (columns.figures) draw_numbers(frame, columns, layer, min, baseline);
}

/// Another layer; its activations where it has nothing of what was shown.
void DistributionsPanel::choose(const Frame& frame, std::size_t layer) {
  point_at_output(*frame.cursor, layer);
  if (moment_->find(layer, look_.quantity) == nullptr) look_.quantity = Quantity::activations;
}

void DistributionsPanel::draw_strip(const Frame& frame, std::size_t layer, Quantity quantity, ImVec2 min,
                                    ImVec2 max) const {
  const statistics::Distribution* const one = moment_->find(layer, quantity);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  if (one == nullptr) return;
  list->AddRectFilled(min, max, kNoNumbers);
  const auto& texture = strips_[static_cast<std::size_t>(quantity)].texture;
  const auto rows = static_cast<float>(texture->height()), row = static_cast<float>(layer);
  list->AddImage((ImTextureID)(std::intptr_t)texture->id(), min, max, ImVec2(0, (row + 0.25f) / rows),
                 ImVec2(1, (row + 0.75f) / rows));
  const bool nan = one->counters[statistics::kNans] > 0,
             infinite = one->counters[statistics::kInfinities] > 0;
  if (nan || infinite) {
    draw_text(list, frame.fonts.small, min.x + 3 * frame.scale, max.y - 2 * frame.scale, frame.palette.error,
              nan ? "NaN" : "inf");
  }
  const bool shown = layer == look_.layer && quantity == look_.quantity;
  if (shown) list->AddRect(min, max, frame.palette.accent, 0, 0, hairline(frame));
}

void DistributionsPanel::draw_numbers(const Frame& frame, const Columns& columns, std::size_t layer,
                                      ImVec2 min, float baseline) const {
  for (std::size_t i = 0; i < kNumbers.size(); ++i) {
    const std::optional<double> value = figure_of(*moment_, layer, kNumbers[i], look_.quantity);
    if (!value) continue;
    const float right = min.x + columns.name + static_cast<float>(kQuantities) * columns.pitch +
                        static_cast<float>(i + 1) * columns.figure;
    const bool share = is_share(kNumbers[i]);
    const bool many = share && *value >= 0.5;
    text_right(frame, right, baseline, many ? frame.palette.warning : frame.palette.text,
               share ? share_text(*value) : fmt::format("{:.3g}", *value));
  }
}

/// From no density to that of the brightest colour.
void DistributionsPanel::draw_colour_bar(const Frame& frame) const {
  const bool has_numbers = moment_->find(look_.layer, look_.quantity) != nullptr;
  if (!has_numbers || plot_.most_density() <= 0) return;
  const images::ColourBar bar{
      "0", fmt::format("{} an octave", share_text(static_cast<double>(plot_.most_density()))),
      images::magnitude_colour};
  const float width = std::floor(64 * frame.scale), whole = images::colour_bar_width(frame, bar, width);
  if (ImGui::GetContentRegionAvail().x < whole) return;
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + ImGui::GetContentRegionAvail().x - whole);
  images::colour_bar(frame, bar, width);
  tooltip(frame,
          "The colours stand for the square root of the density: the part of the numbers whose magnitude is "
          "within a factor of two. Zeros have a scale of their own, in grey.");
}

/// How many numbers are 0, in the colour that their band has.
void DistributionsPanel::draw_zeros(const Frame& frame) const {
  const statistics::Distribution* const one = moment_->find(look_.layer, look_.quantity);
  const double share = one == nullptr ? 0 : one->share(statistics::kZeros);
  if (share <= 0) return;
  const float s = frame.scale, side = std::floor(8 * s);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float top = std::floor(at.y + (ImGui::GetFrameHeight() - side) / 2);
  const images::Rgba grey = zeros_colour(share);
  ImGui::GetWindowDrawList()->AddRectFilled(ImVec2(at.x, top), ImVec2(at.x + side, top + side),
                                            IM_COL32(grey.r, grey.g, grey.b, 255));
  ImGui::Dummy(ImVec2(side, ImGui::GetFrameHeight()));
  ImGui::SameLine(0, 4 * s);
  caption(frame, fmt::format("{} zeros", share_text(share)));
  trace_item("distributions.zeros");
  tooltip(frame,
          "The part of the numbers that are exactly 0, at the step shown. The colours leave them out: their "
          "band has a scale of its own, in grey, from no zeros to nothing but zeros.");
  ImGui::SameLine(0, 8 * s);
}

void DistributionsPanel::draw_detail(const Frame& frame, ImVec2 size) {
  ImGui::BeginChild("distributions.detail", size, false, ImGuiWindowFlags_NoNav);
  const bool figures = look_.view == DistributionView::figures;
  const std::string title =
      figures ? std::string(name_of(look_.figure))
              : fmt::format("{}, {}", layer_name(model_, look_.layer), training::name_of(look_.quantity));
  row_text(frame, frame.fonts.strong, frame.palette.text, title);
  tooltip(frame, figures ? label_tip(name_of(look_.figure), explanation_of(look_.figure))
                         : label_tip(training::name_of(look_.quantity),
                                     kMeanings[static_cast<std::size_t>(look_.quantity)]));
  ImGui::SameLine(0, 8 * frame.scale);
  if (look_.quantity == Quantity::activations && !figures) {
    caption(frame, fmt::format("of {} test {}s", with_thousands(seen_->images),
                               model_.reads_text() ? "text" : "image"));
    ImGui::SameLine(0, 8 * frame.scale);
  }
  if (look_.view == DistributionView::heat_map) {
    draw_zeros(frame);
    draw_colour_bar(frame);
  }
  ImGui::NewLine();
  ImGui::SetCursorPosY(ImGui::GetFrameHeight() + ImGui::GetStyle().ItemSpacing.y);
  plot_.draw(frame, ImGui::GetContentRegionAvail(), model_, seen_, look_);
  ImGui::EndChild();
}

/// What tests wait for.
void DistributionsPanel::trace(const Frame& frame) {
  if (!trace_enabled()) return;
  const std::string now = fmt::format(
      "\"step\":{},\"moments\":{},\"layer\":{},\"quantity\":{},\"view\":{},\"figure\":{},\"chosen\":{},"
      "\"images\":{}",
      moment_->step, seen_->moments.size(), json_string(layer_name(model_, look_.layer)),
      json_string(training::name_of(look_.quantity)),
      json_string(kViews[static_cast<std::size_t>(look_.view)]), json_string(name_of(look_.figure)),
      frame.cursor->step.has_value(), seen_->images);
  trace_change(traced_, "distributions", now);
}

void DistributionsPanel::shutdown() {
  plot_.shutdown();
  for (Strips& column : strips_) column.texture.reset();
}

}  // namespace warpscope::ui
