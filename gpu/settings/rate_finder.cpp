#include "gpu/settings/rate_finder.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "gpu/core/require.h"
#include "gpu/files/file.h"

namespace warpscope::training {
namespace {

/// Smaller changes of the smoothed loss, as a share of it, are taken for noise.
constexpr double kLeastChange = 0.02;

/// A fall of the smoothed loss by fewer of its standard deviations is taken for noise too.
constexpr double kLeastDeviations = 6;

/// A rise by more of them is none of hard images, which a sweep meets a hundred times over.
constexpr double kBlowUpDeviations = 10;

constexpr int kLeastSteps = 20;
constexpr int kMostSteps = 100'000;
constexpr double kMostSmoothing = 0.98;

/// Steps over which smoothing averages.
int memory_of(const RateFinderOptions& options) {
  return static_cast<int>(std::lround(1 / (1 - options.smoothing)));
}

/// Points at the start over which smoothing has little to average: no suggestion is taken from these.
std::size_t settling(const RateFinderOptions& options) {
  return static_cast<std::size_t>(std::max(1, std::min(memory_of(options), options.steps / 10)));
}

/// The standard deviation of the smoothed loss, were the losses independent, from their variance.
double smoothed_deviation(double variance, double smoothing) {
  return std::sqrt(variance * (1 - smoothing) / (1 + smoothing));
}

std::size_t best_of(const std::vector<RatePoint>& points) {
  const auto lowest = std::ranges::min_element(
      points, [](const RatePoint& a, const RatePoint& b) { return a.smoothed < b.smoothed; });
  return static_cast<std::size_t>(lowest - points.begin());
}

/// s_0 ... s_best, smoothed from the end to the start.
std::vector<double> descent(const std::vector<RatePoint>& points, std::size_t best, double smoothing) {
  std::vector<double> curve(best + 1);
  double average = 0;
  double weight = 1;
  for (std::size_t i = best + 1; i-- > 0;) {
    average = smoothing * average + (1 - smoothing) * points[i].smoothed;
    weight *= smoothing;
    curve[i] = average / (1 - weight);
  }
  return curve;
}

/// The index in [from, curve.size() - 2] at which the curve falls most; `from` is at least 1.
std::size_t steepest(const std::vector<double>& curve, std::size_t from) {
  std::size_t found = from;
  double least = 0;
  for (std::size_t i = from; i + 1 < curve.size(); ++i) {
    const double change = curve[i + 1] - curve[i - 1];
    if (change >= least) continue;
    least = change;
    found = i;
  }
  return found;
}

/// Standard deviation of the smoothed loss up to `best`, were the losses independent. Taken from the
/// differences between neighbours, which a fall of the loss hardly touches.
double noise(const std::vector<RatePoint>& points, std::size_t best, double smoothing) {
  double squares = 0;
  for (std::size_t i = 0; i < best; ++i) {
    const double difference = points[i + 1].loss - points[i].loss;
    squares += difference * difference;
  }
  const double variance = squares / (2 * static_cast<double>(std::max<std::size_t>(best, 1)));
  return smoothed_deviation(variance, smoothing);
}

double share(double change, double of) {
  return of != 0 ? change / std::abs(of) : 0;
}

/// Why there is no suggestion, or "".
std::string degenerate(const RateFinderOptions& options, const std::vector<RatePoint>& points) {
  const std::size_t first = settling(options);
  if (points.empty()) {
    return "the loss is not finite before any update, so no rate is to blame: go back to weights with a "
           "finite loss";
  }
  const std::size_t best = best_of(points);
  const bool rose =
      share(points.back().smoothed - points[best].smoothed, points[best].smoothed) >= kLeastChange;
  // Soon after smoothing has settled it cannot be told whether the loss fell.
  if (points.size() <= first || (points.size() <= 2 * first && rose)) {
    return fmt::format("the loss blew up near a rate of {:.3g} already: start from a rate lower than {:g}",
                       points.back().rate, options.low);
  }
  const double start = points[first].smoothed;
  const double fell = share(start - points[best].smoothed, start);
  const double least = kLeastDeviations * noise(points, best, options.smoothing);
  const bool fell_a_little = best > first && fell >= kLeastChange && start - points[best].smoothed < least;
  // Whether it rose from the start is seen where the rate is still low; later on it may have blown up.
  const std::size_t early = std::min(2 * first, points.size() - 1);
  const bool rose_later = best <= first && rose &&
                          points[early].smoothed - points[first - 1].smoothed <=
                              kLeastDeviations * noise(points, early, options.smoothing);
  if (fell_a_little || rose_later) {
    return "the loss falls by no more than its noise: take more images a step, or try from new weights";
  }
  if (best > first && fell >= kLeastChange) return "";
  if (rose) {
    return fmt::format(
        "the loss rose from the start, lowest at a rate of {:.3g}: start from a rate lower than {:g}",
        points[best].rate, options.low);
  }
  return fmt::format("the loss hardly changed up to a rate of {:.3g}: end at a rate higher than {:g}",
                     points.back().rate, options.high);
}

}  // namespace

void check(const RateFinderOptions& options) {
  core::require(std::isfinite(options.low) && options.low > 0 && std::isfinite(options.high) &&
                    options.high > options.low,
                "a range test from rate {} to {} is not possible; valid: from a rate above 0 to a higher one",
                options.low, options.high);
  core::require(options.steps >= kLeastSteps && options.steps <= kMostSteps,
                "a range test of {} steps is not possible; valid: from {} to {}", options.steps, kLeastSteps,
                kMostSteps);
  core::require(options.smoothing >= 0 && options.smoothing <= kMostSmoothing,
                "a smoothing of {} of the range test is not valid; valid: from 0 to {}", options.smoothing,
                kMostSmoothing);
  core::require(std::isfinite(options.blow_up) && options.blow_up > 1,
                "a blow-up factor of {} of the range test is not valid; valid: a number above 1",
                options.blow_up);
}

RateFinder::RateFinder(const RateFinderOptions& options) : options_(options) {
  check(options);
}

double RateFinder::next_rate() const {
  const int last = options_.steps - 1;
  const double part = static_cast<double>(std::min(steps_done_, last)) / last;
  return options_.low * std::pow(options_.high / options_.low, part);
}

void RateFinder::note(double loss) {
  if (done_) return;
  const double rate = next_rate();
  ++steps_done_;
  if (!std::isfinite(loss)) {
    done_ = true;
    return;
  }
  average_ = options_.smoothing * average_ + (1 - options_.smoothing) * loss;
  const double smoothed = average_ / (1 - std::pow(options_.smoothing, steps_done_));
  if (!points_.empty()) falls_ += std::pow(std::max(0.0, points_.back().loss - loss), 2);
  points_.push_back({rate, loss, smoothed});
  const std::size_t first = settling(options_);
  if (points_.size() >= first) best_ = points_.size() == first ? smoothed : std::min(best_, smoothed);
  done_ = steps_done_ == options_.steps || (points_.size() >= 2 * first && blew_up());
}

bool RateFinder::blew_up() const {
  const double least = options_.blow_up * best_, smoothed = points_.back().smoothed;
  const double deviation =
      smoothed_deviation(falls_ / static_cast<double>(points_.size() - 1), options_.smoothing);
  if (smoothed <= least || smoothed - best_ <= kBlowUpDeviations * deviation) return false;
  const auto last = std::min<std::ptrdiff_t>(memory_of(options_), std::ssize(points_));
  return 2 * std::count_if(points_.end() - last, points_.end(),
                           [&](const RatePoint& point) { return point.loss > least; }) >=
         last;
}

RateFinderResult RateFinder::result() const {
  RateFinderResult result{points_, std::nullopt, std::nullopt, ""};
  if (!done_) {
    result.text =
        fmt::format("{} of {} steps done", files::grouped(steps_done_), files::grouped(options_.steps));
    return result;
  }
  result.text = degenerate(options_, points_);
  if (!result.text.empty()) return result;
  const std::size_t best = best_of(points_);
  const std::vector<double> curve = descent(points_, best, options_.smoothing);
  result.suggested = points_[steepest(curve, settling(options_))].rate;
  result.cautious = points_[best].rate / 10;
  result.text = fmt::format(
      "the loss falls fastest at a rate of {:.3g} and is lowest at {:.3g}, a tenth of which is {:.3g}",
      *result.suggested, points_[best].rate, *result.cautious);
  return result;
}

}  // namespace warpscope::training
