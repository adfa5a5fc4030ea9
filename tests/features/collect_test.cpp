// The columns that collect() writes, against the formula, on every device.

#include "gpu/features/collect.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gpu/core/random.h"
#include "tests/support/device_case.h"

namespace warpscope::features::collect_test {
namespace {

struct Shape {
  int count, height, width, channels, out_height, out_width;
};

constexpr Shape kShapes[] = {{3, 4, 4, 8, 4, 4},  {1, 1, 1, 1, 1, 1},  {2, 6, 4, 5, 3, 2},
                             {5, 8, 8, 33, 2, 4}, {2, 3, 5, 70, 1, 1}, {4, 9, 7, 31, 9, 7},
                             {1, 32, 32, 3, 4, 4}};

std::uint16_t bf16_of(float value) {  // exact for what these tests draw
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
}

/// A few digits, so that BF16 holds them exactly.
std::vector<float> drawn(std::size_t count, std::uint64_t seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(std::floor(128 * core::random_unit(seed, i)) - 64) / 16;
  }
  return values;
}

double wanted(const Shape& s, const std::vector<float>& values, bool maximum, int n, int c, int y, int x) {
  const int tall = s.height / s.out_height, wide = s.width / s.out_width;
  double sum = 0, most = -std::numeric_limits<double>::infinity();
  for (int i = 0; i < tall; ++i) {
    for (int j = 0; j < wide; ++j) {
      const int place = ((n * s.height + y * tall + i) * s.width + x * wide + j) * s.channels + c;
      const double value = static_cast<double>(values[static_cast<std::size_t>(place)]);
      sum += value;
      most = std::max(most, value);
    }
  }
  return maximum ? most : sum / (tall * wide);
}

class Collect : public tests::DeviceCase {
 protected:
  static constexpr float kPoison = 1e30f;

  /// What lies in `rows` (count + 2, columns + 3) after collecting into row 1 and column 2.
  std::vector<float> collected(const Shape& s, const void* values, core::ElementType type, bool maximum) {
    const std::size_t elements = static_cast<std::size_t>(s.count * s.height * s.width * s.channels);
    const core::Buffer from = uploaded(values, elements * core::size_of(type));
    const int columns = s.channels * s.out_height * s.out_width + 3;
    std::vector<float> rows(static_cast<std::size_t>((s.count + 2) * columns), kPoison);
    const core::Buffer to = uploaded(rows.data(), rows.size() * sizeof(float));
    collect(*device_, *stream_,
            {from.data(), type, s.count, s.height, s.width, s.channels, s.out_height, s.out_width, maximum,
             to.as<float>(), 1, columns, 2});
    stream_->copy(rows.data(), to.data(), to.bytes());
    stream_->synchronize();
    return rows;
  }

  static void expect_formula(const Shape& s, const std::vector<float>& rows, const std::vector<float>& values,
                             bool maximum) {
    const int places = s.out_height * s.out_width, columns = s.channels * places + 3;
    for (int row = 0; row < s.count + 2; ++row) {
      for (int column = 0; column < columns; ++column) {
        const int inner = column - 2;
        const bool written = row >= 1 && row <= s.count && inner >= 0 && inner < s.channels * places;
        const double value = written ? wanted(s, values, maximum, row - 1, inner / places,
                                              inner % places / s.out_width, inner % s.out_width)
                                     : static_cast<double>(kPoison);
        ASSERT_NEAR(rows[static_cast<std::size_t>(row * columns + column)], value,
                    1e-5 * std::abs(value) + 1e-6)
            << row << " " << column;
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, Collect, testing::Values("cpu", "cuda"),
                         [](const auto& which) { return which.param; });

TEST_P(Collect, WritesTheFormulaAndNothingElse) {
  std::uint64_t seed = 1;
  for (const Shape& s : kShapes) {
    const auto values = drawn(static_cast<std::size_t>(s.count * s.height * s.width * s.channels), ++seed);
    for (const bool maximum : {false, true}) {
      SCOPED_TRACE(testing::Message() << s.height << "x" << s.width << "x" << s.channels << " to "
                                      << s.out_height << "x" << s.out_width << " max " << maximum);
      expect_formula(s, collected(s, values.data(), core::ElementType::f32, maximum), values, maximum);
      std::vector<std::uint16_t> narrow(values.size());
      std::transform(values.begin(), values.end(), narrow.begin(), bf16_of);
      expect_formula(s, collected(s, narrow.data(), core::ElementType::bf16, maximum), values, maximum);
    }
  }
}

TEST_P(Collect, KeepsWhatIsNoNumber) {
  const Shape s{1, 2, 2, 1, 1, 1};
  for (const bool maximum : {false, true}) {
    for (std::size_t place = 0; place < 4; ++place) {
      std::vector<float> values{1, -2, 3, 0.5f};
      values[place] = std::numeric_limits<float>::quiet_NaN();
      const auto rows = collected(s, values.data(), core::ElementType::f32, maximum);
      EXPECT_TRUE(std::isnan(rows[4 + 2])) << maximum << place;
    }
  }
}

}  // namespace
}  // namespace warpscope::features::collect_test
