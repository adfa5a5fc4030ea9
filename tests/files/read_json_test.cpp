#include "gpu/files/read_json.h"

#include <string>

#include <gtest/gtest.h>

namespace warpscope::files::read_json_test {
namespace {

std::string nested(int depth) {
  return std::string(static_cast<std::size_t>(depth), '[') +
         std::string(static_cast<std::size_t>(depth), ']');
}

TEST(ReadJson, TakesWhatIsJson) {
  EXPECT_EQ(read_json(R"({"a": [1, {"b": "x"}]})").at("a").at(1).at("b"), "x");
  EXPECT_EQ(read_json("7"), 7);
  EXPECT_FALSE(read_json(nested(64)).is_discarded());
}

TEST(ReadJson, DiscardsWhatIsNot) {
  for (const char* text : {"", "{", "{\"a\":}", "NaN", "{} {}", "\xff"})
    EXPECT_TRUE(read_json(text).is_discarded()) << text;
}

TEST(ReadJson, DiscardsWhatIsTooDeepToFollow) {
  EXPECT_TRUE(read_json(nested(65)).is_discarded());
  EXPECT_TRUE(read_json("{\"configuration\": " + nested(1'000'000) + "}").is_discarded());
  std::string objects;
  for (int i = 0; i < 65; ++i) objects += "{\"a\":";
  EXPECT_TRUE(is_deep_json(objects)) << "however it ends";
}

TEST(ReadJson, BracketsInTextsAndSideBySideAreNotDeep) {
  const std::string brackets(100, '[');
  EXPECT_EQ(read_json("\"" + brackets + "\""), brackets);
  EXPECT_EQ(read_json("[\"\\\"" + brackets + "\"]").at(0), "\"" + brackets);
  EXPECT_EQ(read_json("[\"\\\\\", " + nested(63) + "]").size(), 2u) << "a backslash ends no text";
  EXPECT_TRUE(is_deep_json("[\"\\\\\", " + nested(64) + "]"));
  std::string row = "[";
  for (int i = 0; i < 100; ++i) row += "[],";
  EXPECT_EQ(read_json(row + "[]]").size(), 101u);
}

}  // namespace
}  // namespace warpscope::files::read_json_test
