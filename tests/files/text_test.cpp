#include "gpu/files/text.h"

#include <string>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/files/utf8.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::files::text_test {
namespace {

TEST(Text, EditDistanceCountsInsertionsDeletionsAndReplacements) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("lerning_rate", "learning_rate"), 1);
}

TEST(Text, OfAFileIsReadUpToALimit) {
  const tests::TemporaryFolder folder;
  const std::string file = (folder / "a.txt").string();
  tests::write_text(file, std::string(100'000, 'x'));
  EXPECT_EQ(read_text(file).size(), 100'000u);
  EXPECT_EQ(read_text(file, 100'000).size(), 100'000u);
  EXPECT_EQ(tests::message_of<core::BadInput>([&] { read_text(file, 99'999); }),
            file + " has more than 99999 bytes, too many for what it is to be");
  EXPECT_THROW(read_text("/dev/zero", 1000), core::BadInput) << "it never ends";
}

TEST(Text, KeysOfManyPartsAreFound) {
  const auto repeated = [](const std::string& part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += part;
    return text;
  };
  EXPECT_TRUE(has_deep_key("[" + repeated("a.", 100) + "a]"));
  EXPECT_TRUE(has_deep_key(repeated("a.", 100) + "a = 1"));
  EXPECT_TRUE(has_deep_key("x = {" + repeated("\"a\" . ", 100) + "a = 1}"));
  EXPECT_FALSE(has_deep_key("[" + repeated("a.", 99) + "a]"));
  EXPECT_FALSE(has_deep_key(repeated("a.b = 1.5\n", 200))) << "each is short";
  EXPECT_FALSE(has_deep_key("x = [" + repeated("0.5, ", 200) + "]"));
  EXPECT_FALSE(has_deep_key("# " + repeated(".", 200) + "\nx = \"" + repeated(".\\\"", 200) + "\""));
}

TEST(Text, SentencesShowWhatIsOddAndLeaveOutTheMiddleOfLongNames) {
  EXPECT_EQ(sayable("a.png is damaged: \x03\n"), "a.png is damaged: \\x03\\n");
  EXPECT_EQ(sayable(""), "");
  const std::string path = "/" + std::string(200, 'a') + "/" + std::string(200, 'b') + " is not a file";
  EXPECT_EQ(sayable(path), path) << "files may have such names";
  EXPECT_EQ(sayable("there is no '" + std::string(100'000, 'x') + "'; valid: mlp"),
            "there is no '" + std::string(119, 'x') + "..." + std::string(57, 'x') + "'; valid: mlp");
  std::string umlauts = "a";
  for (int i = 0; i < 1000; ++i) umlauts += "\u00fc";
  EXPECT_EQ(escaped(sayable(umlauts)), sayable(umlauts)) << "cut between characters";
  std::string words;
  for (int i = 0; i < 10'000; ++i) words += "word ";
  EXPECT_LT(sayable(words).size(), 4000u);
  EXPECT_EQ(sayable(sayable(words)), sayable(words));
}

}  // namespace
}  // namespace warpscope::files::text_test
