#include "gpu/files/utf8.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace warpscope::files::utf8_test {
namespace {

using Points = std::vector<char32_t>;

TEST(Utf8, EveryCodePointOfEveryPlaneComesBack) {
  for (char32_t point = 0; point <= 0x10FFFF; ++point) {
    if (point >= 0xD800 && point <= 0xDFFF) continue;
    const std::string bytes = encode_utf8(point);
    ASSERT_EQ(decode_utf8(bytes), Points{point}) << static_cast<unsigned>(point);
    ASSERT_EQ(bytes.size(), point < 0x80 ? 1U : point < 0x800 ? 2U : point < 0x10000 ? 3U : 4U);
  }
}

TEST(Utf8, BrokenBytesAreOneForEachMaximalSubpart) {
  struct Case {
    std::string text;
    Points points;
  };
  const std::vector<Case> cases{
      {"", {}},
      {"a\x80z", {'a', kBroken, 'z'}},                             // a byte that begins nothing
      {"\xE2\x82", {kBroken}},                                     // ends too early
      {"\xE2\x82z", {kBroken, 'z'}},                               // is cut short
      {"\xF0\x9F\x98", {kBroken}},                                 //
      {"\xC0\xAF", {kBroken, kBroken}},                            // longer than need be
      {"\xE0\x80\xAF", {kBroken, kBroken, kBroken}},               //
      {"\xED\xA0\x80", {kBroken, kBroken, kBroken}},               // a surrogate
      {"\xF4\x90\x80\x80", {kBroken, kBroken, kBroken, kBroken}},  // more than U+10FFFF
      {"\xFF\xFE", {kBroken, kBroken}},
      // The Unicode Standard, table 3-8.
      {"a\xF1\x80\x80\xE1\x80\xC2"
       "b\x80"
       "c\x80\xBF"
       "d",
       {'a', kBroken, kBroken, kBroken, 'b', kBroken, 'c', kBroken, kBroken, 'd'}}};
  for (const Case& each : cases) EXPECT_EQ(decode_utf8(each.text), each.points) << each.text;
  EXPECT_EQ(valid_utf8("a\xE2\x82z"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(valid_utf8("gr\u00fc\u00dfe \U0001F600"), "gr\u00fc\u00dfe \U0001F600");
  EXPECT_EQ(encode_utf8(kBroken), "\xEF\xBF\xBD");
}

TEST(Utf8, AnyTwoBytesAreReadWithoutFailure) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string text{static_cast<char>(first), static_cast<char>(second)};
      const Points points = decode_utf8(text);
      EXPECT_GE(points.size(), 1U);
      EXPECT_LE(points.size(), 2U);
      EXPECT_EQ(decode_utf8(valid_utf8(text)).size(), points.size());
    }
  }
}

TEST(Utf8, CapitalLettersBecomeSmallOnes) {
  EXPECT_EQ(small_letter('A'), U'a');
  EXPECT_EQ(small_letter('Z'), U'z');
  EXPECT_EQ(small_letter('['), U'[');
  EXPECT_EQ(small_letter(U'\u00c4'), U'\u00e4');
  EXPECT_EQ(small_letter(U'\u00d7'), U'\u00d7') << "a multiplication sign";
  EXPECT_EQ(small_letter(U'\u03a9'), U'\u03c9');
  EXPECT_EQ(small_letter(U'\u0416'), U'\u0436');
  EXPECT_EQ(small_letter(U'\u0401'), U'\u0451');
  EXPECT_EQ(small_letter(kBroken), kBroken);
}

TEST(Utf8, BytesThatAreNoneStayApartInNames) {
  EXPECT_EQ(legible_utf8("caf\xE8"), "caf\\xe8");
  EXPECT_EQ(legible_utf8("caf\xE9 \xE2\x82"), "caf\\xe9 \\xe2\\x82");
  EXPECT_EQ(legible_utf8("new\nline, caf\u00e9"), "new\nline, caf\u00e9");
}

TEST(Utf8, WhatWouldControlATerminalOrASentenceIsEscaped) {
  EXPECT_EQ(escaped("a\n\r\t"), "a\\n\\r\\t");
  EXPECT_EQ(escaped("\x1b[31mred\x1b]0;title\x07\x7f"), "\\x1b[31mred\\x1b]0;title\\x07\\x7f");
  EXPECT_EQ(escaped(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(escaped("\u0085\u009b31m"), "\\u0085\\u009b31m") << "C1 in UTF-8";
  EXPECT_EQ(escaped("a\u202Egnp.exe\u2069\u200F"), "a\\u202egnp.exe\\u2069\\u200f") << "other directions";
  EXPECT_EQ(escaped("\u2028\u2029\uFEFF\u200B\U000E0041"), "\\u2028\\u2029\\ufeff\\u200b\\U000e0041");
  EXPECT_EQ(escaped("caf\xE9 \xE2\x82 \x9b"), "caf\\xe9 \\xe2\\x82 \\x9b") << "no UTF-8";
}

TEST(Utf8, EscapingLeavesWhatPeopleWrite) {
  const std::string text =
      "C:\\new\\x1b, \u00e9\u00df \u4e2d\u6587 \u05e2\u05d1\u05e8\u05d9\u05ea \U0001F680 "
      "\U0001F469\u200D\U0001F4BB \u00b5s \u2013";
  EXPECT_EQ(escaped(text), text);
  const std::string odd = "\x1b[0m\n\u202e\xff";
  EXPECT_EQ(escaped(escaped(odd)), escaped(odd));
  EXPECT_EQ(escaped("a\tb\nc\r\x1b", Keep::lines), "a\tb\nc\\r\\x1b");
}

}  // namespace
}  // namespace warpscope::files::utf8_test
