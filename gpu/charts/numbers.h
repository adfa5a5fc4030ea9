#pragma once
// Numbers as people read them.

#include <cstdint>
#include <string>

namespace warpscope::charts {

/// "412,000", "-1,024".
std::string with_thousands(std::int64_t value);
inline std::string with_thousands(int value) {
  return with_thousands(std::int64_t{value});
}
inline std::string with_thousands(std::uint64_t value) {
  return with_thousands(static_cast<std::int64_t>(value));
}
/// "1,234.50" with `decimals` digits after the point; "nan" and "inf" in words.
std::string with_thousands(double value, int decimals = 0);
/// `digits` significant digits with an SI prefix: 412000 -> "412 k", 0.0021 -> "2.10 m"; 0 -> "0 ". Append
/// the unit.
std::string si_number(double value, int digits = 3);
/// "1.20 GiB", "812 MiB", "64 B".
std::string bytes_text(double bytes);
/// "0:12", "12:07", "1:02:03": to the nearest second.
std::string clock_text(double seconds);
/// `digits` digits after the point below 1, `digits` significant ones above, an exponent only below 0.0001
/// and from 1e6: "0.04213", "12.500", "1.25e-07".
std::string compact_number(double value, int digits = 5);

}  // namespace warpscope::charts
