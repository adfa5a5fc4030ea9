#pragma once
// Axes: from values to pixels and back, and where the ticks stand.

#include <span>
#include <string>
#include <vector>

namespace warpscope::charts {

/// What the numbers of an axis are, for their labels.
enum class Unit { count, seconds, value };

/// One axis: `low` stands at `pixel_low`, `high` at `pixel_high` (for y the larger pixel). On a logarithmic
/// axis equal ratios take equal room; low and high must then be positive.
struct Axis {
  double low = 0;
  double high = 1;
  float pixel_low = 0;
  float pixel_high = 1;
  bool logarithmic = false;

  /// Pixel of a value; far outside for values that a logarithmic axis cannot show.
  float to_pixel(double value) const;
  double to_value(float pixel) const;
  /// True if the value has a place on this kind of axis.
  bool shows(double value) const;
};

/// Axis::to_pixel() of many values: what they share is computed once.
class PixelScale {
 public:
  explicit PixelScale(const Axis& axis);

  float to_pixel(double value) const;
  bool shows(double value) const;

 private:
  double low_, range_;  // on a logarithmic axis the range is that of the logarithms
  double pixel_low_, pixels_;
  float outside_;
  bool logarithmic_;
};

struct Tick {
  double value = 0;
  std::string label;
};

/// Ticks at round values in [low, high]: steps of 1, 2 or 5 times a power of ten (of seconds, minutes and
/// hours for Unit::seconds), at most about `wanted` of them. On logarithmic axes powers of ten, with 2 and 5
/// between them where there is room, and linear ticks where the range is less than a factor of three. Labels
/// have as many digits as tell neighbours apart.
std::vector<Tick> ticks(const Axis& axis, int wanted, Unit unit);

/// Which labels of `ticks` can be written, each centred at its tick, with at least `gap` pixels between two.
/// `widths` are those of the labels in pixels. Powers of ten of a logarithmic axis go first, then the lower
/// value.
std::vector<bool> labels_that_fit(const Axis& axis, std::span<const Tick> ticks,
                                  std::span<const float> widths, float gap);

/// `value` as it is read out on an axis of `unit`: "12,345", "1:02", "0.04213".
std::string value_text(double value, Unit unit);

}  // namespace warpscope::charts
