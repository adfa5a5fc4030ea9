#include "gpu/data/text_encoding.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"

namespace warpscope::data::text_encoding_test {
namespace {

using Bytes = std::vector<std::uint8_t>;

TEST(TextEncoding, ReadsBackwards) {
  const Alphabet alphabet("abc");
  EXPECT_EQ(alphabet.encode("abc", 5), (Bytes{3, 2, 1, 0, 0}));
  EXPECT_EQ(alphabet.encode("a c", 5), (Bytes{3, 0, 1, 0, 0})) << "a blank is not in the alphabet";
  EXPECT_EQ(alphabet.encode("abcabc", 4), (Bytes{1, 3, 2, 1})) << "the first four characters";
  EXPECT_EQ(alphabet.encode("", 3), (Bytes{0, 0, 0}));
}

TEST(TextEncoding, FoldsCapitalsUnlessTheAlphabetHasSome) {
  EXPECT_EQ(Alphabet("ab").encode("AB", 2), (Bytes{2, 1}));
  EXPECT_EQ(Alphabet("abA").encode("AB", 2), (Bytes{0, 3}));
  EXPECT_EQ(Alphabet("\u00e4\u0436").encode("\u00c4\u0416", 2), (Bytes{2, 1}));
}

TEST(TextEncoding, ACharacterIsACodePointOfAnyPlane) {
  const Alphabet alphabet("\u00e9\u20ac\U0001F600\U000E0041\U00100000");
  EXPECT_EQ(alphabet.size(), 5);
  EXPECT_EQ(alphabet.encode("\U00100000\U000E0041\U0001F600\u20ac\u00e9", 6), (Bytes{1, 2, 3, 4, 5, 0}));
  EXPECT_EQ(alphabet.encode("\u00e9\U0001F601", 2), (Bytes{0, 1}));
}

TEST(TextEncoding, BrokenSequencesAreCharactersThatAreNotThere) {
  const Alphabet alphabet("ab");
  EXPECT_EQ(alphabet.encode("a\xE2\x82"
                            "b",
                            4),
            (Bytes{2, 0, 1, 0}));
  EXPECT_EQ(alphabet.encode("a\xFF\xFF"
                            "b",
                            4),
            (Bytes{2, 0, 0, 1}));
  EXPECT_EQ(alphabet.encode("\xF0\x9F", 2), (Bytes{0, 0}));
}

TEST(TextEncoding, CutsLongTextsAtTheSamePlaceWhateverTheirBytes) {
  const Alphabet alphabet("\U0001F600z");
  std::string text;
  for (int i = 0; i < 100; ++i) text += "\U0001F600";
  text += "z";
  const Bytes all = alphabet.encode(text, 100);
  EXPECT_EQ(all, Bytes(100, 1));
  EXPECT_EQ(alphabet.encode(text, 101).front(), 2);
}

TEST(TextEncoding, TellsWhatItHasSeen) {
  const Alphabet alphabet("abc");
  EXPECT_EQ(alphabet.decode(alphabet.encode("AbX c", 8)), "ab\u00b7\u00b7c");
  EXPECT_EQ(alphabet.decode(alphabet.encode("", 8)), "");
}

TEST(TextEncoding, TakesAllBytesAndNoMore) {
  std::string most;
  for (int i = 0; i < 255; ++i)
    most += static_cast<char>(0xC4 + i / 64), most += static_cast<char>(0x80 + i % 64);
  EXPECT_EQ(Alphabet(most).size(), 255);
  EXPECT_EQ(Alphabet(most).encode(most, 255).front(), 255);
  EXPECT_THROW(Alphabet(most + "z"), core::BadInput);
  EXPECT_THROW(Alphabet(""), core::BadInput);
  EXPECT_THROW(Alphabet("aba"), core::BadInput);
  EXPECT_THROW(Alphabet("a\xFF"), core::BadInput);
}

}  // namespace
}  // namespace warpscope::data::text_encoding_test
