#include "ui/panels/pictures/confusion_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "ui/panels/selection_chip.h"
#include "ui/text/numbers.h"
#include "ui/widgets/theme.h"

namespace warpscope::ui {
namespace {

double ratio(std::uint64_t part, std::uint64_t total) {
  return total == 0 ? std::numeric_limits<double>::quiet_NaN()
                    : static_cast<double>(part) / static_cast<double>(total);
}

std::string quoted(const HeldOut& held_out, int index) {
  return fmt::format("\u201c{}\u201d", held_out.class_name(index));
}

}  // namespace

double ConfusionFigures::share(int truth, int predicted) const {
  const double part = ratio(count(truth, predicted), truths[static_cast<std::size_t>(truth)]);
  return std::isnan(part) ? 0 : part;
}

double ConfusionFigures::recall(int index) const {
  return ratio(count(index, index), truths[static_cast<std::size_t>(index)]);
}

double ConfusionFigures::precision(int index) const {
  return ratio(count(index, index), predictions[static_cast<std::size_t>(index)]);
}

double ConfusionFigures::accuracy() const {
  return ratio(right, total);
}

double ConfusionFigures::largest_error() const {
  double largest = 0;
  for (int truth = 0; truth < classes; ++truth) {
    for (int predicted = 0; predicted < classes; ++predicted) {
      if (truth != predicted) largest = std::max(largest, share(truth, predicted));
    }
  }
  return largest;
}

ConfusionFigures confusion_figures(const training::Evaluation& evaluation) {
  ConfusionFigures figures;
  figures.classes = evaluation.classes;
  figures.counts = evaluation.confusion;
  const auto classes = static_cast<std::size_t>(evaluation.classes);
  figures.truths.assign(classes, 0);
  figures.predictions.assign(classes, 0);
  for (std::size_t truth = 0; truth < classes; ++truth) {
    for (std::size_t predicted = 0; predicted < classes; ++predicted) {
      const std::uint32_t count = figures.counts[truth * classes + predicted];
      figures.truths[truth] += count;
      figures.predictions[predicted] += count;
      figures.total += count;
      if (truth == predicted) figures.right += count;
    }
  }
  return figures;
}

ConfusionFigures confusion_figures(const HeldOut& held_out, const std::vector<std::int64_t>& selected) {
  if (selected.empty()) return confusion_figures(*held_out.evaluation);
  training::Evaluation part;
  part.classes = held_out.evaluation->classes;
  const auto classes = static_cast<std::size_t>(part.classes);
  part.confusion.assign(classes * classes, 0);
  for (int image = 0; image < held_out.count(); ++image) {
    const auto test_image = held_out.test_image(image);
    if (!test_image || !is_selected(selected, *test_image)) continue;
    ++part.confusion[static_cast<std::size_t>(held_out.truth(image)) * classes +
                     static_cast<std::size_t>(held_out.predicted(image))];
  }
  return confusion_figures(part);
}

std::string percent_text(double part) {
  if (std::isnan(part)) return "-";
  // 99.97 % must not be rounded to 100 %, nor 0.03 % to 0 %.
  const double percent = 100 * part;
  if (percent < 100 && percent > 99.9) return "99.9 %";
  if (percent > 0 && percent < 0.1) return "< 0.1 %";
  return percent == 100 || percent == 0 ? fmt::format("{:.0f} %", percent) : fmt::format("{:.1f} %", percent);
}

std::string cell_text(const ConfusionFigures& figures, const HeldOut& held_out, int truth, int predicted) {
  const std::uint64_t all = figures.truths[static_cast<std::size_t>(truth)];
  const std::string name = quoted(held_out, truth);
  if (all == 0) return fmt::format("There are no {}s of {} among these.", held_out.thing(), name);
  const std::uint64_t count = figures.count(truth, predicted);
  const std::string what =
      truth == predicted ? "classified right" : "taken for " + quoted(held_out, predicted);
  if (all == 1)
    return fmt::format("The only {} of {} was {}{}.", held_out.thing(), name, count == 1 ? "" : "not ", what);
  if (count == 0)
    return fmt::format("None of the {} {}s of {} was {}.", with_thousands(all), held_out.thing(), name, what);
  return fmt::format("{} of {} {}s of {} {} {}, {}.", with_thousands(count), with_thousands(all),
                     held_out.thing(), name, count == 1 ? "was" : "were", what,
                     percent_text(figures.share(truth, predicted)));
}

std::string class_text(const ConfusionFigures& figures, const HeldOut& held_out, int index) {
  const auto at = static_cast<std::size_t>(index);
  const std::string name = quoted(held_out, index);
  const std::string right = with_thousands(std::uint64_t{figures.count(index, index)});
  const std::string recall =
      figures.truths[at] == 0
          ? fmt::format("Recall: unknown, there are no {}s of {} among these.", held_out.thing(), name)
          : fmt::format("Recall {}: so many of the {} {}s of {} were classified right ({}).",
                        percent_text(figures.recall(index)), with_thousands(figures.truths[at]),
                        held_out.thing(), name, right);
  const std::string precision =
      figures.predictions[at] == 0
          ? fmt::format("Precision: unknown, no {} was taken for {}.", held_out.thing(), name)
          : fmt::format("Precision {}: so many of the {} {}s taken for {} are right ({}).",
                        percent_text(figures.precision(index)), with_thousands(figures.predictions[at]),
                        held_out.thing(), name, right);
  return recall + "\n" + precision;
}

images::Rgba share_colour(double share) {
  return images::magnitude_colour(static_cast<float>(share));
}

images::Rgba error_colour(double share, double scale) {
  // Samples of inferno (S. van der Walt, N. Smith, 2015), evenly spaced.
  constexpr std::array<images::Rgba, 9> kAnchors{{{0, 0, 4, 255},
                                                  {27, 12, 65, 255},
                                                  {74, 12, 107, 255},
                                                  {120, 28, 109, 255},
                                                  {165, 44, 96, 255},
                                                  {207, 68, 70, 255},
                                                  {237, 105, 37, 255},
                                                  {251, 155, 6, 255},
                                                  {247, 209, 61, 255}}};
  const double at = std::clamp(share / scale, 0.0, 1.0) * (kAnchors.size() - 1);
  const auto index = std::min(static_cast<std::size_t>(at), kAnchors.size() - 2);
  const double part = at - static_cast<double>(index);
  const images::Rgba from = kAnchors[index], to = kAnchors[index + 1];
  const auto mix = [part](std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(std::lround(a + part * (b - a)));
  };
  return {mix(from.r, to.r), mix(from.g, to.g), mix(from.b, to.b), 255};
}

double error_scale(const ConfusionFigures& figures) {
  constexpr double kLeast = 0.01;
  const double largest = std::max(kLeast, figures.largest_error());
  const double power = std::pow(10.0, std::floor(std::log10(largest) + 1e-9));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (largest <= step * power * (1 + 1e-9)) return step * power;
  }
  return std::min(1.0, 10 * power);
}

images::Rgba cell_colour(const ConfusionFigures& figures, double scale, int truth, int predicted) {
  const double share = figures.share(truth, predicted);
  return truth == predicted ? share_colour(share) : error_colour(share, scale);
}

bool black_reads_better(images::Rgba background) {
  const ImU32 back = IM_COL32(background.r, background.g, background.b, 255);
  return contrast(IM_COL32_BLACK, back) > contrast(IM_COL32_WHITE, back);
}

}  // namespace warpscope::ui
