// The reference's gradients against central differences of the reference's forward ops.

#include <string>

#include <gtest/gtest.h>

#include "gpu/verify/finite_differences.h"

namespace warpscope::verify::gradient_test {
namespace {

class Gradient : public testing::TestWithParam<ops::Op> {};

TEST_P(Gradient, IsThatOfCentralDifferences) {
  for (const std::uint64_t seed : {1, 2}) {
    EXPECT_LT(difference_error(GetParam(), seed), kDifferenceTolerance) << "seed " << seed;
  }
}

std::string test_name(const testing::TestParamInfo<ops::Op>& tested) {
  std::string name(to_string(tested.param));
  for (char& c : name) c = c == '.' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(Ops, Gradient,
                         testing::ValuesIn(differentiated_ops().begin(), differentiated_ops().end()),
                         test_name);

}  // namespace
}  // namespace warpscope::verify::gradient_test
