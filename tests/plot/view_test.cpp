#include "ui/plot/view.h"

#include <gtest/gtest.h>

#include "ui/plot/flags.h"

namespace warpscope::ui::plot {
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
  pan_x(view, 1e9, 0, 1000);
  EXPECT_DOUBLE_EQ(view.x1, 1050);
  EXPECT_TRUE(view.follow);
  pan_x(view, -1e9, 0, 1000);
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

TEST(View, SwitchingToLogarithmicWithANegativeRangeFitsAgain) {
  View view;
  track_x(view, 0, 10);
  show_box(view, 1, 5, -1, 2, 10);
  track_y(view, Extent{0.1f, 1}, true);
  EXPECT_GT(view.y0, 0);
}

TEST(View, ABoxIsShownExactlyWhicheverWayItIsDrawn) {
  View view;
  track_x(view, 0, 100);
  show_box(view, 60, 20, 0.5, 0.1, 100);
  EXPECT_EQ(view.x0, 20);
  EXPECT_EQ(view.x1, 60);
  EXPECT_EQ(view.y0, 0.1);
  EXPECT_EQ(view.y1, 0.5);
  EXPECT_FALSE(view.follow);
  fit(view);
  track_x(view, 0, 100);
  EXPECT_EQ(view.x1, 100);
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
  EXPECT_EQ(groups.size(), 34u);
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
}  // namespace warpscope::ui::plot
