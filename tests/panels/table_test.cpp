#include "ui/table.h"

#include <array>

#include <gtest/gtest.h>

namespace warpscope::ui {
namespace {

constexpr std::array<Column, 3> kColumns{{{"a", "", 100, 200},
                                          {.label = "b", .tip = "", .least = 50, .most = 50, .rank = 1},
                                          {.label = "c", .tip = "", .least = 80, .most = 120, .rank = 2}}};

TEST(ColumnEdges, GrowTogetherUpToTheirMost) {
  const ColumnEdges tight = column_edges(kColumns, 254, 1);
  EXPECT_EQ(tight.right[0] - tight.left[0], 100);
  EXPECT_EQ(tight.right[2] - tight.left[2], 80);
  EXPECT_EQ(tight.width, 254);
  const ColumnEdges half = column_edges(kColumns, 254 + 70, 1);
  EXPECT_EQ(half.right[0] - half.left[0], 150);
  EXPECT_EQ(half.right[2] - half.left[2], 100);
  const ColumnEdges wide = column_edges(kColumns, 2000, 1);
  EXPECT_EQ(wide.width, 200 + 12 + 50 + 12 + 120);
}

TEST(ColumnEdges, LeaveOutWhatMattersLeast) {
  const ColumnEdges without_c = column_edges(kColumns, 200, 1);
  EXPECT_EQ(without_c.left[2], without_c.right[2]);
  EXPECT_GT(without_c.right[1], without_c.left[1]);
  EXPECT_LE(without_c.width, 200);
  const ColumnEdges only_a = column_edges(kColumns, 60, 1);
  EXPECT_EQ(only_a.left[1], only_a.right[1]);
  EXPECT_EQ(only_a.width, 100);  // the first always stays: then the table scrolls to the side
}

TEST(ColumnEdges, FollowTheScale) {
  EXPECT_EQ(column_edges(kColumns, 508, 2).width, 508);
  EXPECT_EQ(column_edges({}, 100, 1).width, 0);
}

}  // namespace
}  // namespace warpscope::ui
