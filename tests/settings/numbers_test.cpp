#include "gpu/settings/numbers.h"

#include <limits>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/core/random.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::training::numbers_test {
namespace {

using core::BadInput;
using nlohmann::json;
using tests::holds;
using tests::message_of;

TEST(Numbers, ReadsWholeFiniteNumbersAlone) {
  EXPECT_EQ(parse_number("0.3"), 0.3);
  EXPECT_EQ(parse_number("1e4"), 10000.0);
  EXPECT_EQ(parse_number("-2"), -2.0);
  for (const char* text : {"", " 1", "1 ", "1x", "inf", "nan", "-inf", "1e999", "0x10", "+1", "1,5", "e4"}) {
    EXPECT_FALSE(parse_number(text).has_value()) << text;
  }
}

TEST(Numbers, ShortestReadsWellAndComesBack) {
  EXPECT_EQ(json(shortest(0.005f)).dump(), "0.005");
  EXPECT_EQ(json(shortest(1e-8f)).dump(), "1e-08");
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const std::uint64_t bits = core::random_bits(3, i);
    const float value = static_cast<float>(static_cast<double>(bits >> 11) * 1e-16) *
                        (bits % 2 == 0 ? 1e-12f : 1e20f) * (bits % 4 < 2 ? -1.0f : 1.0f);
    ASSERT_EQ(static_cast<float>(shortest(value)), value);
  }
  constexpr float kLargest = std::numeric_limits<float>::max();
  EXPECT_EQ(static_cast<float>(shortest(kLargest)), kLargest);
}

TEST(Numbers, FieldsOfJsonAreReadStrictly) {
  const json object = {{"a", 0.5}, {"whole", 7}, {"minus", -1}, {"text", "x"}, {"none", nullptr}};
  EXPECT_EQ(number_field(object, "a", "the thing", 0, 1), 0.5);
  EXPECT_EQ(number_field(object, "whole", "the thing", 0, 7), 7.0);
  EXPECT_EQ(count_field(object, "whole", "the thing", 7), 7u);
  EXPECT_EQ(count_field(json::parse(R"({"whole":18446744073709551615})"), "whole", "it",
                        std::numeric_limits<std::uint64_t>::max()),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(optional_number_field(object, "none", "the thing"), std::nullopt);
  EXPECT_EQ(optional_number_field(object, "a", "the thing"), 0.5);

  const auto refusal = [&](auto&& call) { return message_of<BadInput>(call); };
  EXPECT_TRUE(holds(refusal([&] { number_field(object, "b", "the thing", 0, 1); }), {"the thing", "'b'"}));
  EXPECT_TRUE(holds(refusal([&] { number_field(object, "text", "the thing", 0, 1); }),
                    {"the thing", "'text'", "\"x\"", "from 0 to 1"}));
  EXPECT_TRUE(holds(refusal([&] { number_field(object, "whole", "the thing", 0, 1); }), {"'whole'", "7"}));
  EXPECT_TRUE(holds(refusal([&] { number_field(object, "none", "the thing", 0, 1); }), {"null"}));
  EXPECT_TRUE(holds(refusal([&] { count_field(object, "a", "the thing", 9); }), {"0.5", "whole number"}));
  EXPECT_TRUE(holds(refusal([&] { count_field(object, "minus", "the thing", 9); }), {"-1"}));
  EXPECT_TRUE(holds(refusal([&] { count_field(object, "whole", "the thing", 6); }), {"7", "0 to 6"}));
  EXPECT_TRUE(holds(refusal([&] { optional_number_field(object, "text", "the thing"); }), {"'text'"}));
  EXPECT_TRUE(
      holds(refusal([&] { count_field(json::array(), "a", "the thing", 9); }), {"the thing", "array"}));
}

}  // namespace
}  // namespace warpscope::training::numbers_test
