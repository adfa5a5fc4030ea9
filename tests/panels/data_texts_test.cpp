#include "ui/panels/data_texts.h"

#include <gtest/gtest.h>

namespace warpscope::ui {
namespace {

TEST(ShownText, HasNothingThatCannotBeShown) {
  data::ImageSet set;
  set.texts = {"two\nlines", "bad \xFF byte", " \t"};
  EXPECT_EQ(shown_text(set, 0), "two lines");
  EXPECT_EQ(shown_text(set, 1), "bad \xEF\xBF\xBD byte");
  EXPECT_EQ(shown_text(set, 2), "(empty)");
  EXPECT_EQ(shown_text(set, 3), "(empty)");
}

TEST(SaidOfTexts, NamesWhatTheDataHold) {
  EXPECT_EQ(said_of_texts("An image, an image of 3 images, images/s"), "A text, a text of 3 texts, texts/s");
  EXPECT_EQ(said_of_texts("nothing else"), "nothing else");
}

}  // namespace
}  // namespace warpscope::ui
