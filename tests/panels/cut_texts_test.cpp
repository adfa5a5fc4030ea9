#include "ui/text/cut_texts.h"

#include <gtest/gtest.h>

namespace warpscope::ui::cut_texts_test {
namespace {

TEST(CutNumbers, ANumberIsLeftOutWholeRatherThanMadeAnother) {
  EXPECT_EQ(without_cut_number("step 4", "48"), "step ");
  EXPECT_EQ(without_cut_number("loss 0.", "0123"), "loss ");
  EXPECT_EQ(without_cut_number("12,3", "45 images"), "");
  EXPECT_EQ(without_cut_number("d = -0.", "5"), "d = ");
  EXPECT_EQ(without_cut_number("50", "% of all"), "");
}

TEST(CutNumbers, WordsWholeNumbersAndNamesStayAsTheyAre) {
  EXPECT_EQ(without_cut_number("epoc", "hs"), "epoc");
  EXPECT_EQ(without_cut_number("step 448", " of 500"), "step 448");
  EXPECT_EQ(without_cut_number("conv1", "2.forward"), "conv1");
  EXPECT_EQ(without_cut_number("", "12"), "");
  EXPECT_EQ(without_cut_number("step 4", ""), "step 4");
}

}  // namespace
}  // namespace warpscope::ui::cut_texts_test
