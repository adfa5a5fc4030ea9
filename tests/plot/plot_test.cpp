#include "ui/plot/plot.h"

#include <cmath>
#include <vector>

#include "tests/plot/plot_frames.h"

namespace warpscope::ui::plot::plot_test {
namespace {

// The pointer over a plot of y = 1 / x, x from 1 to 1,000.
class PlotMouse : public tests::PlotFrames {
 protected:
  PlotMouse() {
    for (int i = 1; i <= 1000; ++i) series_.append(i, 1.0f / static_cast<float>(i));
    lines_.push_back({.name = "train", .series = &series_});
    content_ = {.lines = lines_, .markers = {}, .x_label = "step"};
    frame(content_, away_);
    frame(content_, away_);
  }

  // x at a pixel, found by pointing there.
  double x_at(float pixel) { return frame(content_, ImVec2(pixel, 300)).pointer.value_or(-1); }

  const ImVec2 away_{1200, 900};
  Series series_;
  std::vector<Line> lines_;
  Content content_;
};

TEST_F(PlotMouse, PointingTellsTheNearestPoint) {
  const double left = x_at(200), right = x_at(600);
  EXPECT_GT(left, 1);
  EXPECT_GT(right, left);
  EXPECT_EQ(left, std::round(left)) << "a step, not a place between two";
  EXPECT_FALSE(frame(content_, away_).pointer);
}

TEST(PlotReadOut, ValuesOfOtherPlacesSayWhichTheyAreOf) {
  EXPECT_EQ(place_text({.lines = {}, .markers = {}, .x_unit = Unit::count, .x_label = "step"}, 1250),
            ", step 1,250");
  EXPECT_EQ(place_text({.lines = {}, .markers = {}, .x_unit = Unit::seconds, .x_label = "time, s"}, 100),
            ", at 1:40");
}

TEST_F(PlotMouse, ADragZoomsToItsRange) {
  const double left = x_at(300), right = x_at(500);
  const auto dragged = drag(content_, ImVec2(500, 250), ImVec2(300, 260));
  EXPECT_FALSE(dragged.held.pointer) << "nothing is pointed at meanwhile";
  EXPECT_FALSE(dragged.released.clicked);
  EXPECT_FALSE(view_.fit_x);
  EXPECT_NEAR(view_.x0, left, 2);
  EXPECT_NEAR(view_.x1, right, 2);
  EXPECT_NEAR(view_.y1, 1 / left, 0.1 / left) << "the values of the range fill the height";
}

TEST_F(PlotMouse, AClickIsNoDrag) {
  const auto clicked = drag(content_, ImVec2(300, 250), ImVec2(302, 251));
  ASSERT_TRUE(clicked.released.clicked);
  EXPECT_NEAR(*clicked.released.clicked, x_at(302), 1);
  EXPECT_FALSE(clicked.released.clicked_cursor);
  EXPECT_TRUE(view_.fit_x);
  content_.cursor = x_at(301);
  EXPECT_TRUE(drag(content_, ImVec2(300, 250), ImVec2(300, 250)).released.clicked_cursor);
}

TEST_F(PlotMouse, ADoubleClickShowsEverything) {
  drag(content_, ImVec2(300, 250), ImVec2(500, 250));
  ASSERT_FALSE(view_.fit_x);
  frame(content_, away_);
  seconds_ = 0.02f;
  drag(content_, ImVec2(400, 250), ImVec2(400, 250));
  ImGui::GetIO().MouseDown[0] = true;
  const Reply second = frame(content_, ImVec2(400, 250));
  EXPECT_TRUE(second.doubled);
  EXPECT_TRUE(second.measured_none);
  EXPECT_TRUE(view_.fit_x);
  ImGui::GetIO().MouseDown[0] = false;
  EXPECT_FALSE(frame(content_, ImVec2(400, 250)).clicked) << "its second click keeps no step";
}

TEST_F(PlotMouse, ARightDragMovesTheView) {
  drag(content_, ImVec2(300, 250), ImVec2(500, 250));
  const double left = view_.x0, width = view_.x1 - view_.x0;
  drag(content_, ImVec2(300, 250), ImVec2(400, 250), 1);
  EXPECT_LT(view_.x0, left);
  EXPECT_NEAR(view_.x1 - view_.x0, width, 1e-6);
  EXPECT_FALSE(view_.follow);
}

TEST_F(PlotMouse, ARightClickThatComesFromFarAwayOpensTheMenuAndMovesNothing) {
  frame(content_, ImVec2(600, 300));
  ImGui::GetIO().MouseDown[1] = true;
  frame(content_, ImVec2(300, 250));  // it came there in the frame of the press
  frame(content_, ImVec2(301, 250));
  ImGui::GetIO().MouseDown[1] = false;
  EXPECT_TRUE(frame(content_, ImVec2(301, 250)).menu);
  EXPECT_TRUE(view_.fit_x);
}

TEST_F(PlotMouse, ADragOverTheValueAxisZoomsTheValues) {
  drag(content_, ImVec2(20, 200), ImVec2(20, 300));
  EXPECT_FALSE(view_.fit_y);
  EXPECT_LT(view_.y1, 1);
  EXPECT_GT(view_.y0, 0);
  EXPECT_TRUE(view_.fit_x);
}

TEST_F(PlotMouse, AShiftDragMeasuresAndAShiftClickNoLonger) {
  const double left = x_at(300), right = x_at(500);
  const auto marked = drag(content_, ImVec2(300, 250), ImVec2(500, 250), 0, true);
  ASSERT_TRUE(marked.held.measured);
  EXPECT_NEAR(marked.held.measured->low, left, 1);
  EXPECT_NEAR(marked.held.measured->high, right, 1);
  EXPECT_TRUE(view_.fit_x) << "it does not zoom";
  EXPECT_FALSE(marked.released.measured_none);
  EXPECT_FALSE(marked.released.clicked);
  frame(content_, away_);
  const int without = vertices();
  content_.measured = marked.held.measured;
  frame(content_, away_);
  EXPECT_GT(vertices(), without + 50) << "figures and a line are drawn";
  EXPECT_TRUE(drag(content_, ImVec2(300, 250), ImVec2(300, 250), 0, true).released.measured_none);
}

TEST_F(PlotMouse, WhatIsPointedAtElsewhereIsReadOutHere) {
  frame(content_, away_);
  const int without = vertices();
  content_.pointer = 500;
  EXPECT_FALSE(frame(content_, away_).pointer) << "it is not pointed at here";
  EXPECT_GT(vertices(), without + 20);
  content_.pointer = 5000;
  frame(content_, away_);
  EXPECT_EQ(vertices(), without) << "out of view";
}

TEST_F(PlotMouse, LinkedPlotsShowTheRangeOfAllOfThem) {
  content_.span = Span{-500, 4000};
  frame(content_, away_);
  EXPECT_EQ(view_.x0, -500);
  EXPECT_EQ(view_.x1, 4000);
}

TEST_F(PlotMouse, OnALogarithmicAxisWhatIsNotPositiveIsLeftOut) {
  Series from_zero;
  for (int i = 0; i <= 1000; ++i) from_zero.append(i, static_cast<float>(i));
  lines_.front().series = &from_zero;
  set_log_x(view_, true);
  frame(content_, away_);
  EXPECT_EQ(view_.x0, 1);
  EXPECT_EQ(view_.x1, 1000);
  const double left = x_at(450), middle = x_at(550), right = x_at(650);
  EXPECT_NEAR(middle * middle / (left * right), 1, 0.1) << "equal ratios take equal room";
}

}  // namespace
}  // namespace warpscope::ui::plot::plot_test
