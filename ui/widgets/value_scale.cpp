#include "ui/widgets/value_scale.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

// The part of a slider at its left end that stands for 0.
constexpr double kZeroPart = 0.04;
constexpr double kSaidLimit = 1e6;

double logarithmic_start(const ValueScale& scale) {
  return scale.zero ? kZeroPart : 0.0;
}

}  // namespace

double value_at(const ValueScale& scale, double position) {
  const double t = std::clamp(position, 0.0, 1.0);
  if (!scale.logarithmic) {
    const double value = scale.low + t * (scale.high - scale.low);
    const double unit =
        scale.integer ? 1.0 : std::pow(10.0, std::floor(std::log10((scale.high - scale.low) / 200)));
    return std::clamp(std::round(value / unit) * unit, scale.low, scale.high);
  }
  const double start = logarithmic_start(scale);
  if (t < start) return 0;
  const double value = scale.low * std::pow(scale.high / scale.low, (t - start) / (1 - start));
  const double unit = scale.integer ? 1.0 : std::pow(10.0, std::floor(std::log10(value) + 1e-9) - 2);
  return std::clamp(std::round(value / unit) * unit, scale.low, scale.high);
}

double position_of(const ValueScale& scale, double value) {
  if (!scale.logarithmic) return std::clamp((value - scale.low) / (scale.high - scale.low), 0.0, 1.0);
  if (value <= 0) return 0;
  const double start = logarithmic_start(scale);
  const double part = std::log(value / scale.low) / std::log(scale.high / scale.low);
  return start + (1 - start) * std::clamp(part, 0.0, 1.0);
}

bool is_valid(const ValueLimits& limits, double value) {
  return std::isfinite(value) && value >= limits.least && value <= limits.most &&
         (!limits.above_least || value > limits.least) && (!limits.below_most || value < limits.most) &&
         (!limits.integer || value == std::floor(value));
}

std::string range_text(const ValueLimits& limits, double refused) {
  const auto number = [&](double value) {
    return limits.integer ? with_thousands(value) : fmt::format("{:g}", value);
  };
  std::string text = limits.integer ? "a whole number" : "a number";
  if (limits.most >= kSaidLimit && !(refused > limits.most)) {
    return text + (limits.above_least ? " above " : " of at least ") + number(limits.least);
  }
  text += (limits.above_least ? " above " : " from ") + number(limits.least);
  return text + (limits.above_least ? " and " : " ") +
         (limits.below_most ? (limits.above_least ? "below " : "to below ")
                            : (limits.above_least ? "at most " : "to ")) +
         number(limits.most);
}

std::string field_text(double value, bool integer, std::string_view zero_text) {
  if (value == 0 && !zero_text.empty()) return std::string(zero_text);
  // Thousands in full: 10000 reads better than 1e+04.
  return integer ? fmt::format("{:.0f}", value) : fmt::format("{:.{}g}", value, value >= 1000 ? 7 : 4);
}

std::optional<double> read_field(std::string_view text, std::string_view zero_text) {
  if (!zero_text.empty() && text == zero_text) return 0.0;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

}  // namespace warpscope::ui
