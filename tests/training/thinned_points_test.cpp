#include "gpu/training/thinned_points.h"

#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/points.h"

namespace warpscope::training::thinned_points_test {
namespace {

std::vector<std::uint64_t> steps_of(const ThinnedPoints& points) {
  std::vector<std::uint64_t> steps;
  for (const FeedItem& item : points.items()) steps.push_back(step_of(item).value());
  return steps;
}

TEST(ThinnedPoints, FewAreAllKept) {
  ThinnedPoints points;
  for (std::uint64_t step = 1; step <= 100; ++step) points.note(tests::step_point(step));
  points.note(tests::test_point(50));
  points.note(Marker{7, 0, "x"});
  points.note(LogLine{LogLevel::info, "not a point"});
  EXPECT_EQ(points.items().size(), 102u);
  const auto steps = steps_of(points);
  EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end()));
}

TEST(ThinnedPoints, ManyAreSpreadEvenlyAndTheLastIsThere) {
  ThinnedPoints points;
  constexpr std::uint64_t kSteps = 100001;
  for (std::uint64_t step = 1; step <= kSteps; ++step) points.note(tests::step_point(step));
  const auto steps = steps_of(points);
  EXPECT_LE(steps.size(), ThinnedPoints::kMost + 1);
  EXPECT_GE(steps.size(), ThinnedPoints::kMost / 2);
  EXPECT_EQ(steps.front(), 1u);
  EXPECT_EQ(steps.back(), kSteps);
  for (std::size_t i = 2; i + 1 < steps.size(); ++i) ASSERT_EQ(steps[i] - steps[i - 1], steps[1] - steps[0]);
}

TEST(ThinnedPoints, AReturnTakesThePointsOfThatGeneration) {
  ThinnedPoints points;
  for (std::uint64_t step = 1; step <= 10; ++step) points.note(tests::step_point(step));
  points.note(Restart{1});
  points.note(tests::step_point(1));
  EXPECT_EQ(steps_of(points), (std::vector<std::uint64_t>{1}));
  points.note(Return{2, 0, 4});
  points.note(tests::step_point(5));
  EXPECT_EQ(steps_of(points), (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace warpscope::training::thinned_points_test
