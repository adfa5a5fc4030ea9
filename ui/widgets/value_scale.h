#pragma once
// How a number is chosen: from positions of a slider, from typed text, and how it is shown. No drawing here.

#include <optional>
#include <string>
#include <string_view>

namespace warpscope::ui {

/// What a slider covers. Positions run from 0 (left) to 1.
struct ValueScale {
  double low = 0;
  double high = 1;
  bool logarithmic = false;  ///< equal ratios take equal room; `low` is then above 0
  bool zero = false;         ///< of a logarithmic one: its left end stands for 0
  bool integer = false;      ///< integers only
};

/// The value at a position, rounded to digits that a slider can tell apart: three of a logarithmic one, about
/// a thousandth of the range of a linear one.
double value_at(const ValueScale& scale, double position);

/// The position of a value, from 0 to 1 also for values beyond the slider's ends.
double position_of(const ValueScale& scale, double value);

/// Which numbers are valid.
struct ValueLimits {
  double least = 0;
  double most = 1;
  bool above_least = false;  ///< `least` itself is not valid
  bool below_most = false;   ///< `most` itself is not valid
  bool integer = false;
};

bool is_valid(const ValueLimits& limits, double value);

/// "a number above 0", "a whole number from 1 to 65,536", "a number from 0 to below 1". A limit of a million
/// and more goes without saying, unless `refused` is above it.
std::string range_text(const ValueLimits& limits, double refused = 0);

/// "0.005", "1e-08", "64" in four digits (integers with all of theirs); `zero_text` for 0 unless it is "".
std::string field_text(double value, bool integer, std::string_view zero_text);

/// The number that was typed; 0 for `zero_text`. Nothing if it is none.
std::optional<double> read_field(std::string_view text, std::string_view zero_text);

}  // namespace warpscope::ui
