#include "ui/panels/curves/step_pointer.h"

#include <gtest/gtest.h>

namespace warpscope::ui::step_pointer_test {
namespace {

using Hand = StepPointer::Hand;

TEST(StepPointer, ShowsTheStepUnderItAndGivesBackTheOneBefore) {
  StepPointer pointer;
  Cursor cursor;
  cursor.step = 7;
  pointer.move(cursor, {.over = true, .moved = true, .step = 100});
  EXPECT_EQ(cursor.step, 100u);
  EXPECT_EQ(pointer.kept(cursor), 7u);
  pointer.move(cursor, {.over = true, .moved = true, .step = 120});
  EXPECT_EQ(cursor.step, 120u);
  pointer.move(cursor, {});
  EXPECT_EQ(cursor.step, 7u);
}

TEST(StepPointer, AStepIsOnlyPassingWhereNoneIsPinned) {
  StepPointer pointer;
  Cursor cursor;
  pointer.move(cursor, {.over = true, .moved = true, .step = 100});
  EXPECT_TRUE(cursor.passing);
  pointer.move(cursor, {.over = true, .clicked = true, .step = 100});
  EXPECT_FALSE(cursor.passing);
  pointer.move(cursor, {.over = true, .moved = true, .step = 50});
  EXPECT_FALSE(cursor.passing) << "the pinned one comes back";
  pointer.move(cursor, {});
  EXPECT_EQ(cursor.step, 100u);
  EXPECT_TRUE(let_step_go(cursor));
  EXPECT_FALSE(let_step_go(cursor));
  pointer.move(cursor, {.over = true, .moved = true, .step = 50});
  EXPECT_TRUE(cursor.passing);
  pointer.move(cursor, {});
  EXPECT_FALSE(cursor.passing);
}

TEST(StepPointer, AClickKeepsTheStepAndAClickOnItLetsItGo) {
  StepPointer pointer;
  Cursor cursor;
  pointer.move(cursor, {.over = true, .moved = true, .step = 100});
  pointer.move(cursor, {.over = true, .clicked = true, .step = 100});
  EXPECT_EQ(pointer.kept(cursor), 100u);
  pointer.move(cursor, {});
  EXPECT_EQ(cursor.step, 100u);
  pointer.move(cursor, {.over = true, .clicked = true, .on_kept = true, .step = 101});
  pointer.move(cursor, {});
  EXPECT_FALSE(cursor.step) << "the newest again";
}

TEST(StepPointer, ADoubleClickKeepsNothing) {
  StepPointer pointer;
  Cursor cursor;
  cursor.step = 7;
  pointer.move(cursor, {.over = true, .moved = true, .step = 100});
  pointer.move(cursor, {.over = true, .clicked = true, .step = 100});
  pointer.move(cursor, {.over = true, .doubled = true, .step = 100});
  pointer.move(cursor, {});
  EXPECT_EQ(cursor.step, 7u);
}

TEST(StepPointer, AtTheNewestStepItFollowsTheTraining) {
  StepPointer pointer;
  Cursor cursor;
  cursor.step = 7;
  pointer.move(cursor, {.over = true, .moved = true, .clicked = true});
  EXPECT_FALSE(cursor.step);
  pointer.move(cursor, {});
  EXPECT_FALSE(cursor.step);
}

TEST(StepPointer, OverTheNewestStepThePinnedOneIsLetGo) {
  StepPointer pointer;
  Cursor cursor;
  cursor.step = 7;
  pointer.move(cursor, {.over = true, .moved = true});
  EXPECT_FALSE(cursor.step) << "the newest is shown";
  EXPECT_TRUE(pointer.let_go(cursor)) << "there was one to let go";
  EXPECT_FALSE(pointer.let_go(cursor));
  pointer.move(cursor, {});
  EXPECT_FALSE(cursor.step);
}

TEST(StepPointer, WhoeverMovesTheCursorMeanwhileIsRight) {
  StepPointer pointer;
  Cursor cursor;
  pointer.move(cursor, {.over = true, .moved = true, .step = 100});
  cursor.step = 55;  // the slider of the pictures plays
  pointer.move(cursor, {.over = true, .step = 100});
  EXPECT_EQ(cursor.step, 55u) << "the pointer rests";
  pointer.move(cursor, {});
  EXPECT_EQ(cursor.step, 55u);
  pointer.move(cursor, {.over = true, .moved = true, .step = 60});
  pointer.move(cursor, {});
  EXPECT_EQ(cursor.step, 55u);
}

TEST(StepPointer, APointerThatRestsChangesNothing) {
  StepPointer pointer;
  Cursor cursor;
  pointer.move(cursor, {.over = true, .step = 100});
  EXPECT_FALSE(cursor.step) << "the window was opened under it";
}

}  // namespace
}  // namespace warpscope::ui::step_pointer_test
