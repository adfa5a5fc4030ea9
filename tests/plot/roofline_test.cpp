#include "ui/plot/roofline.h"

#include <gtest/gtest.h>

namespace warpscope::ui::plot::roofline_test {
namespace {

RooflinePoint point(double intensity, double rate) {
  RooflinePoint made;
  made.intensity = intensity;
  made.rate = rate;
  return made;
}

TEST(Roof, IsTheSmallerOfPeakAndBandwidth) {
  EXPECT_EQ(roof(2, 100, 10), 20);
  EXPECT_EQ(roof(10, 100, 10), 100);
  EXPECT_EQ(roof(50, 100, 10), 100);
  EXPECT_EQ(roof(2, 100, 0), 100);
}

TEST(RooflineRange, HoldsPointsCeilingsAndBends) {
  const RooflinePoint points[] = {point(0.2, 1e9), point(300, 4e13)};
  const Ceiling ceilings[] = {{"fp32", 5e13}, {"bf16", 8e14}};
  const RooflineRange range = roofline_range({.points = points, .ceilings = ceilings, .bytes = 2e12});
  EXPECT_LT(range.low_intensity, 0.2);
  EXPECT_GT(range.high_intensity, 400);  // where bf16 bends
  EXPECT_LT(range.low_rate, 1e9);
  EXPECT_GT(range.high_rate, 8e14);
}

TEST(RooflineRange, IsThereWithoutAnything) {
  const RooflineRange range = roofline_range({});
  EXPECT_LT(range.low_intensity, range.high_intensity);
  EXPECT_LT(range.low_rate, range.high_rate);
}

TEST(PlaceLabels, MeetNoPointNoLabelAndNoEdge) {
  const ImVec2 points[] = {ImVec2(50, 50), ImVec2(62, 50), ImVec2(190, 20), ImVec2(52, 60)};
  const ImVec2 sizes[] = {ImVec2(40, 10), ImVec2(40, 10), ImVec2(40, 10), ImVec2(40, 10)};
  const LabelBox room{ImVec2(0, 0), ImVec2(200, 100)};
  const auto boxes = place_labels(points, sizes, 4, room);
  ASSERT_EQ(boxes.size(), 4u);
  EXPECT_LT(boxes[2].max.x, 190);  // no room to the right
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (boxes[i].empty()) continue;
    EXPECT_GE(boxes[i].min.x, 0);
    EXPECT_LE(boxes[i].max.x, 200);
    for (std::size_t j = 0; j < boxes.size(); ++j) {
      EXPECT_FALSE(j != i && !boxes[j].empty() && boxes[i].meets(boxes[j])) << i << " and " << j;
      const LabelBox dot{ImVec2(points[j].x - 4, points[j].y - 4), ImVec2(points[j].x + 4, points[j].y + 4)};
      EXPECT_FALSE(boxes[i].meets(dot)) << i << " and point " << j;
    }
  }
}

TEST(PlaceLabels, LeaveOutWhatFindsNoPlace) {
  const ImVec2 points[] = {ImVec2(20, 20)};
  const ImVec2 sizes[] = {ImVec2(400, 10)};
  EXPECT_TRUE(place_labels(points, sizes, 4, {ImVec2(0, 0), ImVec2(100, 100)})[0].empty());
  const ImVec2 small[] = {ImVec2(10, 10)};
  const LabelBox all{ImVec2(0, 0), ImVec2(100, 100)};
  EXPECT_FALSE(place_labels(points, small, 4, all)[0].empty());
  EXPECT_TRUE(place_labels(points, small, 4, all, {all})[0].empty());
}

TEST(GroupCeilings, ShareANameWhereTheyLieTogether) {
  const float pixels[] = {80, 20, 25, 38};
  const auto groups = group_ceilings(pixels, 15);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0], (std::vector<std::size_t>{1, 2, 3}));
  EXPECT_EQ(groups[1], (std::vector<std::size_t>{0}));
  EXPECT_TRUE(group_ceilings({}, 15).empty());
}

}  // namespace
}  // namespace warpscope::ui::plot::roofline_test
