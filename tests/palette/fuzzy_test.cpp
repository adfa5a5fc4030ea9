#include <gtest/gtest.h>

#include "ui/palette/palette_box.h"

namespace warpscope::ui::fuzzy_test {
namespace {

using Places = std::vector<std::size_t>;

int score(std::string_view query, std::string_view title) {
  const auto match = fuzzy_match(query, title);
  EXPECT_TRUE(match.has_value()) << query << " in " << title;
  return match ? match->score : 0;
}

TEST(FuzzyMatch, NeedsAllLettersInTheirOrder) {
  EXPECT_TRUE(fuzzy_match("rst", "Reset"));
  EXPECT_FALSE(fuzzy_match("rts", "Reset"));
  EXPECT_FALSE(fuzzy_match("resett", "Reset"));
  EXPECT_FALSE(fuzzy_match("x", ""));
  EXPECT_TRUE(fuzzy_match("", "Reset"));
}

TEST(FuzzyMatch, CaseAndBlanksOfTheQueryDoNotCount) {
  EXPECT_EQ(fuzzy_match("KERTEN", "Kernels: tensor cores")->score,
            fuzzy_match("ker ten", "Kernels: tensor cores")->score);
  EXPECT_EQ(fuzzy_match(" ten ", "tensor")->places, (Places{0, 1, 2}));
}

TEST(FuzzyMatch, TellsThePlacesOfTheBestPlacing) {
  EXPECT_EQ(fuzzy_match("cf", "conv2d.forward: hopper")->places, (Places{0, 7}));
  EXPECT_EQ(fuzzy_match("hop", "the other: hopper")->places, (Places{11, 12, 13}));
  EXPECT_EQ(fuzzy_match("b", "Verify, Bench")->places, (Places{8}));
  EXPECT_EQ(fuzzy_match("reset", "Reset: first")->places, (Places{0, 1, 2, 3, 4}));
}

TEST(FuzzyMatch, LettersThatFollowEachOtherWin) {
  EXPECT_GT(score("tens", "xtensor"), score("tens", "xtxexnxs"));
}

TEST(FuzzyMatch, StartsOfWordsWin) {
  EXPECT_GT(score("cf", "conv2d.forward"), score("cf", "conv2dxforward"));
  EXPECT_GT(score("sp", "save plot"), score("sp", "saveplotxx"));
}

TEST(FuzzyMatch, ExactPrefixesWinAndTheWholeTitleMost) {
  EXPECT_GT(score("one st", "One step"), score("one st", "Over none: start"));
  EXPECT_GT(score("verify", "Verify"), score("verify", "Verify all"));
}

TEST(FuzzySort, EqualOnesStayInTheirOrder) {
  const std::vector<std::string> titles{"ab one", "zz", "ab two", "ab"};
  std::vector<std::size_t> order;
  for (const FuzzyHit& hit : fuzzy_sort("ab", titles)) order.push_back(hit.index);
  EXPECT_EQ(order, (std::vector<std::size_t>{3, 0, 2}));
  EXPECT_EQ(fuzzy_sort("", titles).size(), titles.size());
  EXPECT_EQ(fuzzy_sort("", titles)[2].index, 2U);
}

}  // namespace
}  // namespace warpscope::ui::fuzzy_test
