#include "gpu/settings/rate_finder.h"

#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/core/random.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::training::rate_finder_test {
namespace {

using core::BadInput;
using tests::holds;
using tests::message_of;

RateFinder sweep(const RateFinderOptions& options, const std::function<double(double rate)>& loss) {
  RateFinder finder(options);
  while (!finder.done()) finder.note(loss(finder.next_rate()));
  return finder;
}

/// Falls by 0.8 around a rate of `middle`, steepest there, and rises from `edge` on.
double valley(double rate, double middle, double edge) {
  const double decades = std::log10(rate / middle);
  return 1 - 0.8 / (1 + std::exp(-4 * decades)) + std::pow(rate / edge, 3);
}

TEST(RateFinder, SweepsLogarithmicallyFromLowToHigh) {
  RateFinder finder({.low = 1e-6, .high = 1, .steps = 61});
  for (int i = 0; i < 61; ++i) {
    EXPECT_FALSE(finder.done());
    EXPECT_EQ(finder.steps_done(), i);
    EXPECT_NEAR(finder.next_rate() / std::pow(10, -6 + i / 10.0), 1, 1e-12);
    finder.note(1);
  }
  EXPECT_TRUE(finder.done());
  EXPECT_NEAR(finder.next_rate(), 1, 1e-12);
  finder.note(7);
  EXPECT_EQ(finder.result().points.size(), 61u);
}

TEST(RateFinder, SmoothsWithBiasCorrection) {
  const double b = 0.8;
  RateFinder finder({.steps = 40, .smoothing = b, .blow_up = 100});
  std::vector<double> losses;
  for (std::uint64_t i = 0; i < 40; ++i) {
    losses.push_back(1 + core::random_unit(4, i));
    finder.note(losses.back());
  }
  const std::vector<RatePoint> points = finder.result().points;
  ASSERT_EQ(points.size(), 40u);
  for (std::size_t i = 0; i < points.size(); ++i) {
    double sum = 0;
    double weights = 0;
    for (std::size_t j = 0; j <= i; ++j) {
      const double weight = std::pow(b, static_cast<double>(i - j));
      sum += weight * losses[j];
      weights += weight;
    }
    ASSERT_NEAR(points[i].smoothed, sum / weights, 1e-12);
    ASSERT_EQ(points[i].loss, losses[i]);
  }
}

TEST(RateFinder, SuggestsTheSteepestDescentWhateverTheSmoothing) {
  for (const double smoothing : {0.0, 0.5, 0.9, 0.95}) {
    for (const double middle : {1e-4, 1e-3, 1e-2}) {
      const RateFinder finder = sweep({.steps = 200, .smoothing = smoothing},
                                      [&](double rate) { return valley(rate, middle, 100 * middle); });
      const RateFinderResult result = finder.result();
      ASSERT_TRUE(result.suggested.has_value()) << result.text;
      EXPECT_NEAR(std::log10(*result.suggested / middle), 0, 0.35) << smoothing << " " << middle;
      EXPECT_GT(*result.cautious, middle / 10);
      EXPECT_LT(*result.cautious, 20 * middle);
    }
  }
}

TEST(RateFinder, NoiseDoesNotLeadItAstray) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::uint64_t step = 0;
    const RateFinder finder = sweep({}, [&](double rate) {
      return valley(rate, 1e-3, 0.1) * (1 + 0.05 * (core::random_unit(seed, step++) - 0.5));
    });
    const RateFinderResult result = finder.result();
    ASSERT_TRUE(result.suggested.has_value()) << result.text;
    EXPECT_NEAR(std::log10(*result.suggested / 1e-3), 0, 0.7) << seed;
  }
}

TEST(RateFinder, StaysBelowWhereDescentOnAQuadraticDiverges) {
  // f(x) = (4 x^2 + y^2) / 2 diverges from a rate of 2 / 4 on.
  double x = 1;
  double y = 1;
  const RateFinder finder = sweep({}, [&](double rate) {
    const double loss = (4 * x * x + y * y) / 2 + 0.05;
    x -= rate * 4 * x;
    y -= rate * y;
    return loss;
  });
  const RateFinderResult result = finder.result();
  ASSERT_TRUE(result.suggested.has_value()) << result.text;
  EXPECT_LT(*result.suggested, 0.5);
  EXPECT_GT(*result.suggested, 0.01);
  EXPECT_LT(*result.cautious, 0.5);
  EXPECT_LT(finder.steps_done(), 100) << "it stops where the loss blows up";
}

TEST(RateFinder, StopsAtFourTimesTheBest) {
  const RateFinder finder = sweep({.smoothing = 0}, [](double rate) { return valley(rate, 1e-3, 0.1); });
  const std::vector<RatePoint> points = finder.result().points;
  double best = points[0].loss;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    best = std::min(best, points[i].loss);
    EXPECT_LE(points[i].loss, 4 * best);
  }
  EXPECT_GT(points.back().loss, 4 * best);
  EXPECT_LT(points.size(), 100u);
}

TEST(RateFinder, SuggestsFromWhatCameBeforeALossThatIsNotFinite) {
  const RateFinder finder = sweep({}, [](double rate) {
    return rate < 0.02 ? valley(rate, 1e-3, 1e9) : std::numeric_limits<double>::quiet_NaN();
  });
  const RateFinderResult result = finder.result();
  ASSERT_TRUE(result.suggested.has_value()) << result.text;
  EXPECT_LT(*result.suggested, 0.02);
  EXPECT_LT(*result.cautious, 0.02);
  for (const RatePoint& point : result.points) EXPECT_TRUE(std::isfinite(point.loss));
  EXPECT_TRUE(holds(result.text, {"falls fastest", "lowest"}));
}

void expect_no_suggestion(const std::function<double(double rate)>& loss,
                          std::initializer_list<std::string_view> parts) {
  const RateFinderResult result = sweep({}, loss).result();
  EXPECT_FALSE(result.suggested.has_value());
  EXPECT_FALSE(result.cautious.has_value());
  EXPECT_TRUE(holds(result.text, parts));
}

TEST(RateFinder, SaysWhyThereIsNoSuggestion) {
  expect_no_suggestion([](double) { return 1.0; }, {"hardly changed", "higher than 10"});
  expect_no_suggestion([](double) { return 0.0; }, {"hardly changed"});
  expect_no_suggestion([](double rate) { return 1 - 0.01 * rate / 10; }, {"hardly changed"});
  expect_no_suggestion([](double rate) { return 1 + std::log10(rate / 1e-7); },
                       {"rose from the start", "1e-07"});
  expect_no_suggestion([](double) { return std::numeric_limits<double>::quiet_NaN(); },
                       {"not finite before any update", "weights"});
  expect_no_suggestion([](double) { return std::numeric_limits<double>::infinity(); }, {"before any update"});
  expect_no_suggestion(
      [](double rate) { return rate > 3e-7 ? std::numeric_limits<double>::quiet_NaN() : 1.0; },
      {"blew up near", "lower than 1e-07"});
  expect_no_suggestion([](double rate) { return std::exp(std::log(rate / 1e-7) * 3); }, {"blew up near"});
}

TEST(RateFinder, NoiseAloneSuggestsNothing) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::uint64_t step = 0;
    const RateFinderResult result =
        sweep({}, [&](double rate) { return 0.1 + 0.4 * core::random_unit(seed, step++) + rate; }).result();
    EXPECT_FALSE(result.suggested.has_value()) << seed << ": " << result.text;
  }
}

/// The loss of a batch of few images that are nearly all learned: one that is not makes hundreds of the others.
double loss_of_few_images(std::uint64_t seed, std::uint64_t step) {
  return 1e-3 *
         std::exp(2.5 * (core::random_unit(seed, 2 * step) + core::random_unit(seed, 2 * step + 1) - 1) * 2);
}

TEST(RateFinder, HardImagesAtASmallLossAreNoBlowUp) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    std::uint64_t step = 0;
    const RateFinder finder = sweep({}, [&](double) { return loss_of_few_images(seed, step++); });
    EXPECT_EQ(finder.steps_done(), 100) << seed << ": " << finder.result().text;
    EXPECT_EQ(finder.result().text.find("blew up"), std::string::npos) << finder.result().text;
  }
}

TEST(RateFinder, ABlowUpAmongHardImagesIsSeen) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    std::uint64_t step = 0;
    const RateFinder finder = sweep({}, [&](double rate) {
      return loss_of_few_images(seed, step++) + std::min(20.0, std::pow(rate / 0.05, 3));
    });
    EXPECT_LT(finder.steps_done(), 100) << seed;
    EXPECT_GT(finder.next_rate(), 0.005) << seed;
    EXPECT_EQ(finder.result().text.find("blew up near"), std::string::npos) << finder.result().text;
    EXPECT_EQ(finder.result().text.find("from the start"), std::string::npos) << finder.result().text;
  }
}

TEST(RateFinder, SuggestsNothingBeforeItIsDone) {
  RateFinder finder({});
  for (int i = 0; i < 50; ++i) finder.note(valley(finder.next_rate(), 1e-6, 1));
  EXPECT_FALSE(finder.done());
  EXPECT_FALSE(finder.result().suggested.has_value());
  EXPECT_EQ(finder.result().text, "50 of 100 steps done");
  EXPECT_EQ(finder.result().points.size(), 50u);
}

TEST(RateFinder, RefusesOptionsOutOfRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refusal = [](const RateFinderOptions& options) {
    return message_of<BadInput>([&] { RateFinder finder(options); });
  };
  EXPECT_TRUE(holds(refusal({.low = 0}), {"from rate 0", "above 0"}));
  EXPECT_TRUE(holds(refusal({.low = nan}), {"nan"}));
  EXPECT_TRUE(holds(refusal({.low = 1, .high = 1}), {"to 1", "higher"}));
  EXPECT_TRUE(holds(refusal({.steps = 19}), {"19 steps", "from 20"}));
  EXPECT_TRUE(holds(refusal({.smoothing = 1}), {"smoothing of 1", "0.98"}));
  EXPECT_TRUE(holds(refusal({.blow_up = 1}), {"blow-up", "above 1"}));
}

}  // namespace
}  // namespace warpscope::training::rate_finder_test
