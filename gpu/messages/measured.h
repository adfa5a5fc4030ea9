#pragma once
// Whether two medians were measured alike, and whether they differ by more than their noise: the one rule by which
// figures of different times are held against each other.

#include <cstdint>
#include <string>
#include <vector>

namespace warpscope::training {

/// A median of measurements that were made alike.
struct Measured {
  double median = 0;
  double spread = 0;  ///< from the first quartile to the third
  std::uint64_t samples = 0;
};

/// All 0 if there are no samples.
Measured measured_of(std::vector<double> samples);

/// What the ops that were not switched took in the steps behind two medians. They do the same work in both, so if they
/// took longer, something else used the machine or its clocks were lower.
struct Control {
  double before = 0;          ///< microseconds of all of them in a step, a median
  double now = 0;             ///< of the same ops
  std::uint64_t samples = 0;  ///< steps behind each of the two; 0: there are no such ops

  bool operator==(const Control&) const = default;
};

/// The one that tells more against a comparison.
Control worse_of(const Control& a, const Control& b);

enum class Difference : std::uint8_t {
  unknown,  ///< they were not measured alike
  noise,    ///< the two cannot be told apart
  less,     ///< the second is smaller
  more      ///< the second is larger
};

/// Why a difference is unknown.
enum class Doubt : std::uint8_t {
  none,
  few_samples,  ///< of one of the two
  no_control,   ///< all ops were switched, or the others take less than kLeastControl
  few_steps,    ///< behind the control
  other_load,   ///< the control has changed by more than kControlTolerance
  wide_spread,  ///< the samples spread so far that even a difference beyond kControlTolerance is noise
};

struct Compared {
  Difference difference = Difference::unknown;
  Doubt doubt = Doubt::none;
};

/// Fewer samples tell a median badly.
inline constexpr std::uint64_t kEnoughSamples = 9;
/// By which the control may have changed, as a part of the smaller of its two times.
inline constexpr double kControlTolerance = 0.10;
/// Microseconds: the events of a GPU tell half of one, which is the tolerance of this.
inline constexpr double kLeastControl = 5;

/// For `now` to `before`. There is a difference where both have kEnoughSamples and the control held, the middle halves
/// of the samples do not overlap, and the medians are more than 2 % apart, by which those of the same work differ from
/// one minute to the next.
Compared compare(const Measured& before, const Measured& now, const Control& control);

/// "Not compared: the ops that were not switched take 1.80 times as long as before the switch, ..."; "" of Doubt::none.
/// `things`: what the samples are, "times" or "steps".
std::string doubt_text(Doubt doubt, const Measured& before, const Measured& now, const Control& control,
                       const char* things);

}  // namespace warpscope::training
