#include "ui/panels/network/distribution_rows.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

using statistics::Counter;
using statistics::Distribution;
using statistics::kHalfOctaves;

constexpr double kZeroShare = 0.05;  ///< of the axis, for the band of zeros
/// The first half octave begins at 0, which no logarithm shows: it is drawn an octave wide.
constexpr double kFirstOctaves = 1;

std::uint32_t count_of(const Distribution& distribution, int counter) {
  return distribution.counters[static_cast<std::size_t>(counter)];
}

double low_end(int half) {
  const statistics::HalfOctave ends = statistics::half_octave(half);
  return half == 0 ? ends.high / std::exp2(kFirstOctaves) : ends.low;
}

/// Positive colours for densities up to `most`, transparent for none.
images::Rgba density_colour(float density, float most) {
  if (density <= 0) return {0, 0, 0, 0};
  return images::magnitude_colour(std::sqrt(density / most));
}

/// The highest density of numbers that are not 0: zeros may be many times as dense as any other.
float most_of(const std::vector<float>& densities, const ValueAxis& axis) {
  float most = 0;
  for (std::size_t i = 0; i < densities.size(); ++i) {
    if (axis.bands()[i].counter != statistics::kZeros) most = std::max(most, densities[i]);
  }
  return most;
}

/// The colour of each band.
std::vector<images::Rgba> band_colours(const std::vector<float>& densities, const ValueAxis& axis,
                                       float most) {
  std::vector<images::Rgba> colours;
  for (std::size_t i = 0; i < densities.size(); ++i) {
    const bool zeros = axis.bands()[i].counter == statistics::kZeros;
    colours.push_back(zeros ? zeros_colour(densities[i]) : density_colour(densities[i], most));
  }
  return colours;
}

/// The band of each of `count` pixels; the last band's beyond its end.
std::vector<std::size_t> band_of_pixels(const ValueAxis& axis, int count) {
  std::vector<std::size_t> bands;
  std::size_t band = 0;
  for (int i = 0; i < count; ++i) {
    const double position = (i + 0.5) / count;
    while (band + 1 < axis.bands().size() && axis.bands()[band].high <= position) ++band;
    bands.push_back(band);
  }
  return bands;
}

/// `held`: the numbers are in this format already, where what was lost to 0 cannot be told from other zeros.
std::string loss_line(std::string_view format, const Losses& losses, bool held) {
  const std::string infinite = share_text(losses.overflows), subnormal = share_text(losses.subnormals);
  if (held) return fmt::format("held in {}: {} infinite, {} subnormal", format, infinite, subnormal);
  return fmt::format("if {}: {} infinite, {} zero, {} subnormal", format, infinite, share_text(losses.zeros),
                     subnormal);
}

}  // namespace

ValueAxis::ValueAxis(std::span<const Distribution* const> distributions) {
  int least = kHalfOctaves, most = -1;
  bool negative = false, positive = false;
  for (const Distribution* const one : distributions) {
    for (int half = 0; half < kHalfOctaves; ++half) {
      const bool below = count_of(*one, statistics::kNegative + half) > 0;
      const bool above = count_of(*one, statistics::kPositive + half) > 0;
      if (!below && !above) continue;
      least = std::min(least, half);
      most = std::max(most, half);
      negative = negative || below;
      positive = positive || above;
    }
  }
  if (most < 0) least = most = -2 * statistics::kLeastExponent;  // nothing but zeros: around 1
  negative_ = negative;
  positive_ = positive || !negative;
  low_ = low_end(least);
  high_ = statistics::half_octave(most).high;
  const double sides = (negative_ ? 1 : 0) + (positive_ ? 1 : 0);
  octave_ = (1 - kZeroShare) / (sides * std::log2(high_ / low_));
  zero_half_ = kZeroShare / 2;
  zero_ = !negative_ ? zero_half_ : !positive_ ? 1 - zero_half_ : 0.5;
  const auto add = [&](int counter, double low, double high, double octaves) {
    bands_.push_back({static_cast<Counter>(counter), low, high, octaves});
  };
  const auto octaves = [](int half) { return std::log2(statistics::half_octave(half).high / low_end(half)); };
  for (int half = most; negative_ && half >= least; --half) {
    add(statistics::kNegative + half, position(-statistics::half_octave(half).high), position(-low_end(half)),
        octaves(half));
  }
  add(statistics::kZeros, zero_ - zero_half_, zero_ + zero_half_, 1);
  for (int half = least; positive_ && half <= most; ++half) {
    add(statistics::kPositive + half, position(low_end(half)), position(statistics::half_octave(half).high),
        octaves(half));
  }
}

/// How far from the middle of the zeros a magnitude stands.
double ValueAxis::magnitude_position(double magnitude) const {
  if (magnitude < low_) return zero_half_ * magnitude / low_;
  return zero_half_ + octave_ * std::log2(magnitude / low_);
}

double ValueAxis::position(double value) const {
  const double away = magnitude_position(std::fabs(value));
  return std::clamp(value < 0 ? zero_ - away : zero_ + away, 0.0, 1.0);
}

double ValueAxis::value(double position) const {
  const double away = std::fabs(position - zero_);
  if (away <= zero_half_) return 0;
  const double magnitude = low_ * std::exp2((away - zero_half_) / octave_);
  return position < zero_ ? -magnitude : magnitude;
}

std::vector<charts::Tick> ValueAxis::ticks(double apart) const {
  std::vector<charts::Tick> below, above;
  const int first = static_cast<int>(std::ceil(std::log10(low_)));
  const int last = static_cast<int>(std::floor(std::log10(high_)));
  const double decade = octave_ * std::log2(10.0);
  const int stride = std::max(1, static_cast<int>(std::ceil(apart / decade)));
  for (int exponent = last; exponent >= first; exponent -= stride) {
    const double value = std::pow(10.0, exponent);
    if (magnitude_position(value) < apart) break;
    const std::string label =
        exponent >= -3 && exponent <= 3 ? fmt::format("{:g}", value) : fmt::format("1e{}", exponent);
    if (negative_) below.push_back({-value, "-" + label});
    if (positive_) above.push_back({value, label});
  }
  std::vector<charts::Tick> ticks = below;
  ticks.push_back({0, "0"});
  ticks.insert(ticks.end(), above.rbegin(), above.rend());
  return ticks;
}

std::vector<float> densities(const Distribution& distribution, const ValueAxis& axis) {
  const auto elements = static_cast<double>(distribution.elements());
  std::vector<float> result;
  for (const ValueAxis::Band& band : axis.bands()) {
    const double count = count_of(distribution, band.counter);
    result.push_back(elements == 0 ? 0 : static_cast<float>(count / elements / band.octaves));
  }
  return result;
}

images::Rgba zeros_colour(double share) {
  if (share <= 0) return {0, 0, 0, 0};
  const auto level = static_cast<std::uint8_t>(std::lround(64 + 176 * std::min(share, 1.0)));
  return {level, level, level, 255};
}

std::vector<const Distribution*> over_moments(Moments moments, std::size_t layer, Quantity quantity) {
  std::vector<const Distribution*> result;
  for (const auto& moment : moments) {
    if (const Distribution* const one = moment->find(layer, quantity)) result.push_back(one);
  }
  return result;
}

std::vector<const Distribution*> over_layers(const DistributionMoment& moment, Quantity quantity) {
  std::vector<const Distribution*> result;
  for (const auto& [key, distribution] : moment.distributions) {
    if (key.second == quantity) result.push_back(&distribution);
  }
  return result;
}

std::size_t moment_at(Moments moments, double step) {
  const auto after = std::upper_bound(
      moments.begin(), moments.end(), step,
      [](double wanted, const auto& moment) { return wanted < static_cast<double>(moment->step); });
  return after == moments.begin() ? 0 : static_cast<std::size_t>(after - moments.begin()) - 1;
}

std::size_t nearest_moment(Moments moments, std::uint64_t step) {
  return training::nearest_of(moments.size(), step, [&](std::size_t i) { return moments[i]->step; });
}

Pixels heat_map(Moments moments, std::size_t layer, Quantity quantity, const ValueAxis& axis,
                const charts::Axis& x, int width, int height) {
  Pixels result{width, height, {}, 0};
  result.colours.assign(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), {0, 0, 0, 0});
  std::vector<std::vector<float>> columns;
  for (const auto& moment : moments) {
    const Distribution* const one = moment->find(layer, quantity);
    columns.push_back(one == nullptr ? std::vector<float>{} : densities(*one, axis));
    result.most = std::max(result.most, most_of(columns.back(), axis));
  }
  const std::vector<std::size_t> bands = band_of_pixels(axis, height);
  for (int column = 0; column < width; ++column) {
    const std::vector<float>& density =
        columns[moment_at(moments, x.to_value(static_cast<float>(column) + 0.5f))];
    if (density.empty()) continue;
    const std::vector<images::Rgba> colours = band_colours(density, axis, result.most);
    for (int row = 0; row < height; ++row) {
      result.colours[static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
                     static_cast<std::size_t>(column)] =
          colours[bands[static_cast<std::size_t>(height - 1 - row)]];
    }
  }
  return result;
}

Pixels strips(const DistributionMoment& moment, std::size_t layers, Quantity quantity, const ValueAxis& axis,
              int width) {
  Pixels result{width, static_cast<int>(layers), {}, 0};
  const std::vector<std::size_t> bands = band_of_pixels(axis, width);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const Distribution* const one = moment.find(layer, quantity);
    const std::vector<float> density =
        one == nullptr ? std::vector<float>(axis.bands().size()) : densities(*one, axis);
    const float most = most_of(density, axis);
    result.most = std::max(result.most, most);
    const std::vector<images::Rgba> colours = band_colours(density, axis, most);
    for (const std::size_t band : bands) result.colours.push_back(colours[band]);
  }
  return result;
}

std::vector<std::size_t> ridge_moments(Moments moments, std::size_t layer, Quantity quantity, int most) {
  std::vector<std::size_t> having;
  for (std::size_t i = 0; i < moments.size(); ++i) {
    if (moments[i]->find(layer, quantity) != nullptr) having.push_back(i);
  }
  const auto wanted = static_cast<std::size_t>(std::max(most, 1));
  if (having.size() <= wanted) return having;
  std::vector<std::size_t> result;
  for (std::size_t i = 1; i <= wanted; ++i) result.push_back(having[i * having.size() / wanted - 1]);
  return result;
}

std::string_view name_of(Figure figure) {
  constexpr std::array<std::string_view, kFigures> kFigureNames{
      "gradient norm", "update ratio", "dead channels", "dead units", "lost in FP16", "lost in BF16"};
  return kFigureNames[static_cast<std::size_t>(figure)];
}

std::string_view explanation_of(Figure figure) {
  constexpr std::array<std::string_view, kFigures> kTexts{
      "L2 norm of the gradient of a layer's weights and bias, before clipping and without the loss scale",
      "L2 norm of one step's update of a layer over that of its weights: about 0.001 is usual",
      "Channels of a ReLU that are 0 at every place for every sampled image: they learn nothing",
      "Places of a ReLU's channels that are 0 for every sampled image",
      "Numbers of the chosen kind that FP16 makes infinite, 0 or subnormal; in another precision: would make",
      "Numbers of the chosen kind that BF16 makes infinite, 0 or subnormal; in another precision: would "
      "make"};
  return kTexts[static_cast<std::size_t>(figure)];
}

bool is_share(Figure figure) {
  return figure != Figure::gradient_norm && figure != Figure::update_ratio;
}

std::optional<double> figure_of(const DistributionMoment& moment, std::size_t layer, Figure figure,
                                Quantity quantity) {
  const auto lost = [&](Losses (*losses)(const Distribution&)) -> std::optional<double> {
    const Distribution* const one = moment.find(layer, quantity);
    if (one == nullptr) return std::nullopt;
    const Losses found = losses(*one);
    return found.overflows + found.zeros + found.subnormals;
  };
  const auto part = [](std::int64_t some, std::int64_t all) {
    return all == 0 ? 0.0 : static_cast<double>(some) / static_cast<double>(all);
  };
  const auto dead = moment.dead.find(layer);
  switch (figure) {
    case Figure::gradient_norm: {
      const Distribution* const gradient = moment.find(layer, Quantity::gradients);
      return gradient == nullptr ? std::nullopt : std::optional(gradient->norm());
    }
    case Figure::update_ratio:
      return moment.update_ratio(layer);
    case Figure::dead_channels:
      if (dead == moment.dead.end()) return std::nullopt;
      return part(dead->second.dead_channels, dead->second.channels);
    case Figure::dead_units:
      if (dead == moment.dead.end()) return std::nullopt;
      return part(dead->second.dead_units, dead->second.units);
    case Figure::fp16_lost:
      return lost(fp16_losses);
    case Figure::bf16_lost:
      return lost(bf16_losses);
  }
  return std::nullopt;
}

Losses fp16_losses(const Distribution& distribution) {
  return {distribution.share(statistics::kFp16Overflows) + distribution.share(statistics::kInfinities),
          distribution.share(statistics::kFp16Zeros), distribution.share(statistics::kFp16Subnormals)};
}

Losses bf16_losses(const Distribution& distribution) {
  return {distribution.share(statistics::kBf16Overflows) + distribution.share(statistics::kInfinities),
          distribution.share(statistics::kBf16Zeros), distribution.share(statistics::kBf16Subnormals)};
}

std::string share_text(double share) {
  const double percent = 100 * share;
  if (percent == 0) return "0 %";
  if (percent < 0.01) return "< 0.01 %";
  if (percent < 1) return fmt::format("{:.2f} %", percent);
  return fmt::format("{:.1f} %", percent);
}

std::string layer_name(const models::Model& model, std::size_t layer) {
  return layer == 0 ? (model.reads_text() ? "text" : "image") : model.layers.at(layer - 1).name;
}

std::string tip_of(const DistributionMoment& moment, std::size_t layer, Quantity quantity,
                   core::Precision precision) {
  std::string text = fmt::format("step {}", with_thousands(moment.step));
  if (quantity == Quantity::updates) {
    text += moment.update_steps == 1
                ? ", the change by one step"
                : fmt::format(", the mean change by {} steps", with_thousands(moment.update_steps));
  }
  const Distribution* const one = moment.find(layer, quantity);
  if (one == nullptr) return text + fmt::format(": no {}", training::name_of(quantity));
  text += fmt::format("\n{}, norm {:.3g}\nmean {:.3g}, deviation {:.3g}\nfrom {:.3g} to {:.3g}",
                      files::counted(static_cast<std::int64_t>(one->elements()), "number"), one->norm(),
                      one->mean(), one->deviation(), one->least, one->most);
  std::string quantiles;
  for (const double part : {0.05, 0.25, 0.5, 0.75, 0.95}) {
    const std::optional<double> value = statistics::quantile(*one, part);
    if (value) quantiles += fmt::format("{}{:.2g}", quantiles.empty() ? "" : ", ", *value);
  }
  if (!quantiles.empty()) text += fmt::format("\nquantiles 5, 25, 50, 75, 95 %:\n{}", quantiles);
  text += fmt::format("\n{} zeros", share_text(one->share(statistics::kZeros)));
  const std::uint32_t infinite = one->counters[statistics::kInfinities],
                      nan = one->counters[statistics::kNans];
  if (infinite + nan > 0) text += fmt::format(", {} infinite, {} NaN", infinite, nan);
  if (const auto dead = moment.dead.find(layer);
      dead != moment.dead.end() && quantity == Quantity::activations) {
    text += fmt::format("\ndead: {} of {}, {} of {}", dead->second.dead_channels,
                        files::counted(dead->second.channels, "channel"),
                        with_thousands(dead->second.dead_units), files::counted(dead->second.units, "unit"));
  }
  const bool narrow = quantity == Quantity::activations;
  text.append("\n").append(
      loss_line("FP16", fp16_losses(*one), narrow && precision == core::Precision::fp16));
  text.append("\n").append(
      loss_line("BF16", bf16_losses(*one), narrow && precision == core::Precision::bf16));
  return text;
}

}  // namespace warpscope::ui
