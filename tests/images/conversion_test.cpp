#include "ui/images/conversion.h"

#include <array>
#include <limits>

#include <gtest/gtest.h>

#include "ui/images/psnr.h"

namespace warpscope::ui::images::conversion_test {

void PrintTo(const Rgba& colour, std::ostream* out) {
  *out << "(" << int{colour.r} << ", " << int{colour.g} << ", " << int{colour.b} << ", " << int{colour.a}
       << ")";
}

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr Rgba kMagenta{255, 0, 255, 255};
constexpr Rgba kWhite{255, 255, 255, 255};

Rgba grey(float value) {
  return image_colour(&value, 1);
}

Rgba difference(float original, float now, const Conversion& conversion = {}) {
  return difference_colour(&original, &now, 1, conversion);
}

TEST(ImageColour, BytesOfADataSetComeBackExactly) {
  for (int byte = 0; byte < 256; ++byte) {
    const auto expected = static_cast<std::uint8_t>(byte);
    EXPECT_EQ(grey(static_cast<float>(byte) / 255.0f), (Rgba{expected, expected, expected, 255}));
    EXPECT_EQ(grey(static_cast<float>(byte) * (1.0f / 255.0f)), (Rgba{expected, expected, expected, 255}));
  }
}

TEST(ImageColour, RoundsToTheNearestByte) {
  EXPECT_EQ(grey(0.5f), (Rgba{128, 128, 128, 255}));  // 127.5
  EXPECT_EQ(grey(0.4990f), (Rgba{127, 127, 127, 255}));
}

TEST(ImageColour, ClampsToTheRangeOfAByte) {
  EXPECT_EQ(grey(-0.1f), (Rgba{0, 0, 0, 255}));
  EXPECT_EQ(grey(1.7f), kWhite);
  EXPECT_EQ(grey(-kInfinity), (Rgba{0, 0, 0, 255}));
  EXPECT_EQ(grey(kInfinity), kWhite);
}

TEST(ImageColour, ThreeChannelsAreRedGreenAndBlue) {
  const std::array<float, 3> pixel{1.0f, 0.0f, 0.2f};
  EXPECT_EQ(image_colour(pixel.data(), 3), (Rgba{255, 0, 51, 255}));
  EXPECT_EQ(image_colour(pixel.data(), 1), kWhite);
}

TEST(ImageColour, ANanInAnyChannelIsMagenta) {
  EXPECT_EQ(grey(kNan), kMagenta);
  for (std::size_t channel = 0; channel < 3; ++channel) {
    std::array<float, 3> pixel{0.5f, 0.5f, 0.5f};
    pixel[channel] = kNan;
    EXPECT_EQ(image_colour(pixel.data(), 3), kMagenta);
  }
}

TEST(SignedDifference, NoDifferenceIsWhite) {
  EXPECT_EQ(difference(0.4f, 0.4f), kWhite);
}

TEST(SignedDifference, TooDarkIsBlueAndTooBrightIsRed) {
  EXPECT_EQ(difference(0.5f, 0.25f), (Rgba{33, 102, 172, 255}));
  EXPECT_EQ(difference(0.5f, 0.75f), (Rgba{178, 24, 43, 255}));
  EXPECT_EQ(difference(0.5f, 0.625f), (Rgba{244, 165, 130, 255}));
  EXPECT_EQ(difference(0.5f, 0.375f), (Rgba{146, 197, 222, 255}));
}

TEST(SignedDifference, ColoursBetweenTheAnchorsAreMixed) {
  EXPECT_EQ(signed_colour(0.25f), (Rgba{250, 210, 193, 255}));
  EXPECT_EQ(signed_colour(-0.75f), (Rgba{90, 150, 197, 255}));
}

TEST(SignedDifference, BeyondTheRangeTakesTheColourOfTheEnd) {
  EXPECT_EQ(difference(0.0f, 1.0f), difference(0.0f, 0.25f));
  EXPECT_EQ(difference(0.0f, kInfinity), (Rgba{178, 24, 43, 255}));
  EXPECT_EQ(difference(0.0f, -kInfinity), (Rgba{33, 102, 172, 255}));
}

TEST(SignedDifference, TheRangeIsTheEndOfTheScale) {
  const Conversion wide{Difference::signed_mean, 1.0f};
  EXPECT_EQ(difference(0.0f, 1.0f, wide), (Rgba{178, 24, 43, 255}));
  EXPECT_EQ(difference(0.0f, 0.5f, wide), (Rgba{244, 165, 130, 255}));
}

TEST(SignedDifference, ChannelsOfOppositeSignCancel) {
  const std::array<float, 3> original{0.5f, 0.5f, 0.5f};
  const std::array<float, 3> now{0.75f, 0.25f, 0.5f};
  EXPECT_EQ(difference_colour(original.data(), now.data(), 3, {}), kWhite);
}

TEST(AbsoluteDifference, ChannelsOfOppositeSignAddUp) {
  const std::array<float, 3> original{0.5f, 0.5f, 0.5f};
  const std::array<float, 3> now{0.875f, 0.125f, 0.5f};
  const Conversion absolute{Difference::absolute, 0.25f};
  EXPECT_EQ(mean_difference(original.data(), now.data(), 3, Difference::absolute), 0.25f);
  EXPECT_EQ(difference_colour(original.data(), now.data(), 3, absolute), (Rgba{253, 231, 37, 255}));
}

TEST(AbsoluteDifference, NoDifferenceIsTheDarkEnd) {
  EXPECT_EQ(difference(0.4f, 0.4f, {Difference::absolute, 0.25f}), (Rgba{68, 1, 84, 255}));
  EXPECT_EQ(magnitude_colour(1.0f / 16.0f), (Rgba{70, 23, 104, 255}));
  EXPECT_EQ(magnitude_colour(0.5f), (Rgba{33, 145, 140, 255}));
}

TEST(DifferenceColour, ANanOnEitherSideIsMagenta) {
  for (const Difference kind : {Difference::signed_mean, Difference::absolute}) {
    EXPECT_EQ(difference(kNan, 0.5f, {kind, 0.25f}), kMagenta);
    EXPECT_EQ(difference(0.5f, kNan, {kind, 0.25f}), kMagenta);
    EXPECT_EQ(difference(kInfinity, kInfinity, {kind, 0.25f}), kMagenta);
  }
}

TEST(Psnr, IsMinusTenTimesTheLogarithmOfTheError) {
  EXPECT_NEAR(psnr(0.01f), 20.0, 1e-6);
  EXPECT_NEAR(psnr(1.0f), 0.0, 1e-12);
  EXPECT_EQ(psnr(0.0f), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace warpscope::ui::images::conversion_test
