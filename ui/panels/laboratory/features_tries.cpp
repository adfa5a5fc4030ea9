#include "ui/panels/laboratory/features_tries.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "ui/panels/pictures/confusion_figures.h"
#include "ui/plot/scatter.h"
#include "ui/widgets/table.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using features::GridResult;

constexpr float kBothWidth = 620;  // design pixels from which table and points stand side by side
constexpr std::array<const char*, 2> kViews{"table", "points"};

// In the order of TryColumn.
constexpr std::array<Column, 8> kTryColumns{{
    number_column("", "In the order in which they were made.", 28, 0, Column::Sort::descending),
    number_column("step", "Steps after which the weights were taken.", 56, 0, Column::Sort::descending),
    text_column("features", "Layers and how they are pooled; * as they are, not standardized.", 88, 0,
                Column::Sort::ascending),
    text_column("classifier", "What learned from them.", 88, 1, Column::Sort::ascending),
    number_column("C", "What a row on the wrong side costs.", 44, 2, Column::Sort::ascending),
    number_column("gamma", "Width of the RBF SVM's kernel: exp(-gamma d^2).", 96, 3, Column::Sort::ascending),
    number_column("accuracy", "Share of the test images that got their class.", 64, 0,
                  Column::Sort::descending),
    number_column("learning", "Seconds of learning, without the features.", 60, 0, Column::Sort::ascending),
}};

std::string layers_of(const features::TrialFigures& tried) {
  return tried.standardized ? tried.layers : tried.layers + " *";
}

std::string tip_of(const features::TrialFigures& tried) {
  return fmt::format(
      "{} on {}{}, step {}\nC {}, gamma {}\n{} of {} right, learned in {}\nClick to take these "
      "settings.",
      classifiers::classifier_named(tried.classifier).title, tried.layers,
      tried.standardized ? ", standardized" : "", with_thousands(tried.step), c_text(tried.c),
      gamma_text(tried), accuracy_text(tried.accuracy), files::counted(tried.test_rows, "test image"),
      seconds_text(tried.fit_seconds));
}

int series_of(const std::string& classifier) {
  const auto table = classifiers::classifier_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.name == classifier; });
  return static_cast<int>(found - table.begin()) % 8;
}

struct Room {
  ImVec2 origin;
  float left = 0, cell_width = 0, cell_height = 0;

  ImVec2 min(std::size_t gamma, std::size_t c) const {
    return {origin.x + left + static_cast<float>(c) * cell_width,
            origin.y + static_cast<float>(gamma) * cell_height};
  }
};

/// From 0 for the worst accuracy of the table to 1 for the best.
double rank_of(const GridResult& grid, double accuracy) {
  double low = 2, high = -1;
  for (const double value : grid.accuracy) {
    if (std::isnan(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return high > low ? (accuracy - low) / (high - low) : 1;
}

std::string cell_tip(const GridResult& grid, std::size_t gamma, std::size_t c) {
  const bool has_gamma = grid.classifier == "rbf";
  std::string text = fmt::format("C {}{}\n", c_text(grid.cs[c]),
                                 has_gamma ? fmt::format(", gamma {:.3g}", grid.gammas[gamma]) : "");
  const double accuracy = grid.at(gamma, c);
  if (std::isnan(accuracy)) return text.append("not known yet");
  return text.append(fmt::format(
      "{} of {} that were kept back are right, learned in {}\nClick to judge it on the test images.",
      accuracy_text(accuracy), files::counted(grid.held_rows, "image"),
      seconds_text(grid.seconds[gamma * grid.cs.size() + c])));
}

void draw_cell(const Frame& frame, const GridResult& grid, const Room& room, std::size_t gamma,
               std::size_t c) {
  const float line = hairline(frame);
  const ImVec2 min = room.min(gamma, c);
  const ImVec2 max(min.x + room.cell_width - line, min.y + room.cell_height - line);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const double accuracy = grid.at(gamma, c);
  if (std::isnan(accuracy)) {
    list->AddRectFilled(min, max, frame.palette.control);
  } else {
    const images::Rgba fill = share_colour(rank_of(grid, accuracy));
    list->AddRectFilled(min, max, IM_COL32(fill.r, fill.g, fill.b, 255));
    const std::string text = fmt::format("{:.1f}", 100 * accuracy);
    const float width = text_width(frame.fonts.small, text);
    if (width + 4 * frame.scale < room.cell_width) {
      draw_text(list, frame.fonts.small, std::floor((min.x + max.x - width) / 2),
                std::floor((min.y + max.y) / 2 + 4 * frame.scale),
                black_reads_better(fill) ? IM_COL32_BLACK : IM_COL32_WHITE, text);
    }
  }
  if (static_cast<int>(gamma * grid.cs.size() + c) == grid.best()) {
    list->AddRect(ImVec2(min.x + line, min.y + line), ImVec2(max.x - line, max.y - line),
                  frame.palette.accent, 0, 0, std::max(2.0f, std::floor(2 * frame.scale)));
  }
  if (trace_enabled()) trace_rectangle(fmt::format("features.cell.{}.{}", gamma, c), min, max);
}

void draw_names(const Frame& frame, const GridResult& grid, const Room& room) {
  const ImFont* const font = frame.fonts.small;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const float s = frame.scale;
  for (std::size_t gamma = 0; gamma < grid.gammas.size(); ++gamma) {
    const std::string text =
        grid.classifier == "rbf" ? fmt::format("{:.2g}", grid.gammas[gamma]) : std::string("accuracy, %");
    const float y = room.min(gamma, 0).y + room.cell_height / 2 + 4 * s;
    draw_text(list, font, room.origin.x + room.left - 8 * s - text_width(font, text), y, frame.palette.muted,
              text);
  }
  const float below = room.min(grid.gammas.size(), 0).y + 15 * s;
  for (std::size_t c = 0; c < grid.cs.size(); ++c) {
    const std::string text = c_text(grid.cs[c]);
    const float width = text_width(font, text);
    if (width > room.cell_width - 4 * s) continue;
    draw_text(list, font, room.min(0, c).x + (room.cell_width - width) / 2, below, frame.palette.muted, text);
  }
  const std::string_view axes = grid.classifier == "rbf" ? "gamma \u2193  C \u2192" : "C \u2192";
  draw_text(list, font, room.origin.x + room.left - 8 * s - text_width(font, axes), below, frame.palette.text,
            axes);
}

void take(FeaturesController& controller, const GridResult& grid, std::size_t gamma, std::size_t c) {
  controller.choice.classifier = grid.classifier;
  controller.choice.cs[grid.classifier] = grid.cs[c];
  if (grid.classifier == "rbf") {
    controller.choice.gamma = GammaChoice::number;
    controller.choice.gamma_number = grid.gammas[gamma];
  }
  controller.judge_again();
}

void draw_map(const Frame& frame, FeaturesController& controller, const GridResult& grid) {
  const float s = frame.scale;
  const ImVec2 space = ImGui::GetContentRegionAvail();
  Room room;
  room.origin = ImGui::GetCursorScreenPos();
  room.left = std::floor(88 * s);
  const auto columns = static_cast<float>(grid.cs.size()), rows = static_cast<float>(grid.gammas.size());
  room.cell_width = std::floor(std::clamp((space.x - room.left) / columns, 24 * s, 120 * s));
  room.cell_height = std::floor(std::clamp((space.y - 24 * s) / rows, 16 * s, 56 * s));
  hit_area("features.map", ImVec2(room.left + columns * room.cell_width, rows * room.cell_height + 22 * s));
  trace_item("features.map");
  const bool hovered = ImGui::IsItemHovered();
  const bool clicked = ImGui::IsItemClicked();
  for (std::size_t gamma = 0; gamma < grid.gammas.size(); ++gamma) {
    for (std::size_t c = 0; c < grid.cs.size(); ++c) draw_cell(frame, grid, room, gamma, c);
  }
  draw_names(frame, grid, room);
  if (!hovered) return;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const float x = (mouse.x - room.origin.x - room.left) / room.cell_width,
              y = (mouse.y - room.origin.y) / room.cell_height;
  if (x < 0 || x >= columns || y < 0 || y >= rows) return;
  const auto c = static_cast<std::size_t>(x), gamma = static_cast<std::size_t>(y);
  pointer_tip(frame, cell_tip(grid, gamma, c));
  if (clicked && !std::isnan(grid.at(gamma, c))) take(controller, grid, gamma, c);
}

void draw_points(const Frame& frame, FeaturesController& controller, ImVec2 size) {
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

}  // namespace

void FeaturesTries::draw_table(const Frame& frame, FeaturesController& controller, ImVec2 size) {
  const auto& tries = *controller.state().tries;
  Table table(frame, "features.tries", kTryColumns, size);
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

void draw_features_grid(const Frame& frame, FeaturesController& controller) {
  const auto grid = controller.state().grid;
  const bool searches = controller.state().work == features::DeskWork::search;
  const bool has_c = classifiers::classifier_named(controller.choice.classifier).c > 0;
  const std::string why_not = !has_c ? "This classifier has no C to search." : controller.why_not(frame);
  if (text_button(frame, "features.search", "Search",
                  why_not.empty() ? "Tries each C and gamma of a table on four fifths of the training images "
                                    "and judges them by the fifth that was kept back."
                                  : why_not,
                  why_not.empty() && !searches)) {
    controller.search(frame);
  }
  if (!grid) {
    return centered_text(frame, searches ? "The features are made first."
                                         : "Not searched yet. Search tries each C and gamma of a table and "
                                           "judges them by training images that are kept back.");
  }
  ImGui::SameLine(0, 12 * frame.scale);
  const int best = grid->best();
  const std::string text =
      fmt::format("{} on {}, step {}: {} of {} done{}", classifiers::classifier_named(grid->classifier).title,
                  grid->layers, with_thousands(grid->step), grid->done(), grid->accuracy.size(),
                  best < 0 ? "" : ", best " + accuracy_text(grid->accuracy[static_cast<std::size_t>(best)]));
  caption(frame, ellipsize(frame.fonts.small, text, ImGui::GetContentRegionAvail().x));
  tooltip(frame, fmt::format("{}. Learned from {}, judged by {} others, every fifth. Such an "
                             "accuracy is a little lower than one of all training images.",
                             text, files::counted(grid->fitted_rows, "training image"),
                             with_thousands(grid->held_rows)));
  ImGui::Dummy(ImVec2(1, 4 * frame.scale));
  draw_map(frame, controller, *grid);
}

}  // namespace warpscope::ui
