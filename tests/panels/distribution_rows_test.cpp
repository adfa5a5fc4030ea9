// Where values stand, what heat maps, strips and ridges show, and figures over steps.

#include "ui/panels/network/distribution_rows.h"

#include <cmath>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace warpscope::ui::distribution_rows_test {
namespace {

using statistics::Distribution;
using statistics::kNegative;
using statistics::kPositive;
using statistics::kZeros;
using training::DeadUnits;

/// The half octave that begins at 2^exponent.
int half_of(int exponent) {
  return 2 * (exponent - statistics::kLeastExponent);
}

Distribution distribution(std::vector<std::pair<int, std::uint32_t>> counts, float least, float most) {
  Distribution result;
  for (const auto& [counter, count] : counts) result.counters[static_cast<std::size_t>(counter)] = count;
  result.least = least;
  result.most = most;
  return result;
}

/// As many numbers in [1, 1.5) as in [-1.5, -1), and a quarter of zeros.
Distribution symmetric() {
  return distribution({{kPositive + half_of(0), 30}, {kNegative + half_of(0), 30}, {kZeros, 20}}, -1.4f,
                      1.4f);
}

std::shared_ptr<const DistributionMoment> moment(std::uint64_t step, const Distribution& weights) {
  auto result = std::make_shared<DistributionMoment>();
  result->step = step;
  result->distributions[{1, Quantity::weights}] = weights;
  return result;
}

TEST(ValueAxis, IsSymmetricAroundZeroAndMonotonic) {
  const Distribution one = distribution(
      {{kPositive + half_of(-3), 1}, {kPositive + half_of(4), 1}, {kNegative + half_of(2), 1}, {kZeros, 1}},
      -4, 20);
  const ValueAxis axis(std::vector{&one});
  EXPECT_DOUBLE_EQ(axis.position(0), 0.5);
  double last = -1;
  for (const double value : {-16.0, -4.0, -1.0, -0.2, -0.01, 0.0, 0.05, 0.125, 0.5, 3.0, 20.0}) {
    EXPECT_GT(axis.position(value), last) << value;
    last = axis.position(value);
    EXPECT_NEAR(axis.position(value) + axis.position(-value), 1, 1e-12) << value;
    if (std::fabs(value) <= 0.125) continue;
    EXPECT_NEAR(axis.value(axis.position(value)), value, 1e-9 * std::fabs(value));
  }
  EXPECT_EQ(axis.value(0.5), 0.0);
  EXPECT_EQ(axis.position(1e30), 1.0);
}

TEST(ValueAxis, GivesAnOctaveTheSameRoomEverywhereAndLeavesOutASignThatIsNotThere) {
  const Distribution one =
      distribution({{kPositive + half_of(-3), 1}, {kPositive + half_of(4), 1}}, 0.125f, 20);
  const ValueAxis axis(std::vector{&one});
  EXPECT_NEAR(axis.position(2) - axis.position(1), axis.position(16) - axis.position(8), 1e-12);
  EXPECT_LT(axis.position(0), 0.05);
  EXPECT_EQ(axis.bands().front().counter, kZeros);
}

TEST(ValueAxis, HasBandsThatFollowEachOtherFromEndToEnd) {
  const Distribution one = symmetric();
  const ValueAxis axis(std::vector{&one});
  ASSERT_EQ(axis.bands().size(), 3u);
  EXPECT_EQ(axis.bands()[0].counter, kNegative + half_of(0));
  EXPECT_NEAR(axis.bands().front().low, 0, 1e-12);
  EXPECT_NEAR(axis.bands().back().high, 1, 1e-12);
  for (std::size_t i = 1; i < axis.bands().size(); ++i) {
    EXPECT_NEAR(axis.bands()[i].low, axis.bands()[i - 1].high, 1e-12);
  }
}

TEST(ValueAxis, HasTicksAtPowersOfTenThatDoNotTouch) {
  const Distribution one = distribution(
      {{kPositive + half_of(-20), 1}, {kPositive + half_of(10), 1}, {kNegative + half_of(3), 1}}, -8, 1500);
  const ValueAxis axis(std::vector{&one});
  const auto ticks = axis.ticks(0.06);
  EXPECT_GT(ticks.size(), 4u);
  for (std::size_t i = 1; i < ticks.size(); ++i) {
    EXPECT_GE(axis.position(ticks[i].value) - axis.position(ticks[i - 1].value), 0.06 - 1e-9)
        << ticks[i].label;
  }
}

TEST(Densities, ArePartsOfAllNumbersAnOctave) {
  const Distribution one = symmetric();
  const std::vector<float> found = densities(one, ValueAxis(std::vector{&one}));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_NEAR(found[0], 30.0 / 80 / std::log2(1.5), 1e-6);
  EXPECT_NEAR(found[1], 0.25, 1e-6);
  EXPECT_NEAR(found[2], found[0], 1e-6);
}

TEST(HeatMap, ShowsInEachColumnTheLastMomentBeforeIt) {
  const Distribution large = distribution({{kPositive + half_of(0), 10}}, 1, 1.4f);
  const Distribution small = distribution({{kNegative + half_of(0), 10}}, -1.4f, -1);
  const std::vector moments{moment(0, large), moment(50, small), moment(100, small)};
  const ValueAxis axis(over_moments(moments, 1, Quantity::weights));
  const Pixels pixels =
      heat_map(moments, 1, Quantity::weights, axis, charts::Axis{0, 100, 0, 10, false}, 10, 20);
  const auto is_drawn = [&](int x, int y) {
    return pixels.colours[static_cast<std::size_t>(10 * y + x)].a > 0;
  };
  EXPECT_TRUE(is_drawn(0, 2)) << "positive numbers above";
  EXPECT_FALSE(is_drawn(0, 17));
  EXPECT_FALSE(is_drawn(5, 2));
  EXPECT_TRUE(is_drawn(5, 17)) << "negative ones below";
  EXPECT_NEAR(pixels.most, 1 / std::log2(1.5), 1e-5);
}

/// Nine tenths are zeros; of the rest most lie in one half octave.
Distribution mostly_zeros() {
  return distribution({{kPositive + half_of(0), 90}, {kPositive + half_of(2), 10}, {kZeros, 900}}, 0, 5);
}

TEST(HeatMap, ZerosHaveAScaleOfTheirOwn) {
  const std::vector moments{moment(0, mostly_zeros())};
  const ValueAxis axis(over_moments(moments, 1, Quantity::weights));
  const int height = 400;
  const Pixels pixels =
      heat_map(moments, 1, Quantity::weights, axis, charts::Axis{0, 1, 0, 1, false}, 1, height);
  EXPECT_NEAR(pixels.most, 90.0 / 1000 / std::log2(1.5), 1e-6) << "zeros do not count";
  const auto colour_at = [&](double value) {
    const auto row = static_cast<int>((1 - axis.position(value)) * height);
    return pixels.colours[static_cast<std::size_t>(std::clamp(row, 0, height - 1))];
  };
  EXPECT_EQ(colour_at(1.2), images::magnitude_colour(1)) << "the densest numbers have the brightest colour";
  EXPECT_EQ(colour_at(0), zeros_colour(0.9));
  EXPECT_EQ(zeros_colour(0).a, 0);
  EXPECT_LT(zeros_colour(0.2).r, zeros_colour(0.9).r);
  EXPECT_TRUE(zeros_colour(0.9).r == zeros_colour(0.9).g && zeros_colour(0.9).g == zeros_colour(0.9).b);
}

TEST(Strips, ZerosHaveAScaleOfTheirOwn) {
  const auto one = moment(3, mostly_zeros());
  const ValueAxis axis(over_layers(*one, Quantity::weights));
  const Pixels pixels = strips(*one, 2, Quantity::weights, axis, 400);
  const auto colour_at = [&](double value) {
    return pixels.colours[400 + static_cast<std::size_t>(axis.position(value) * 400)];
  };
  EXPECT_EQ(colour_at(1.2), images::magnitude_colour(1));
  EXPECT_EQ(colour_at(0), zeros_colour(0.9));
}

TEST(Strips, AreTransparentWhereALayerHasNothing) {
  const auto one = moment(3, symmetric());
  const Pixels pixels =
      strips(*one, 3, Quantity::weights, ValueAxis(over_layers(*one, Quantity::weights)), 16);
  ASSERT_EQ(pixels.colours.size(), 48u);
  EXPECT_EQ(pixels.colours[0].a, 0);
  EXPECT_GT(pixels.colours[16].a, 0) << "layer 1 from its least number";
  EXPECT_EQ(pixels.colours[32].a, 0);
}

TEST(Moments, AreFoundByTheStepBeforeWhichTheyAre) {
  const std::vector moments{moment(10, symmetric()), moment(20, symmetric()), moment(40, symmetric())};
  EXPECT_EQ(moment_at(moments, 5), 0u);
  EXPECT_EQ(moment_at(moments, 20), 1u);
  EXPECT_EQ(moment_at(moments, 39.5), 1u);
  EXPECT_EQ(moment_at(moments, 1e9), 2u);
}

TEST(Ridges, AreTheNewestAndOthersEvenlyBeforeIt) {
  std::vector<std::shared_ptr<const DistributionMoment>> moments;
  for (std::uint64_t step = 0; step < 100; ++step) moments.push_back(moment(step, symmetric()));
  const auto some = ridge_moments(moments, 1, Quantity::weights, 10);
  ASSERT_EQ(some.size(), 10u);
  EXPECT_EQ(some.back(), 99u);
  for (std::size_t i = 1; i < some.size(); ++i) EXPECT_EQ(some[i] - some[i - 1], 10u);
  EXPECT_EQ(ridge_moments(moments, 1, Quantity::weights, 1000).size(), 100u);
  EXPECT_TRUE(ridge_moments(moments, 2, Quantity::weights, 10).empty());
}

TEST(Figures, AreThoseOfALayerOrMissing) {
  DistributionMoment one;
  one.distributions[{1, Quantity::weights}].squares = 16;
  one.distributions[{1, Quantity::gradients}].squares = 9;
  one.distributions[{1, Quantity::updates}] = distribution(
      {{kPositive + half_of(-30), 6}, {kZeros, 2}, {statistics::kInfinities, 2}, {statistics::kFp16Zeros, 6}},
      0, 1e-9f);
  one.distributions[{1, Quantity::updates}].squares = 1;
  one.dead[2] = DeadUnits{100, 30, 4, 1};
  const auto of = [&](std::size_t layer, Figure figure) {
    return figure_of(one, layer, figure, Quantity::updates);
  };
  EXPECT_DOUBLE_EQ(*of(1, Figure::gradient_norm), 3);
  EXPECT_DOUBLE_EQ(*of(1, Figure::update_ratio), 0.25);
  EXPECT_DOUBLE_EQ(*of(2, Figure::dead_channels), 0.25);
  EXPECT_DOUBLE_EQ(*of(2, Figure::dead_units), 0.3);
  EXPECT_DOUBLE_EQ(*of(1, Figure::fp16_lost), 0.8);
  EXPECT_DOUBLE_EQ(*of(1, Figure::bf16_lost), 0.2) << "what is infinite is so in every format";
  EXPECT_FALSE(of(1, Figure::dead_units).has_value());
  EXPECT_FALSE(of(2, Figure::gradient_norm).has_value());
  EXPECT_FALSE(of(2, Figure::fp16_lost).has_value());
}

TEST(DistributionTips, TellStepQuantilesAndWhat16BitsLose) {
  DistributionMoment one;
  one.step = 1234;
  one.update_steps = 3;
  one.distributions[{1, Quantity::updates}] = symmetric();
  one.distributions[{2, Quantity::activations}] = symmetric();
  one.dead[2] = DeadUnits{100, 30, 4, 1};
  const std::string update = tip_of(one, 1, Quantity::updates, core::Precision::fp32);
  for (const char* part : {"step 1,234", "the mean change by 3 steps", "80 numbers", "25.0 % zeros",
                           "if FP16: 0 % infinite", "if BF16: 0 % infinite"}) {
    EXPECT_NE(update.find(part), std::string::npos) << part << " in " << update;
  }
  const std::string narrow = tip_of(one, 2, Quantity::activations, core::Precision::bf16);
  for (const char* part :
       {"held in BF16: 0 % infinite", "if FP16: 0 %", "dead: 1 of 4 channels, 30 of 100 units"}) {
    EXPECT_NE(narrow.find(part), std::string::npos) << part << " in " << narrow;
  }
  EXPECT_NE(tip_of(one, 1, Quantity::weights, core::Precision::fp32).find("no weights"), std::string::npos);
}

TEST(ShareTexts, HaveAsManyDigitsAsTheyNeed) {
  EXPECT_EQ(share_text(0), "0 %");
  EXPECT_EQ(share_text(1e-6), "< 0.01 %");
  EXPECT_EQ(share_text(0.0035), "0.35 %");
  EXPECT_EQ(share_text(0.1234), "12.3 %");
  EXPECT_EQ(share_text(1), "100.0 %");
}

}  // namespace
}  // namespace warpscope::ui::distribution_rows_test
