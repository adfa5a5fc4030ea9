#include "ui/panels/curves/plot_export.h"

#include <array>
#include <chrono>
#include <cmath>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/host_memory.h"
#include "gpu/files/atomic_file.h"

namespace warpscope::ui {
namespace {

namespace fs = std::filesystem;

// From Palette::series to the colours of gpu/export/svg_plot.cpp, which are in another order; the grey has none
// there.
constexpr std::array<int, kRunColors> kSvgColors{4, 3, 2, 5, 1, 7, 0, -1};

constexpr std::array<const char*, 3> kXLabels{"step", "epoch", "time of training"};
constexpr std::array<charts::Unit, 3> kXUnits{charts::Unit::count, charts::Unit::value,
                                              charts::Unit::seconds};

runs::Curve part_of(const plot::Series& series, const plot::View& view) {
  runs::Curve part;
  // One point more on each side, so that what is zoomed into between two is there.
  std::size_t first = series.lower_bound(view.x0);
  if (first > 0) --first;
  for (std::size_t i = first; i < series.size(); ++i) {
    if (std::isfinite(series.y(i))) {
      part.x.push_back(series.x(i));
      part.y.push_back(static_cast<double>(series.y(i)));
    }
    if (series.x(i) > view.x1) break;
  }
  return part;
}

int dash_of(ShownCurve::Kind kind) {
  switch (kind) {
    case ShownCurve::Kind::test:
      return 1;
    case ShownCurve::Kind::validation:
      return 2;
    case ShownCurve::Kind::before:
      return 3;
    default:
      return 0;
  }
}

}  // namespace

fs::path free_file(const fs::path& folder, const std::string& stem, const std::string& ending) {
  fs::path file = folder / (stem + ending);
  std::error_code error;
  for (int n = 2; fs::exists(fs::symlink_status(file, error)); ++n)
    file = folder / fmt::format("{}-{}{}", stem, n, ending);
  return file;
}

runs::Plot svg_plot(std::span<const ShownCurve> curves, std::span<const plot::Marker> markers,
                    const CurveChoice& choice, const plot::View& view, bool logarithmic, std::string title) {
  const auto over = static_cast<std::size_t>(choice.over);
  runs::Plot plot;
  plot.title = std::move(title);
  plot.x_label = kXLabels[over];
  plot.x_unit = kXUnits[over];
  plot.y_label = facts_of(choice.metric).label;
  plot.logarithmic = logarithmic;
  for (const ShownCurve& curve : curves) {
    // Skipped steps are single points, which a curve would join; the drops of the loss scale show them.
    if (curve.kind == ShownCurve::Kind::skipped) continue;
    plot.curves.push_back({curve.name, kSvgColors[static_cast<std::size_t>(curve.color) % kRunColors],
                           dash_of(curve.kind), part_of(*curve.series, view)});
  }
  for (const plot::Marker& marker : markers) {
    if (marker.x >= view.x0 && marker.x <= view.x1)
      plot.marks.push_back({marker.x, marker.label.empty() ? marker.text : marker.label, -1});
  }
  return plot;
}

void FileWriter::write(fs::path file, std::function<std::string()> content) {
  if (busy()) return;
  job_ = std::async(std::launch::async, [file = std::move(file), content = std::move(content)]() -> Result {
    try {
      files::write_file_atomically(file, content());
      return {true, file.string()};
    } catch (const std::exception& error) {
      return {false, core::sentence_of(error)};
    }
  });
}

std::optional<FileWriter::Result> FileWriter::take() {
  if (!busy() || job_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return {};
  return job_.get();
}

}  // namespace warpscope::ui
