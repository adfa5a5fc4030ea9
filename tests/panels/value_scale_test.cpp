// Sliders and typed numbers.

#include <cmath>

#include <gtest/gtest.h>

#include "ui/widgets/value_field.h"

namespace warpscope::ui::value_scale_test {
namespace {

constexpr ValueScale kRate{.low = 1e-6, .high = 1, .logarithmic = true};
constexpr ValueScale kClip{.low = 1e-3, .high = 100, .logarithmic = true, .zero = true};
constexpr ValueScale kMomentum{.low = 0, .high = 0.999};
constexpr ValueScale kPatience{.low = 0, .high = 20, .integer = true};

TEST(ValueScale, EndsAreTheEnds) {
  for (const ValueScale& scale : {kRate, kMomentum, kPatience}) {
    EXPECT_DOUBLE_EQ(value_at(scale, 0), scale.low);
    EXPECT_DOUBLE_EQ(value_at(scale, 1), scale.high);
    EXPECT_DOUBLE_EQ(value_at(scale, -3), scale.low);
    EXPECT_DOUBLE_EQ(value_at(scale, 7), scale.high);
  }
}

TEST(ValueScale, AValueReturnsToItsPosition) {
  for (const ValueScale& scale : {kRate, kClip}) {
    for (double position = 0.1; position < 1; position += 0.1) {
      EXPECT_NEAR(position_of(scale, value_at(scale, position)), position, 1e-3);
    }
  }
  for (double position = 0; position <= 1; position += 0.1) {
    EXPECT_NEAR(position_of(kMomentum, value_at(kMomentum, position)), position, 1e-3);
  }
}

TEST(ValueScale, LogarithmicValuesHaveThreeDigits) {
  EXPECT_DOUBLE_EQ(value_at(kRate, 0.5), 0.001);
  EXPECT_DOUBLE_EQ(value_at(kRate, 0.55), 0.002);  // 1.995e-3
  EXPECT_DOUBLE_EQ(value_at(kRate, 0.6), 0.00398);
}

TEST(ValueScale, LinearValuesAreRoundToAThousandthOfTheRange) {
  EXPECT_DOUBLE_EQ(value_at(kMomentum, 0.90061), 0.9);
  EXPECT_DOUBLE_EQ(value_at(kPatience, 0.49), 10);
}

TEST(ValueScale, TheLeftEndCanStandForZero) {
  EXPECT_EQ(value_at(kClip, 0), 0);
  EXPECT_EQ(value_at(kClip, 0.03), 0);
  EXPECT_DOUBLE_EQ(value_at(kClip, 0.0401), 0.001);
  EXPECT_EQ(position_of(kClip, 0), 0);
  EXPECT_GT(position_of(kClip, 0.001), 0.03);
  EXPECT_EQ(position_of(kRate, 0), 0);
}

TEST(ValueScale, ValuesBeyondTheEndsStandAtThem) {
  EXPECT_EQ(position_of(kRate, 50), 1);
  EXPECT_EQ(position_of(kMomentum, -1), 0);
}

TEST(ValueLimits, TellWhatIsValid) {
  const ValueLimits share{.least = 0, .most = 1, .below_most = true};
  EXPECT_TRUE(is_valid(share, 0));
  EXPECT_TRUE(is_valid(share, 0.999));
  EXPECT_FALSE(is_valid(share, 1));
  EXPECT_FALSE(is_valid(share, std::nan("")));
  EXPECT_EQ(range_text(share), "a number from 0 to below 1");
  const ValueLimits rate{.least = 0, .most = 1e6, .above_least = true};
  EXPECT_FALSE(is_valid(rate, 0));
  EXPECT_EQ(range_text(rate), "a number above 0");
  const ValueLimits batch{.least = 1, .most = 65536, .integer = true};
  EXPECT_FALSE(is_valid(batch, 2.5));
  EXPECT_EQ(range_text(batch), "a whole number from 1 to 65,536");
  EXPECT_EQ(range_text({.least = 0, .most = 1, .above_least = true}), "a number above 0 and at most 1");
  EXPECT_EQ(range_text({.least = 0, .most = 1, .above_least = true, .below_most = true}),
            "a number above 0 and below 1");
  EXPECT_EQ(range_text({.least = 0, .most = 1e9}), "a number of at least 0");
  EXPECT_EQ(range_text({.least = 0, .most = 1e6, .above_least = true}, 1e30),
            "a number above 0 and at most 1e+06");
}

TEST(FieldText, HasFourDigitsOrAWord) {
  EXPECT_EQ(field_text(0.005, false, ""), "0.005");
  EXPECT_EQ(field_text(static_cast<double>(0.9f), false, ""), "0.9");
  EXPECT_EQ(field_text(1e-8, false, ""), "1e-08");
  EXPECT_EQ(field_text(65536, true, ""), "65536");
  EXPECT_EQ(field_text(1e4, false, ""), "10000");
  EXPECT_EQ(field_text(0, false, "off"), "off");
  EXPECT_EQ(field_text(0, false, ""), "0");
}

const ValueSpec kRateField{.name = "rate",
                           .label = "learning rate",
                           .tip = "",
                           .limits = {.least = 0, .most = 1e6, .above_least = true}};
const ValueSpec kBatchField{
    .name = "batch", .label = "batch", .tip = "", .limits = {.least = 1, .most = 65536, .integer = true}};
const ValueSpec kClipField{.name = "clip",
                           .label = "clip norm",
                           .tip = "",
                           .limits = {.least = 0, .most = 100},
                           .scale = {},
                           .zero_text = "off"};

double taken(const ValueSpec& spec, std::string_view text) {
  const TypedValue typed = read_field(spec, text);
  EXPECT_EQ(typed.refusal, "") << text;
  return typed.value;
}

TEST(ReadField, TakesNumbersOnly) {
  EXPECT_EQ(taken(kRateField, "0.25"), 0.25);
  EXPECT_EQ(taken(kRateField, " 5e-4 "), 5e-4);
  EXPECT_EQ(taken(kClipField, "off"), 0.0);
  EXPECT_EQ(taken(kBatchField, "64"), 64);
  for (const char* const text :
       {"off", "", " ", "abc", "nan", "inf", "-nan", "1.2.3", "0.5x", "r 0.02r", ",", ",1,2", "0,,1"})
    EXPECT_EQ(read_field(kRateField, text).refusal, "learning rate must be a number above 0") << text;
  EXPECT_EQ(read_field(kRateField, "-1").refusal, "learning rate must be above 0");
  EXPECT_EQ(read_field(kRateField, "1e300").refusal, "learning rate must be above 0 and at most 1e+06");
}

TEST(ReadField, ACommaInANumberThatIsNotWholeIsADecimalComma) {
  EXPECT_EQ(taken(kRateField, "0,001"), 0.001);
  EXPECT_EQ(taken(kRateField, "0,1"), 0.1);
  EXPECT_EQ(taken(kRateField, "2,5e-4"), 2.5e-4);
  EXPECT_EQ(taken(kRateField, "12,0625"), 12.0625);
}

TEST(ReadField, CommasBetweenGroupsOfThreeDigitsAreLeftOut) {
  EXPECT_EQ(taken(kBatchField, "21,763"), 21763);
  EXPECT_EQ(taken(kRateField, "1,234.5"), 1234.5);
  EXPECT_EQ(taken(kRateField, "1,000,000"), 1e6);
  for (const char* const text : {"1,0", "1,00", "0,001", "2,1763", "1,0000", "64,", ",640", "1,000.0"})
    EXPECT_EQ(read_field(kBatchField, text).refusal, "batch must be a whole number from 1 to 65,536") << text;
}

TEST(ReadField, WhatMayMeanTwoNumbersIsRefused) {
  EXPECT_EQ(read_field(kRateField, "1,000").refusal,
            "1,000 may mean 1 or 1000: type the learning rate without the comma");
  EXPECT_EQ(read_field(kRateField, "12,345").refusal,
            "12,345 may mean 12.345 or 12345: type the learning rate without the comma");
}

}  // namespace
}  // namespace warpscope::ui::value_scale_test
