#include "ui/panels/picture_curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ui/input/cursor.h"
#include "ui/plot/chart.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {

void PictureCurve::update(const Frame& frame, PictureMetric metric, int image) {
  figures_.update(frame.history, metric == PictureMetric::ssim);
  if (figures_.version() == version_ && metric == metric_ && image == image_) return;
  version_ = figures_.version();
  metric_ = metric;
  image_ = image;
  of_image_.clear();
  mean_.clear();
  for (const HistoryFigures::Moment& moment : figures_.moments()) {
    const std::vector<double> values = moment.figures.values(metric);
    if (values.empty()) continue;
    // A logarithm has no place for step 0.
    const auto step = static_cast<double>(std::max<std::uint64_t>(1, moment.step));
    mean_.append(step, static_cast<float>(mean_figure(values)));
    const auto place = static_cast<std::size_t>(image);
    if (place < values.size()) of_image_.append(step, static_cast<float>(values[place]));
  }
}

void PictureCurve::draw(const Frame& frame, float height) {
  const char* const word = kPictureMetrics[static_cast<std::size_t>(metric_)];
  const ImVec2 size(ImGui::GetContentRegionAvail().x, height);
  if (mean_.size() < 2) {
    ImGui::BeginChild("images.no_curve", size);
    centered_text(frame, figures_.moments().size() < 2
                             ? "The curve begins with the second picture that is kept."
                             : "The curve is being computed.");
    ImGui::EndChild();
    return;
  }
  plot::Extent extent = mean_.extent(0, mean_.size());
  extent.include(of_image_.extent(0, of_image_.size()));
  if (extent.empty()) extent = {0, 1};
  const double low = extent.low, high = extent.high, margin = std::max(1e-6, 0.05 * (high - low));
  const std::array lines{plot::ChartLine{&of_image_, frame.palette.accent},
                         plot::ChartLine{&mean_, frame.palette.series[0]}};
  std::vector<plot::ChartMark> marks;
  if (frame.cursor != nullptr && frame.cursor->step) {
    marks.push_back(
        {static_cast<double>(std::max<std::uint64_t>(1, *frame.cursor->step)), "shown", frame.palette.muted});
  }
  plot::Chart chart;
  chart.lines = lines;
  chart.marks = marks;
  chart.x = {mean_.x(0), mean_.x(mean_.size() - 1), mean_.x(mean_.size() - 1) >= 10 * mean_.x(0)};
  chart.y = {low - margin, high + margin, false};
  chart.x_label = "step";
  chart.y_label = word;
  chart.describe = [&](double x, double y) {
    const double mean = static_cast<double>(mean_.y(mean_.nearest(x)));
    return fmt::format("step {}: image {} {} {}, mean {}", with_thousands(static_cast<std::uint64_t>(x)),
                       image_ + 1, word, figure_text(metric_, y), figure_text(metric_, mean));
  };
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const std::optional<double> clicked = plot::draw_chart(frame, "images.curve", size, chart);
  if (clicked && frame.cursor != nullptr) frame.cursor->step = static_cast<std::uint64_t>(*clicked);
  // Above the curves stand their names, in their colours.
  const std::string image = fmt::format("image {}", image_ + 1);
  const ImFont* const font = frame.fonts.small;
  const float gap = 12 * frame.scale, baseline = at.y + 13 * frame.scale;
  float x = at.x + size.x - 4 * frame.scale - text_width(font, "mean");
  draw_text(ImGui::GetWindowDrawList(), font, x, baseline, frame.palette.series[0], "mean");
  x -= gap + text_width(font, image);
  draw_text(ImGui::GetWindowDrawList(), font, x, baseline, frame.palette.accent, image);
}

}  // namespace warpscope::ui
