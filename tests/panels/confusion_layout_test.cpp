#include <cmath>

#include <gtest/gtest.h>

#include "ui/panels/pictures/confusion_matrix.h"

namespace warpscope::ui::confusion_layout_test {
namespace {

MatrixSpace space(float width, float height, int classes, float scale = 1) {
  MatrixSpace result;
  result.width = width;
  result.height = height;
  result.classes = classes;
  result.longest_name = 72 * scale;
  result.label_width = 56 * scale;
  result.sum_width = 44 * scale;
  result.rate_width = 48 * scale;
  result.line = 17 * scale;
  result.scale = scale;
  return result;
}

TEST(ConfusionLayout, ShowsEverythingWhereThereIsRoom) {
  for (const float scale : {1.0f, 1.5f, 2.0f}) {
    const MatrixSpace room = space(760 * scale, 420 * scale, 10, scale);
    const MatrixLayout layout = arrange_matrix(room);
    EXPECT_GT(layout.recall_right, layout.sum_right);
    EXPECT_GT(layout.sum_right, layout.cells_right(10));
    EXPECT_GT(layout.precision_top, layout.sum_top);
    EXPECT_GT(layout.sum_top, layout.cells_bottom(10));
    EXPECT_GE(layout.name_width, 72 * scale);
    EXPECT_LE(layout.width, room.width);
    EXPECT_LE(layout.height, room.height);
  }
}

TEST(ConfusionLayout, NamesAboveStandUprightWhereTheyDoNotFit) {
  EXPECT_TRUE(arrange_matrix(space(400, 420, 10)).turned);
  EXPECT_FALSE(arrange_matrix(space(760, 420, 3)).turned);
}

TEST(ConfusionLayout, TurnedNamesAreWholeWhereverTheirLengthEnds) {
  MatrixSpace room = space(400, 420, 10);
  for (const float length : {50.2f, 50.5f, 50.9f}) {
    room.longest_name = length;
    const MatrixLayout layout = arrange_matrix(room);
    ASSERT_TRUE(layout.turned);
    EXPECT_GE(layout.name_height, length);
  }
}

TEST(ConfusionLayout, LeavesOutFiguresInASmallPanel) {
  const MatrixLayout layout = arrange_matrix(space(240, 200, 10));
  EXPECT_EQ(layout.sum_top, 0);
  EXPECT_EQ(layout.sum_right, 0);
  EXPECT_GT(layout.name_width, 0);
  EXPECT_GE(layout.cell_height, 13);
  EXPECT_LE(layout.width, 240);
  EXPECT_LE(layout.height, 200);
}

TEST(ConfusionLayout, DigitsNeedLittleRoomForNames) {
  MatrixSpace digits = space(380, 180, 10);
  digits.longest_name = 8;
  const MatrixLayout layout = arrange_matrix(digits);
  EXPECT_FALSE(layout.turned);
  EXPECT_GT(layout.recall_right, 0);
  EXPECT_LE(layout.height, 180);
}

TEST(ConfusionLayout, ShortNamesLeaveRoomForTheLabelsBelow) {
  MatrixSpace digits = space(760, 420, 10);
  digits.longest_name = 8.3f;
  digits.label_width = 70.7f;
  const MatrixLayout layout = arrange_matrix(digits);
  EXPECT_GT(layout.precision_top, 0);
  EXPECT_GE(layout.name_width, digits.label_width);
}

TEST(ConfusionLayout, NeverMakesNamedCellsTooSmallToRead) {
  for (int classes = 2; classes <= kMostNamedClasses; ++classes) {
    const MatrixLayout layout = arrange_matrix(space(200, 120, classes));
    EXPECT_GE(layout.cell_width, 14);
    EXPECT_GE(layout.cell_height, 13);
    EXPECT_GE(layout.height, layout.cells_bottom(classes));
  }
}

TEST(ConfusionLayout, FewClassesDoNotGrowWithoutEnd) {
  const MatrixLayout layout = arrange_matrix(space(3000, 2000, 2));
  EXPECT_LE(layout.cell_width, 88);
  EXPECT_LE(layout.cell_height, 48);
}

TEST(ConfusionLayout, ManyClassesAreWholePixelsWithoutNames) {
  const MatrixLayout layout = arrange_matrix(space(700, 400, 100));
  EXPECT_EQ(layout.name_width, 0);
  EXPECT_EQ(layout.sum_right, 0);
  EXPECT_EQ(layout.cell_width, 6);
  EXPECT_EQ(layout.cell_height, 3);
  const MatrixLayout most = arrange_matrix(space(200, 200, 256));
  EXPECT_EQ(most.cell_width, 1);
  EXPECT_GE(most.width, 256);
}

TEST(ConfusionLayout, FindsWhatIsUnderThePointer) {
  const MatrixLayout layout = arrange_matrix(space(760, 420, 10));
  const auto at = [&](float column, float row) {
    return hit_matrix(layout, 10, layout.left + column * layout.cell_width,
                      layout.top + row * layout.cell_height);
  };
  ASSERT_TRUE(at(2.5f, 7.5f));
  EXPECT_EQ(at(2.5f, 7.5f)->truth, 7);
  EXPECT_EQ(at(2.5f, 7.5f)->predicted, 2);
  const auto name = hit_matrix(layout, 10, 4, layout.top + 3.5f * layout.cell_height);
  ASSERT_TRUE(name);
  EXPECT_EQ(name->truth, 3);
  EXPECT_EQ(name->predicted, -1);
  const auto precision =
      hit_matrix(layout, 10, layout.left + 9.5f * layout.cell_width, layout.precision_top + 2);
  ASSERT_TRUE(precision);
  EXPECT_EQ(precision->truth, -1);
  EXPECT_EQ(precision->predicted, 9);
  EXPECT_FALSE(hit_matrix(layout, 10, 4, 4));
  EXPECT_FALSE(hit_matrix(layout, 10, -1, 100));
  EXPECT_FALSE(hit_matrix(layout, 10, layout.width + 1, 100));
}

}  // namespace
}  // namespace warpscope::ui::confusion_layout_test
