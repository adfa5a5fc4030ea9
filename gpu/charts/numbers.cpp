#include "gpu/charts/numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace warpscope::charts {
namespace {

// Digits after the point that give `digits` significant ones.
int decimals_for(double magnitude, int digits) {
  const int before = magnitude > 0 ? static_cast<int>(std::floor(std::log10(magnitude))) + 1 : 1;
  return std::max(0, digits - before);
}

// A comma before each group of three digits ahead of the point.
std::string group_thousands(const std::string& digits) {
  const std::size_t first = digits.find_first_of("0123456789");
  const std::size_t point = std::min(digits.find('.'), digits.size());
  std::string grouped;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > first && i < point && (point - i) % 3 == 0) grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

std::string not_finite(double value) {
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

}  // namespace

std::string with_thousands(std::int64_t value) {
  return group_thousands(fmt::format("{}", value));
}

std::string with_thousands(double value, int decimals) {
  if (!std::isfinite(value)) return not_finite(value);
  return group_thousands(fmt::format("{:.{}f}", value, decimals));
}

std::string si_number(double value, int digits) {
  if (!std::isfinite(value)) return not_finite(value) + " ";
  if (value == 0) return "0 ";
  static constexpr std::array<std::string_view, 9> kPrefixes{"p", "n", "\xC2\xB5", "m", "",
                                                             "k", "M", "G",        "T"};
  // Rounding first: 999.9 with three digits is 1.00 k.
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - digits + 1);
  const double rounded = std::round(value / unit) * unit;
  const int group =
      std::clamp(static_cast<int>(std::floor(std::log10(std::abs(rounded) * (1 + 1e-12)) / 3)), -4, 4);
  const double scaled = rounded / std::pow(1000.0, group);
  return fmt::format("{:.{}f} {}", scaled, decimals_for(std::abs(scaled) * (1 + 1e-12), digits),
                     kPrefixes[static_cast<std::size_t>(group + 4)]);
}

std::string bytes_text(double bytes) {
  static constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 1023.5 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : decimals_for(std::abs(bytes), 3), kUnits[unit]);
}

std::string clock_text(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  const auto whole = static_cast<std::int64_t>(std::round(std::max(0.0, seconds)));
  const std::int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string compact_number(double value, int digits) {
  if (!std::isfinite(value)) return not_finite(value);
  const double magnitude = std::abs(value);
  if (magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e6)) {
    return fmt::format("{:.{}e}", value, std::max(0, digits - 3));
  }
  return fmt::format("{:.{}f}", value, magnitude < 1 ? digits : decimals_for(magnitude, digits));
}

}  // namespace warpscope::charts
