#include "ui/panels/data_texts.h"

#include <gtest/gtest.h>

namespace warpscope::ui::data_texts_test {
namespace {

TEST(ShownText, HasNothingThatCannotBeShown) {
  auto set = std::make_shared<data::DataSet>();
  set->test = {1, 1, 1, 3, {1, 2, 3}, {0, 0, 0}, {"two\nlines", "bad \xFF byte", " \t"}};
  const auto data = training::view_of(set);
  const auto shown = [&](std::int64_t number) { return shown_text(*data, training::DataPart::test, number); };
  EXPECT_EQ(shown(0), "two lines");
  EXPECT_EQ(shown(1), "bad \xEF\xBF\xBD byte");
  EXPECT_EQ(shown(2), "(empty)");
  EXPECT_EQ(shown(3), "...");
}

TEST(ClassNames, AreEscaped) {
  auto set = std::make_shared<data::DataSet>();
  set->classes = {"red\x1b[31m\n", "", "a\u202e\xFF"};
  const auto data = training::view_of(set);
  EXPECT_EQ(class_name(data.get(), 0), "red\\x1b[31m\\n");
  EXPECT_EQ(class_name(data.get(), 1), "1");
  EXPECT_EQ(class_name(data.get(), 2), "a\\u202e\\xff");
  EXPECT_EQ(class_name(data.get(), 3), "3");
}

TEST(SaidOfTexts, NamesWhatTheDataHold) {
  EXPECT_EQ(said_of_texts("An image, an image of 3 images, images/s"), "A text, a text of 3 texts, texts/s");
  EXPECT_EQ(said_of_texts("nothing else"), "nothing else");
  EXPECT_EQ(said_of_texts("median images/s"), "median texts/s") << "an article is a word of its own";
}

}  // namespace
}  // namespace warpscope::ui::data_texts_test
