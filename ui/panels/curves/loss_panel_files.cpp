// The plots of the curves panel as files and as text.

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "gpu/core/host_memory.h"
#include "gpu/files/file.h"
#include "gpu/runs/user_runs.h"
#include "ui/panels/curves/curves_csv.h"
#include "ui/panels/curves/loss_panel.h"
#include "ui/panels/curves/loss_picture.h"
#include "ui/plot/grid.h"
#include "ui/plot/picture.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

// Points that a curve may bring into the clipboard.
constexpr std::size_t kMostCopied = 100'000;

}  // namespace

// All plots in one picture, as they stand in the window.
void LossPanel::save_picture(const Frame& frame) {
  const int count = static_cast<int>(plots_.size());
  const auto draw_all = [&](const Frame& own, ImVec2 min, ImVec2 max) {
    const ImVec2 room(max.x - min.x, max.y - min.y);
    const plot::GridShape grid = plot::grid_of(count, room, kLeastPlotWidth * own.scale);
    const ImVec2 cell(room.x / static_cast<float>(grid.columns), room.y / static_cast<float>(grid.rows));
    for (int i = 0; i < count; ++i) {
      const int row = i / grid.columns, column = i % grid.columns;
      const ImVec2 at(std::floor(min.x + static_cast<float>(column) * cell.x),
                      std::floor(min.y + static_cast<float>(row) * cell.y));
      const LossPlot& plot = plots_[static_cast<std::size_t>(i)];
      const std::string title = i == 0 ? title_of(frame, plot.metric()) : facts_of(plot.metric()).label;
      plot.paint(own, title, at, ImVec2(std::floor(at.x + cell.x), std::floor(at.y + cell.y)));
    }
  };
  const ImVec2 size = count == 1 ? plots_.front().size() : plots_size_;
  plot::Picture picture =
      plot::draw_picture(frame, size, 2, ImGui::GetIO().DisplayFramebufferScale.x, draw_all);
  files_.push_back({facts_of(plots_.front().metric()).key, ".png",
                    [picture = std::move(picture)] { return plot::encode_png(picture); }});
}

void LossPanel::save_plots(const Frame& frame, Save what) {
  const bool any =
      std::any_of(plots_.begin(), plots_.end(), [](const LossPlot& plot) { return !plot.curves().empty(); });
  if (!any) return tell(training::LogLevel::warning, "the plot is not written: there is no curve in it yet");
  try {
    if (what == Save::png) return save_picture(frame);
    for (std::size_t i = 0; i < plots_.size(); ++i) {
      const LossPlot& plot = plots_[i];
      if (plot.curves().empty()) continue;
      const CurveChoice& choice = history().curves(i).choice;
      runs::Plot svg = svg_plot(plot.curves(), markers_, choice, plot.view(), plot.logarithmic(),
                                title_of(frame, plot.metric()));
      files_.push_back(
          {facts_of(plot.metric()).key, ".svg", [svg = std::move(svg)] { return runs::svg_of(svg); }});
    }
  } catch (const std::exception& error) {
    tell(training::LogLevel::error, std::string("the plot is not written: ") + core::sentence_of(error));
  }
}

// One file after the other; each is told when it is there.
void LossPanel::write_waiting(const Frame& frame) {
  if (const auto result = writer_.take()) {
    if (result->written) {
      tell(training::LogLevel::info, "plot written: " + result->text);
    } else {
      tell(training::LogLevel::error, "the plot is not written: " + result->text);
    }
  }
  if (files_.empty() || writer_.busy()) return;
  const WaitingFile file = std::move(files_.front());
  files_.erase(files_.begin());
  const auto& snapshot = frame.snapshot;
  try {
    const std::string run = run_folder_here(snapshot);
    // What is recorded by itself lies where nobody looks for a picture.
    const bool here = run.empty() || runs::is_user_run(run);
    const std::filesystem::path folder = here ? std::filesystem::current_path() : std::filesystem::path(run);
    writer_.write(free_file(folder, fmt::format("{}-step-{:06}", file.stem, snapshot.step), file.ending),
                  file.content);
  } catch (const std::exception& error) {
    tell(training::LogLevel::error, std::string("the plot is not written: ") + core::sentence_of(error));
  }
}

void LossPanel::copy_visible() {
  std::vector<CsvCurve> columns;
  for (const LossPlot& plot : plots_) {
    for (const ShownCurve& curve : plot.curves()) {
      const std::string name = fmt::format("{} {}", facts_of(plot.metric()).key, curve.name);
      if (curve.beneath != nullptr) columns.push_back({name, curve.beneath});
      columns.push_back({curve.beneath != nullptr ? name + " averaged" : name, curve.series});
    }
  }
  if (columns.empty()) return tell(training::LogLevel::info, "there is no curve to copy yet");
  const plot::View& x = shared_.x;
  const CsvText csv = curves_csv(columns, name_of(history().over()), {x.x0, x.x1}, kMostCopied);
  ImGui::SetClipboardText(csv.text.c_str());
  trace_event("copied", fmt::format("\"header\":{},\"rows\":{}",
                                    json_string(csv.text.substr(0, csv.text.find('\n'))), csv.rows));
  tell(training::LogLevel::info,
       fmt::format("copied as CSV: {}, {}{}", files::counted(static_cast<std::int64_t>(csv.rows), "row"),
                   files::counted(static_cast<std::int64_t>(columns.size() + 1), "column"),
                   csv.thinned ? "; of long curves only the extremes" : ""));
}

}  // namespace warpscope::ui
