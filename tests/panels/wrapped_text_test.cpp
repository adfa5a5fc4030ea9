#include <gtest/gtest.h>
#include <imgui.h>

#include "ui/widgets/fonts.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui::wrapped_text_test {
namespace {

class WrappedText : public testing::Test {
 protected:
  WrappedText() {
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
    font_ = load_fonts(1, 1).text;
    unsigned char* texels = nullptr;
    int width = 0, height = 0;
    ImGui::GetIO().Fonts->GetTexDataAsAlpha8(&texels, &width, &height);
  }
  ~WrappedText() override { ImGui::DestroyContext(); }

  const ImFont* font_ = nullptr;
};

TEST_F(WrappedText, BreaksOnlyBetweenWords) {
  // Dear ImGui would put "3," into the first line.
  const float width = text_width(font_, "It took 3,3");
  EXPECT_EQ(wrapped(font_, "It took 3,358 s", width), "It took\n3,358 s");
  EXPECT_EQ(wrapped(font_, "It took 0.001", width), "It took\n0.001");
}

TEST_F(WrappedText, WhatFitsStaysAsItIs) {
  const float width = text_width(font_, "It took 3,358 steps");
  for (const char* const text : {"", "\n", "a\n", "\na", "It took 3,358 steps", "  a  b\n  c"})
    EXPECT_EQ(wrapped(font_, text, width), text);
  EXPECT_EQ(wrapped(font_, "a  b\nIt took 3,358 steps and more\nc", width),
            "a  b\nIt took 3,358 steps\nand more\nc");
}

TEST(Sentences, BeginWithACapitalUnlessTheyBeginWithAName) {
  EXPECT_EQ(sentence("the loss fell"), "The loss fell.");
  EXPECT_EQ(sentence("finished."), "Finished.");
  EXPECT_EQ(sentence("mine.cpp, line 20 does not compile"), "mine.cpp, line 20 does not compile.");
  EXPECT_EQ(sentence("relu.forward user:mine is right in 30 calls"),
            "relu.forward user:mine is right in 30 calls.");
  EXPECT_EQ(sentence(""), "");
}

}  // namespace
}  // namespace warpscope::ui::wrapped_text_test
