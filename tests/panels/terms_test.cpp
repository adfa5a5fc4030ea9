#include "ui/terms.h"

#include <algorithm>
#include <cctype>
#include <string>

#include <gtest/gtest.h>

#include "ui/panels/panel_table.h"

namespace warpscope::ui {
namespace {

TEST(Terms, AreSentencesInTheOrderOfTheAlphabet) {
  std::string before;
  for (const Term& term : terms()) {
    std::string name(term.name);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    EXPECT_LT(before, name);
    before = name;
    const std::string sentence(term.sentence);
    EXPECT_TRUE(std::isupper(static_cast<unsigned char>(sentence.front()))) << sentence;
    EXPECT_EQ(sentence.find(". "), std::string::npos) << sentence;
    EXPECT_EQ(sentence.back(), '.') << sentence;
    EXPECT_LE(sentence.size(), 120U) << sentence;
  }
}

TEST(Terms, TheTabsOfTheTrainingAreExplained) {
  for (const char* const title : TrainingPanel::tabs()) EXPECT_NE(explain(title), "") << title;
}

TEST(Terms, AreFoundHoweverTheyAreWritten) {
  EXPECT_EQ(explain("psnr"), explain("PSNR"));
  EXPECT_NE(explain("PSNR"), "");
  EXPECT_EQ(explain("PS"), "");
  EXPECT_EQ(explain(""), "");
}

}  // namespace
}  // namespace warpscope::ui
