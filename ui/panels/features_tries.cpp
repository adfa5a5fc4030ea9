#include "ui/panels/features_tries.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "ui/plot/scatter.h"
#include "ui/widgets/table.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr float kBothWidth = 620;  // design pixels from which table and points stand side by side
constexpr std::array<const char*, 2> kViews{"table", "points"};

// In the order of TryColumn.
constexpr std::array<Column, 8> kColumns{{
    {.label = "",
     .tip = "In the order in which they were made.",
     .width = 28,
     .right = true,
     .sort = Column::Sort::descending},
    {.label = "step",
     .tip = "Steps after which the weights were taken.",
     .width = 56,
     .right = true,
     .sort = Column::Sort::descending},
    {.label = "features",
     .tip = "Layers and how they are pooled; * as they are, not standardized.",
     .width = 88,
     .sort = Column::Sort::ascending},
    {.label = "classifier",
     .tip = "What learned from them.",
     .width = 88,
     .rank = 1,
     .sort = Column::Sort::ascending},
    {.label = "C",
     .tip = "What a row on the wrong side costs.",
     .width = 44,
     .right = true,
     .rank = 2,
     .sort = Column::Sort::ascending},
    {.label = "gamma",
     .tip = "Width of the RBF SVM's kernel: exp(-gamma d^2).",
     .width = 96,
     .right = true,
     .rank = 3,
     .sort = Column::Sort::ascending},
    {.label = "accuracy",
     .tip = "Share of the test images that got their class.",
     .width = 64,
     .right = true,
     .sort = Column::Sort::descending},
    {.label = "learning",
     .tip = "Seconds of learning, without the features.",
     .width = 60,
     .right = true,
     .sort = Column::Sort::ascending},
}};

std::string layers_of(const features::TrialFigures& tried) {
  return tried.standardized ? tried.layers : tried.layers + " *";
}

std::string tip_of(const features::TrialFigures& tried) {
  return fmt::format(
      "{} on {}{}, step {}\nC {}, gamma {}\n{} of {} test images right, learned in {}\nClick to take "
      "these settings.",
      classifiers::classifier_named(tried.classifier).title, tried.layers,
      tried.standardized ? ", standardized" : "", with_thousands(tried.step), c_text(tried.c),
      gamma_text(tried), accuracy_text(tried.accuracy),
      with_thousands(static_cast<std::uint64_t>(tried.test_rows)), seconds_text(tried.fit_seconds));
}

int series_of(const std::string& classifier) {
  const auto table = classifiers::classifier_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.name == classifier; });
  return static_cast<int>(found - table.begin()) % 8;
}

}  // namespace

void FeaturesTries::draw_table(const Frame& frame, FeaturesController& controller, ImVec2 size) {
  const auto& tries = *controller.state().tries;
  Table table(frame, "features.tries", kColumns, size);
  if (const int sorted = table.newly_sorted(); sorted >= 0) sorted_by_ = static_cast<TryColumn>(sorted);
  const auto order = order_of(tries, sorted_by_);
  double best = 0;
  for (const auto& tried : tries) best = std::max(best, tried.accuracy);
  table.rows(static_cast<int>(order.size()), [&](int i) {
    const std::size_t place = order[static_cast<std::size_t>(i)];
    const features::TrialFigures& tried = tries[place];
    const ImU32 text = frame.palette.text;
    table.number(0, std::to_string(place + 1), frame.palette.muted);
    table.number(1, with_thousands(tried.step), text);
    table.text(2, layers_of(tried), text);
    table.text(3, classifiers::classifier_named(tried.classifier).title, text);
    table.number(4, c_text(tried.c), text);
    table.number(5, gamma_text(tried), text);
    table.number(6, accuracy_text(tried.accuracy), tried.accuracy == best ? frame.palette.good : text);
    table.number(7, seconds_text(tried.fit_seconds), tried.converged ? text : frame.palette.warning,
                 tried.converged ? "" : "The solver did not reach its bound.");
    const ImVec2 min = table.cell_min(0), max = table.cell_max(7);
    if (trace_enabled()) trace_rectangle(fmt::format("features.try.{}", place + 1), min, max);
    if (!ImGui::IsWindowHovered() || !ImGui::IsMouseHoveringRect(min, max)) return;
    ImGui::GetWindowDrawList()->AddRectFilled(
        min, max, (frame.palette.accent & ~IM_COL32_A_MASK) | IM_COL32(0, 0, 0, 28));
    if (ImGui::IsMouseClicked(0)) take_choice(tried, controller.model(), controller.choice);
  });
}

void FeaturesTries::draw_points(const Frame& frame, FeaturesController& controller, ImVec2 size) const {
  const auto& tries = *controller.state().tries;
  std::vector<plot::ScatterPoint> points;
  for (std::size_t i = 0; i < tries.size(); ++i) {
    const features::TrialFigures& tried = tries[i];
    const int series = series_of(tried.classifier);
    points.push_back({std::max(tried.fit_seconds, 1e-6), 100 * tried.accuracy, tip_of(tried),
                      frame.palette.series[series], static_cast<plot::PointShape>(series % 4),
                      i + 1 == tries.size()});
  }
  const plot::Scatter scatter{points, "seconds of learning", "accuracy, %", true};
  if (const auto clicked = plot::draw_scatter(frame, "features.scatter", size, scatter)) {
    take_choice(tries[*clicked], controller.model(), controller.choice);
  }
}

void FeaturesTries::draw(const Frame& frame, FeaturesController& controller) {
  if (controller.state().tries->empty())
    return centered_text(frame, "No try yet. \"Judge now\" makes the first; each one is kept here.");
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float gap = 16 * frame.scale;
  if (room.x >= kBothWidth * frame.scale) {
    const float table = std::floor(0.58f * (room.x - gap));
    draw_table(frame, controller, ImVec2(table, room.y));
    ImGui::SameLine(0, gap);
    return draw_points(frame, controller, ImVec2(room.x - gap - table, room.y));
  }
  segmented(frame, "features.tries_view", kViews, &view_, "All tries as a list, or as accuracy over time.");
  const ImVec2 left = ImGui::GetContentRegionAvail();
  view_ == 0 ? draw_table(frame, controller, left) : draw_points(frame, controller, left);
}

}  // namespace warpscope::ui
