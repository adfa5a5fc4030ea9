#include "ui/plot/view.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "ui/plot/flags.h"

namespace warpscope::ui::plot::view_test {
namespace {

TEST(View, FitGrowsWithTheData) {
  View view;
  track_x(view, 1, 10);
  EXPECT_EQ(view.x0, 1);
  EXPECT_EQ(view.x1, 10);
  track_x(view, 1, 5000);
  EXPECT_EQ(view.x1, 5000);
}

TEST(View, ASinglePointHasRoom) {
  View view;
  track_x(view, 1, 1);
  EXPECT_GT(view.x1, view.x0);
  track_y(view, Extent{2, 2}, false);
  EXPECT_LT(view.y0, 2);
  EXPECT_GT(view.y1, 2);
}

TEST(View, ZoomKeepsTheValueUnderThePointer) {
  View view;
  track_x(view, 0, 1000);
  zoom_x(view, 400, 0.5, 0, 1000);
  EXPECT_FALSE(view.fit_x);
  EXPECT_DOUBLE_EQ(view.x0, 200);
  EXPECT_DOUBLE_EQ(view.x1, 700);
  EXPECT_FALSE(view.follow);
}

TEST(View, ZoomAtTheRightEdgeFollowsWithTheSameWidth) {
  View view;
  track_x(view, 0, 1000);
  zoom_x(view, 1000, 0.2, 0, 1000);
  EXPECT_TRUE(view.follow);
  track_x(view, 0, 1500);
  EXPECT_DOUBLE_EQ(view.x1, 1500);
  EXPECT_DOUBLE_EQ(view.x1 - view.x0, 200);
}

TEST(View, FollowingATrainingThatWentBackShowsNothingBeforeItsFirstStep) {
  View view;
  track_x(view, 0, 1000);
  zoom_x(view, 1000, 0.5, 0, 1000);
  ASSERT_TRUE(view.follow);
  track_x(view, 0, 100);
  EXPECT_DOUBLE_EQ(view.x0, 0);
  EXPECT_DOUBLE_EQ(view.x1, 500);
  track_x(view, 0, 600);
  EXPECT_DOUBLE_EQ(view.x0, 100);
  EXPECT_DOUBLE_EQ(view.x1, 600) << "it follows again";
}

TEST(View, ZoomingOutBeyondTheDataFitsAgain) {
  View view;
  track_x(view, 0, 1000);
  zoom_x(view, 500, 0.5, 0, 1000);
  zoom_x(view, 500, 4, 0, 1000);
  EXPECT_TRUE(view.fit_x);
  track_x(view, 0, 1000);
  EXPECT_EQ(view.x0, 0);
  EXPECT_EQ(view.x1, 1000);
}

TEST(View, ZoomStopsBeforePrecisionEnds) {
  View view;
  track_x(view, 0, 1000);
  for (int i = 0; i < 500; ++i) zoom_x(view, 500, 0.5, 0, 1000);
  EXPECT_GT(view.x1, view.x0);
}

TEST(View, PanLeavesHalfOfTheViewOnData) {
  View view;
  track_x(view, 0, 1000);
  zoom_x(view, 500, 0.1, 0, 1000);
  pan_x(view, 1e9, 0, 0, 1000);
  EXPECT_DOUBLE_EQ(view.x1, 1050);
  EXPECT_TRUE(view.follow);
  pan_x(view, -1e9, 0, 0, 1000);
  EXPECT_DOUBLE_EQ(view.x0, -50);
  EXPECT_FALSE(view.follow);
}

TEST(View, LogarithmicYLeavesOutWhatItCannotShow) {
  View view;
  track_y(view, Extent{0, 1}, true);
  EXPECT_GT(view.y0, 0);
  EXPECT_GE(view.y1, 1);
  const View before = view;
  track_y(view, Extent{-2, -1}, true);
  EXPECT_EQ(view.y1, before.y1);
}

TEST(View, ALeapBesideALossOfZeroLeavesTheWholeCurveOnALogarithmicAxis) {
  View view;
  Extent extent;
  for (const float loss : {2.0f, 1e-12f, 0.0f, 1e22f}) extent.include(loss);
  track_y(view, extent, true);
  EXPECT_GT(view.y0, 0);
  EXPECT_LT(view.y0, 1e-12);
  EXPECT_GT(view.y1, 1e22);
}

TEST(View, SwitchingToLogarithmicWithANegativeRangeFitsAgain) {
  View view;
  track_x(view, 0, 10);
  show_y(view, -1, 2);
  track_y(view, Extent{0.1f, 1}, true);
  EXPECT_GT(view.y0, 0);
}

TEST(View, ARangeIsShownExactlyWhicheverWayItIsDrawn) {
  View view;
  track_x(view, 0, 100);
  show_x(view, 60, 20, 100);
  EXPECT_EQ(view.x0, 20);
  EXPECT_EQ(view.x1, 60);
  EXPECT_FALSE(view.follow);
  EXPECT_TRUE(view.fit_y) << "the values of the range are fitted";
  show_x(view, 30, 30, 100);
  EXPECT_EQ(view.x1, 60) << "a range without width is none";
  show_y(view, 0.5, 0.1);
  EXPECT_EQ(view.y0, 0.1);
  EXPECT_EQ(view.y1, 0.5);
  EXPECT_FALSE(view.fit_y);
  fit(view);
  track_x(view, 0, 100);
  EXPECT_EQ(view.x1, 100);
}

View logarithmic_view(double first, double last) {
  View view;
  set_log_x(view, true);
  track_x(view, first, last);
  return view;
}

TEST(LogarithmicX, ZoomKeepsTheValueUnderThePointerInRatios) {
  View view = logarithmic_view(1, 10000);
  zoom_x(view, 100, 0.5, 1, 10000);
  EXPECT_NEAR(view.x0, 10, 1e-9);
  EXPECT_NEAR(view.x1, 1000, 1e-7);
  zoom_x(view, 100, 8, 1, 10000);
  EXPECT_TRUE(view.fit_x);
  for (int i = 0; i < 500; ++i) zoom_x(view, 500, 0.5, 1, 10000);
  EXPECT_GT(view.x1, view.x0);
}

TEST(LogarithmicX, FollowingKeepsTheRatioOfTheEdges) {
  View view = logarithmic_view(1, 10000);
  zoom_x(view, 10000, 0.5, 1, 10000);
  ASSERT_TRUE(view.follow);
  track_x(view, 1, 40000);
  EXPECT_DOUBLE_EQ(view.x1, 40000);
  EXPECT_NEAR(view.x1 / view.x0, 100, 1e-9);
}

TEST(LogarithmicX, PanMovesByARatio) {
  View view = logarithmic_view(1, 10000);
  zoom_x(view, 100, 0.5, 1, 10000);
  pan_x(view, 100, 200, 1, 10000);
  EXPECT_NEAR(view.x0, 5, 1e-9) << "what is at 100 comes to where 200 was";
  EXPECT_NEAR(view.x1, 500, 1e-7);
  pan_x(view, 1, 1e30, 1, 10000);
  EXPECT_NEAR(view.x0, 0.1, 1e-9) << "half of the view is left on the data";
}

TEST(LogarithmicX, TurningItOnAndOffShowsEverything) {
  View view;
  track_x(view, 0, 100);
  show_x(view, -20, 50, 100);
  set_log_x(view, true);
  EXPECT_TRUE(view.fit_x);
  track_x(view, 2, 2);
  EXPECT_EQ(view.x0, 2);
  EXPECT_GT(view.x1, 2) << "a single point has room";
  show_x(view, 3, 4, 100);
  set_log_x(view, true);
  EXPECT_FALSE(view.fit_x) << "it was on";
}

TEST(View, LinkedPlotsHaveOneXAndTheirOwnY) {
  View one, other;
  track_x(one, 0, 100);
  show_x(one, 20, 60, 100);
  show_y(one, 5, 7);
  link_x(one, other);
  EXPECT_EQ(other.x0, 20);
  EXPECT_EQ(other.x1, 60);
  EXPECT_FALSE(other.fit_x);
  EXPECT_TRUE(other.fit_y);
}

/// A letter is a pixel wide.
const TextMeasure letters{[](const std::string& text) { return static_cast<float>(text.size()); },
                          [](const std::string& text, float width) {
                            const auto room = static_cast<std::size_t>(std::max(0.0f, width));
                            if (text.size() <= room) return text;
                            return text.substr(0, room < 3 ? 0 : room - 3) + "...";
                          }};

TEST(Flags, SayAsMuchAsFits) {
  const std::vector<Marker> markers{{1, "precision: fp32 -> bf16", "bf16"}, {2, "batch: 4 -> 8"}, {3, "c"}};
  EXPECT_EQ(flag_text(markers, {0, 1, 0}, 100, letters), "bf16");
  EXPECT_EQ(flag_text(markers, {0, 3, 0}, 100, letters), "bf16 +2");
  EXPECT_EQ(flag_text(markers, {0, 3, 0}, 5, letters), "+3");
  EXPECT_EQ(flag_text(markers, {1, 2, 0}, 100, letters), "batch: 4 -> 8") << "without a label its text";
  EXPECT_EQ(flag_text(markers, {1, 2, 0}, 8, letters), "batch...");
  EXPECT_EQ(flag_text(markers, {1, 3, 0}, 11, letters), "batch... +1");
  EXPECT_EQ(flag_text(markers, {1, 2, 0}, 6, letters), "bat...");
  EXPECT_EQ(flag_text(markers, {1, 2, 0}, 5, letters), "+1") << "two letters say nothing";
  EXPECT_EQ(flag_text(markers, {1, 3, 0}, 5, letters), "+2");
}

TEST(Flags, EachHasRoomForANumberHoweverManyMarkersThereAre) {
  constexpr float kRight = 1000, kReach = 30;
  std::vector<Marker> markers;
  for (const double x : {0.0, 29.0, 31.0, 100.0, 939.0, 968.0, 971.0, 999.0, 1000.0})
    markers.push_back({x, "m"});
  const auto groups = group_markers(markers, {0, 1000, 0, kRight, false}, 0, kRight, kReach);
  ASSERT_EQ(groups.size(), 5u);
  for (std::size_t g = 0; g + 1 < groups.size(); ++g) {
    EXPECT_GE(std::min(groups[g + 1].pixel, kRight - kReach) - groups[g].pixel, kReach) << g;
  }
}

TEST(Flags, NearOnesMergeAndFarOnesDoNot) {
  const std::vector<Marker> markers{{0, "a"},   {10, "b"},  {15, "c"},
                                    {500, "d"}, {505, "e"}, {2000, "outside"}};
  const Axis x{0, 1000, 0, 1000, false};
  const auto groups = group_markers(markers, x, 0, 1000, 20);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].first, 0u);
  EXPECT_EQ(groups[0].last, 3u);
  EXPECT_EQ(groups[1].first, 3u);
  EXPECT_EQ(groups[1].last, 5u);
  EXPECT_FLOAT_EQ(groups[1].pixel, 500);
}

TEST(Flags, GroupsDoNotChainAlongARowOfMarkers) {
  std::vector<Marker> markers;
  for (int i = 0; i < 100; ++i) markers.push_back({static_cast<double>(i * 10), "m"});
  const auto groups = group_markers(markers, {0, 1000, 0, 1000, false}, 0, 1000, 25);
  EXPECT_EQ(groups.size(), 33u) << "the last 25 pixels are one place";
}

TEST(View, KnowsWhetherItEndsAtAPoint) {
  View view;
  track_x(view, 0, 1000);
  EXPECT_TRUE(is_at(view, 1000));
  EXPECT_TRUE(is_at(view, 998));
  EXPECT_FALSE(is_at(view, 900));
  EXPECT_FALSE(is_at(view, 1100)) << "beyond what is shown";
}

}  // namespace
}  // namespace warpscope::ui::plot::view_test
