#include "gpu/inspect/ssim.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace warpscope::inspect::ssim_test {
namespace {

constexpr data::ImageShape kShape{16, 12, 3};

std::vector<float> ramp() {
  std::vector<float> values(16 * 12 * 3);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 101) / 100;
  return values;
}

TEST(Ssim, EqualImagesHaveOne) {
  const auto image = ramp();
  EXPECT_DOUBLE_EQ(ssim(image.data(), image.data(), kShape), 1);
}

TEST(Ssim, ConstantImagesDifferInLuminanceAlone) {
  const std::vector<float> dark(ramp().size(), 0.25f), bright(ramp().size(), 0.75f);
  const double c1 = 0.0001;
  EXPECT_NEAR(ssim(dark.data(), bright.data(), kShape),
              (2 * 0.25 * 0.75 + c1) / (0.25 * 0.25 + 0.75 * 0.75 + c1), 1e-12);
}

TEST(Ssim, ANegativeIsLessThanAllDifferent) {
  const auto image = ramp();
  auto negative = image;
  for (float& value : negative) value = 1 - value;
  EXPECT_LT(ssim(image.data(), negative.data(), kShape), 0);
}

TEST(Ssim, EachChannelCountsAlike) {
  const auto image = ramp();
  auto one = image;
  for (std::size_t i = 0; i < one.size(); i += 3) one[i] = 1 - one[i];
  const double all_else_equal = ssim(image.data(), one.data(), kShape);
  auto other = image;
  for (std::size_t i = 1; i < other.size(); i += 3) other[i] = 1 - other[i];
  EXPECT_GT(all_else_equal, 1.0 / 3);
  EXPECT_LT(all_else_equal, 2.0 / 3);
  EXPECT_NEAR(ssim(image.data(), other.data(), kShape), all_else_equal, 0.1);
}

TEST(Ssim, ImagesSmallerThanTheWindowHaveNone) {
  const auto image = ramp();
  EXPECT_TRUE(std::isnan(ssim(image.data(), image.data(), {10, 12, 3})));
  EXPECT_TRUE(std::isnan(ssim(image.data(), image.data(), {12, 10, 1})));
  EXPECT_FALSE(std::isnan(ssim(image.data(), image.data(), {11, 11, 1})));
}

TEST(Ssim, AValueThatIsNotANumberIsTold) {
  const auto image = ramp();
  auto broken = image;
  broken[200] = std::nanf("");
  EXPECT_TRUE(std::isnan(ssim(image.data(), broken.data(), kShape)));
}

}  // namespace
}  // namespace warpscope::inspect::ssim_test
