#include "gpu/charts/axis.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "gpu/charts/numbers.h"

namespace warpscope::charts {
namespace {

constexpr float kFarOutside = 1e6f;

bool has_place(double value, bool logarithmic) {
  return std::isfinite(value) && (!logarithmic || value > 0);
}

// The smallest of 1, 2, 5, 10, ... times a power of ten that is not below `step`.
double round_step(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (step <= factor * power * (1 + 1e-9)) return factor * power;
  }
  return 10 * power;
}

double time_step(double step) {
  static constexpr std::array kSteps{1.0,   2.0,   5.0,   10.0,   15.0,   30.0,   60.0,    120.0,
                                     300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14400.0, 28800.0};
  if (step < 1) return round_step(step);
  for (const double candidate : kSteps) {
    if (step <= candidate) return candidate;
  }
  return 86400 * round_step(step / 86400);
}

std::string tick_label(double value, double step, Unit unit) {
  if (unit == Unit::count) return with_thousands(value);
  if (unit == Unit::seconds && step >= 1) return clock_text(value);
  const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 9);
  if (unit == Unit::seconds) return fmt::format("{:.{}f} s", value, decimals);
  if (decimals <= 5) return with_thousands(value, decimals);
  // With an exponent, as many digits as reach down to the step.
  const double magnitude = std::max(std::abs(value), step);
  const int digits =
      static_cast<int>(std::round(std::floor(std::log10(magnitude)) - std::floor(std::log10(step))));
  return fmt::format("{:.{}e}", value, std::clamp(digits, 0, 9));
}

std::vector<Tick> linear_ticks(const Axis& axis, int wanted, Unit unit) {
  std::vector<Tick> result;
  double step = (axis.high - axis.low) / std::max(1, wanted);
  if (!(step > 0) || !std::isfinite(step)) return result;
  step = unit == Unit::seconds ? time_step(step) : round_step(step);
  if (unit == Unit::count) step = std::max(1.0, step);
  const double last = std::floor(axis.high / step + 1e-9);
  for (double i = std::ceil(axis.low / step - 1e-9); i <= last; ++i) {
    const double value = i * step + 0.0;  // -0 becomes 0
    result.push_back({value, tick_label(value, step, unit)});
  }
  return result;
}

bool is_power_of_ten(double value) {
  const double power = std::log10(value);
  return std::abs(power - std::round(power)) < 1e-9;
}

std::string log_label(double value) {
  if (value >= 1e5 || value < 0.9e-4) return fmt::format("{:.0e}", value);
  return value >= 1 ? with_thousands(value) : fmt::format("{:g}", value);
}

std::vector<Tick> log_ticks(const Axis& axis, int wanted, Unit unit) {
  const double decades = std::log10(axis.high / axis.low);
  if (!(decades > 0) || !std::isfinite(decades)) return {};
  if (decades < 0.5) return linear_ticks(axis, wanted, unit);
  std::vector<Tick> result;
  // From every third power of ten or so to 1, 2, 5, as room allows.
  const int stride = std::max(1, static_cast<int>(std::ceil(decades / wanted)));
  const bool between = stride == 1 && decades * 1.5 <= wanted;
  for (int power = static_cast<int>(std::floor(std::log10(axis.low))); std::pow(10.0, power) <= axis.high;
       ++power) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10.0, power);
      const bool wanted_here = factor == 1 ? power % stride == 0 : between;
      if (!wanted_here || value < axis.low * (1 - 1e-9) || value > axis.high * (1 + 1e-9)) continue;
      result.push_back({value, log_label(value)});
    }
  }
  return result;
}

}  // namespace

PixelScale::PixelScale(const Axis& axis)
    : low_(axis.low),
      range_(axis.logarithmic ? std::log(axis.high / axis.low) : axis.high - axis.low),
      pixel_low_(static_cast<double>(axis.pixel_low)),
      pixels_(static_cast<double>(axis.pixel_high - axis.pixel_low)),
      outside_(axis.pixel_low < axis.pixel_high ? -kFarOutside : kFarOutside),
      logarithmic_(axis.logarithmic) {}

bool PixelScale::shows(double value) const {
  return has_place(value, logarithmic_);
}

float PixelScale::to_pixel(double value) const {
  if (!shows(value)) return outside_;
  const double t = (logarithmic_ ? std::log(value / low_) : value - low_) / range_;
  return static_cast<float>(std::clamp(pixel_low_ + t * pixels_, -static_cast<double>(kFarOutside),
                                       static_cast<double>(kFarOutside)));
}

bool Axis::shows(double value) const {
  return has_place(value, logarithmic);
}

float Axis::to_pixel(double value) const {
  return PixelScale(*this).to_pixel(value);
}

double Axis::to_value(float pixel) const {
  const double t = static_cast<double>(pixel - pixel_low) / static_cast<double>(pixel_high - pixel_low);
  return logarithmic ? low * std::pow(high / low, t) : low + t * (high - low);
}

std::vector<Tick> ticks(const Axis& axis, int wanted, Unit unit) {
  return axis.logarithmic ? log_ticks(axis, wanted, unit) : linear_ticks(axis, wanted, unit);
}

std::vector<bool> labels_that_fit(const Axis& axis, std::span<const Tick> ticks,
                                  std::span<const float> widths, float gap) {
  std::vector<bool> written(ticks.size(), false);
  const auto overlap = [&](std::size_t a, std::size_t b) {
    const float distance = std::abs(axis.to_pixel(ticks[a].value) - axis.to_pixel(ticks[b].value));
    return distance < (widths[a] + widths[b]) / 2 + gap;
  };
  const auto add = [&](bool powers_of_ten) {
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      if (powers_of_ten && !is_power_of_ten(ticks[i].value)) continue;
      bool free = true;
      for (std::size_t j = 0; j < ticks.size(); ++j) free = free && !(written[j] && overlap(i, j));
      if (free) written[i] = true;
    }
  };
  if (axis.logarithmic) add(true);
  add(false);
  return written;
}

std::string value_text(double value, Unit unit) {
  switch (unit) {
    case Unit::count:
      return with_thousands(value);
    case Unit::seconds:
      return value < 60 ? fmt::format("{:.1f} s", value) : clock_text(value);
    case Unit::value:
      return compact_number(value);
  }
  return {};
}

}  // namespace warpscope::charts
