#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "ui/panels/pictures/predictions_panel.h"
#include "ui/panels/tinted_text.h"
#include "ui/widgets/theme.h"

namespace warpscope::ui::text_rows_test {
namespace {

using Lines = std::vector<std::pair<std::size_t, std::size_t>>;

float one(char32_t) {
  return 1;
}

/// "ab?d", of whose places the network has 3.
training::TextAttribution read_text() {
  training::TextAttribution text;
  text.text = "ab?d";
  text.target = 1;
  text.scores = {0.5f, 2.25f};
  text.shares = {0.125f, -0.5f, 0};
  text.known = {1, 1, 0};
  text.left_out = 1;
  return text;
}

TEST(TextRows, ShowOneCharacterForEachThatIsRead) {
  EXPECT_EQ(shown_characters("a\n\x7f\xc2\x85 \xc3\xa9"), U"a    \u00e9");
  EXPECT_EQ(shown_characters("\xff\xf0\x9f\x9a\x80"), U"\uFFFD\U0001F680");
  EXPECT_EQ(shown_characters(std::string_view("\0x", 2)), U" x");
  EXPECT_EQ(shown_characters(""), U"");
}

TEST(TextRows, ColoursAreToldWhereThereAreShares) {
  training::TextAttribution text = read_text();
  EXPECT_EQ(legend_ends(text), std::pair(std::string("-0.5"), std::string("+0.5")));
  text.shares = {0, 0, 0};
  EXPECT_EQ(legend_ends(text), std::nullopt);
  text.shares.clear();
  EXPECT_EQ(legend_ends(text), std::nullopt) << "an empty text";
}

TEST(TextRows, LinesBreakBehindBlanksAndWithinLongWords) {
  EXPECT_EQ(break_lines(U"ab cd ef", 5, 9, one), (Lines{{0, 6}, {6, 8}}));
  EXPECT_EQ(break_lines(U"ab cd ef", 4, 9, one), (Lines{{0, 3}, {3, 6}, {6, 8}}));
  EXPECT_EQ(break_lines(U"abcdefg", 3, 9, one), (Lines{{0, 3}, {3, 6}, {6, 7}}));
  EXPECT_EQ(break_lines(U"abcdefg", 3, 2, one), (Lines{{0, 3}, {3, 6}}));
  EXPECT_EQ(break_lines(U"a bcdefg", 3, 9, one), (Lines{{0, 2}, {2, 5}, {5, 8}}));
  EXPECT_EQ(break_lines(U"ab", 0, 9, one), (Lines{{0, 1}, {1, 2}}));
  EXPECT_EQ(break_lines(U"      ", 2, 9, one), (Lines{{0, 6}}));
  EXPECT_EQ(break_lines(U"", 3, 9, one), Lines{});
}

TEST(TextRows, TextCanBeReadOnEveryTintOfEveryTheme) {
  for (const ThemeRow& theme : themes()) {
    for (int i = -10; i <= 10; ++i) {
      const ImU32 back = share_colour(theme.palette, static_cast<float>(i) / 10);
      EXPECT_GE(contrast(theme.palette.text, back), 4.5) << theme.id << " " << i;
    }
    EXPECT_EQ(share_colour(theme.palette, 0), theme.palette.panel);
    EXPECT_NE(share_colour(theme.palette, -1), share_colour(theme.palette, 1));
    EXPECT_EQ(share_colour(theme.palette, 7), share_colour(theme.palette, 1));
    EXPECT_EQ(share_colour(theme.palette, std::nanf("")), theme.palette.panel);
  }
}

TEST(TextRows, SayWhatACharacterDoes) {
  const training::TextAttribution text = read_text();
  EXPECT_EQ(largest_share(text), 0.5f);
  EXPECT_EQ(character_text(text, 1, "dog"), "'b', character 2\nshare -0.5 in the score of dog\nscore 2.25");
  EXPECT_EQ(character_text(text, 2, "dog"),
            "'?', character 3, not in the alphabet\nshare +0 in the score of dog\nscore 2.25");
  EXPECT_EQ(character_text(text, 3, "dog"), "'d', character 4: left out, the network has no place for it.");
  training::TextAttribution lost = text;
  lost.shares = {std::nanf(""), std::numeric_limits<float>::infinity(), 0.25f};
  EXPECT_EQ(largest_share(lost), 0.25f);
}

TEST(TextRows, SayWhatWasReadAndWhatWasLeftOut) {
  training::TextAttribution text = read_text();
  EXPECT_EQ(
      reading_text(text, 3),
      "3 characters of 3 places, 1 not in the alphabet (underlined). The last 1 character is left out: the "
      "network reads no more.");
  text.left_out = 1200;
  EXPECT_NE(reading_text(text, 3).find("The last 1,200 characters are left out"), std::string::npos);
  text.left_out = 0;
  text.known = {1, 1, 1};
  text.blank_share = -0.25f;
  EXPECT_EQ(reading_text(text, 9), "3 characters of 9 places. Blank places: share -0.25.");
  EXPECT_EQ(reading_text({}, 9), "An empty text: all 9 places are blank.");
}

TEST(TextRows, ShowTheMostProbableOfManyClasses) {
  EXPECT_EQ(shown_classes({0.1, 0.7, 0.2}, 3), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(shown_classes({0.1, 0.6, 0.1, 0.2}, 3), (std::vector<int>{1, 3, 0}));
  EXPECT_EQ(shown_classes({std::nan(""), 0.6, 0.2}, 2), (std::vector<int>{1, 2}));
  EXPECT_TRUE(shown_classes({}, 2).empty());
}

TEST(TypedField, TakesWhatHasRoomOfAPastedText) {
  std::size_t cut = 7;
  EXPECT_EQ(pasteable("two\r\nlines", 99, cut), "two  lines");
  EXPECT_EQ(cut, 0u);
  EXPECT_EQ(pasteable("\xf0\x9f\x9a\x80\xff\xe4\xb8\xad", 99, cut), "\uFFFD\uFFFD\u4E2D");
  EXPECT_EQ(pasteable("abcdef", 4, cut), "abcd");
  EXPECT_EQ(cut, 2u);
  EXPECT_EQ(pasteable("abc", 0, cut), "");
  EXPECT_EQ(cut, 3u);
}

}  // namespace
}  // namespace warpscope::ui::text_rows_test
