#include "gpu/core/types.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "gpu/core/error.h"

namespace warpscope::core::types_test {
namespace {

TEST(Types, EverySelectablePrecisionIsReadBackFromItsName) {
  ASSERT_FALSE(selectable_precisions().empty());
  for (const Precision precision : selectable_precisions()) {
    EXPECT_EQ(parse_precision(to_string(precision)), precision);
  }
}

TEST(Types, DoublePrecisionIsForTheReferenceAlone) {
  EXPECT_EQ(std::ranges::count(selectable_precisions(), Precision::fp64), 0);
  EXPECT_THROW(parse_precision("fp64"), BadInput);
}

TEST(Types, AnUnknownPrecisionListsTheValidOnes) {
  for (const char* wrong : {"", "FP32", "fp32 ", "int8"}) {
    try {
      parse_precision(wrong);
      FAIL() << "'" << wrong << "' was read";
    } catch (const BadInput& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("'" + std::string(wrong) + "'"), std::string::npos) << text;
      EXPECT_NE(text.find("fp32, tf32, fp16, bf16"), std::string::npos) << text;
    }
  }
}

TEST(Types, ElementsHaveTheSizeTheirNameSays) {
  EXPECT_EQ(size_of(ElementType::f64), 8u);
  EXPECT_EQ(size_of(ElementType::f32), 4u);
  EXPECT_EQ(size_of(ElementType::u32), 4u);
  EXPECT_EQ(size_of(ElementType::f16), 2u);
  EXPECT_EQ(size_of(ElementType::bf16), 2u);
  EXPECT_EQ(size_of(ElementType::u8), 1u);
  EXPECT_EQ(size_of(ElementType::bytes), 1u);
}

TEST(Types, NamesAreThoseOfTheCommandLine) {
  EXPECT_EQ(to_string(DeviceKind::cpu), "cpu");
  EXPECT_EQ(to_string(DeviceKind::cuda), "cuda");
  EXPECT_EQ(to_string(Precision::tf32), "tf32");
  EXPECT_EQ(to_string(Precision::fp64), "fp64");
  EXPECT_EQ(to_string(ElementType::bf16), "bf16");
  EXPECT_EQ(to_string(ElementType::u8), "u8");
}

}  // namespace
}  // namespace warpscope::core::types_test
