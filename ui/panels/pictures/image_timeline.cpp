#include "ui/panels/pictures/image_timeline.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "gpu/messages/image_history.h"
#include "ui/frame/kept_views.h"
#include "ui/input/cursor.h"
#include "ui/panels/curves/rewind_menu.h"
#include "ui/plot/chart.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr double kSecondsAPicture = 0.08;

/// Where pictures of another step stand for those of the pinned one: the offer to rewind the training to that.
std::string text_of_rewind(const Frame& frame, std::optional<std::uint64_t> past,
                           const std::vector<std::uint64_t>& steps) {
  if (!past || frame.cursor->passing || steps.empty() || steps[kept_index(steps, *past)] == *past) return "";
  return rewind_offer(frame.snapshot, *past);
}

}  // namespace

std::size_t kept_index(const std::vector<std::uint64_t>& steps, std::uint64_t step) {
  return training::nearest_of(steps.size(), step, [&](std::size_t i) { return steps[i]; });
}

float ImageTimeline::height(const Frame& frame) {
  return frame.history && frame.cursor != nullptr ? ImGui::GetFrameHeight() + std::floor(4 * frame.scale) : 0;
}

/// The next picture, until the newest.
void ImageTimeline::play(const Frame& frame, const std::vector<std::uint64_t>& steps) {
  if (!playing_) return;
  const double now = ImGui::GetTime();
  if (now >= next_) {
    next_ = now + kSecondsAPicture;
    const std::size_t next = kept_index(steps, *frame.cursor->step) + 1;
    if (next >= steps.size()) {
      playing_ = false;
      frame.cursor->step.reset();
      return;
    }
    frame.cursor->step = steps[next];
  }
  redraw_at(frame, next_);
}

std::optional<std::uint64_t> past_step(const Frame& frame, bool own) {
  if (own || frame.cursor == nullptr || !frame.history) return std::nullopt;
  return frame.cursor->step;
}

std::string age_text(std::uint64_t newest_step, std::optional<std::uint64_t> shown_step) {
  if (!shown_step) return "-";
  if (newest_step <= *shown_step) return "now";
  const std::uint64_t age = newest_step - *shown_step;
  return fmt::format("{} ago, step {}", files::counted(static_cast<std::int64_t>(age), "step"),
                     with_thousands(*shown_step));
}

void ImageTimeline::draw_play(const Frame& frame, const std::vector<std::uint64_t>& steps, bool own,
                              bool enough) {
  const char* const tip =
      own        ? kNoOwnHistory
      : playing_ ? "Stop here"
                 : "Play the pictures of the steps so far, from the step that is chosen or else the first";
  if (!icon_button(frame, "images.play", playing_ ? Icon::pause : Icon::play, tip, enough)) return;
  playing_ = !playing_;
  next_ = ImGui::GetTime() + kSecondsAPicture;
  if (playing_ && !frame.cursor->step) frame.cursor->step = steps.front();
}

/// The slider itself, with what it says of the pictures that are shown.
void ImageTimeline::draw_steps(const Frame& frame, const std::vector<std::uint64_t>& steps,
                               std::optional<std::uint64_t> shown_step, const Row& row) {
  const auto last = static_cast<float>(steps.size());
  // One place more than there are pictures: the newest, which is not kept.
  float place = row.past ? static_cast<float>(kept_index(steps, *row.past)) : last;
  std::string text = age_text(frame.snapshot.step, shown_step);
  if (row.past) {
    const std::uint64_t kept = steps.empty() ? 0 : steps[kept_index(steps, *row.past)];
    text = step_line(*row.past, kept);
    if (text_width(frame.fonts.text, text) > row.width - 24 * frame.scale)
      text = "step " + with_thousands(kept);
  }
  const char* const tip =
      row.own ? kNoOwnHistory
              : "Pictures of earlier steps. They are kept at steps that lie evenly on a logarithm, 64 MiB at "
                "the most.";
  const bool moved = slider(frame, "images.time", &place, 0, std::max(1.0f, last), text.c_str(), row.width,
                            tip, false, steps.empty() ? "now" : "step " + with_thousands(steps.back()));
  if (!moved || !row.enough) return;
  playing_ = false;
  const auto index = static_cast<std::size_t>(std::lround(place));
  if (index >= steps.size()) {
    frame.cursor->step.reset();
  } else {
    frame.cursor->step = steps[index];
  }
}

void ImageTimeline::draw(const Frame& frame, std::optional<std::uint64_t> shown_step, bool own) {
  if (height(frame) == 0) return;
  const float s = frame.scale;
  Cursor& cursor = *frame.cursor;
  const std::vector<std::uint64_t> steps = frame.history->steps();
  const bool enough = steps.size() > 1 && !own;
  if (!enough || !cursor.step) playing_ = false;
  ImGui::BeginDisabled(own);
  draw_play(frame, steps, own, enough);
  play(frame, steps);
  ImGui::SameLine(0, 8 * s);
  const std::optional<std::uint64_t> past = past_step(frame, own);
  const std::string rewind = text_of_rewind(frame, past, steps);
  float button = text_button_width(frame, "newest") + 8 * s;
  if (!rewind.empty()) button += text_button_width(frame, rewind) + 8 * s;
  const float width = std::max(40 * s, ImGui::GetContentRegionAvail().x - button - 8 * s);
  bool newest = !past;
  draw_steps(frame, steps, shown_step, {past, width, own, enough});
  ImGui::SameLine(0, 8 * s);
  if (!rewind.empty()) {
    if (text_button(frame, "images.rewind", rewind.c_str(), kRewindTip))
      frame.send(training::RewindTo{*past});
    ImGui::SameLine(0, 8 * s);
  }
  if (toggle(frame, "images.newest", "newest", &newest,
             own ? "Images of your own always follow the training."
                 : "Follow the training: always its newest pictures")) {
    if (newest) {
      cursor.step.reset();
    } else if (enough) {
      cursor.step = steps.back();
    }
  }
  ImGui::EndDisabled();
}

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

void PictureCurve::draw_none(const Frame& frame, float height, const char* why) {
  ImGui::BeginChild("images.no_curve", ImVec2(ImGui::GetContentRegionAvail().x, height));
  centered_text(frame, why);
  ImGui::EndChild();
}

void PictureCurve::draw(const Frame& frame, float height) {
  const char* const word = kPictureMetrics[static_cast<std::size_t>(metric_)];
  if (mean_.size() < 2) {
    return draw_none(frame, height,
                     figures_.moments().size() < 2 ? "The curve begins with the second picture that is kept."
                                                   : "The curve is being computed.");
  }
  const ImVec2 size(ImGui::GetContentRegionAvail().x, height);
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
