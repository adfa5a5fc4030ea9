// mixed_cross_entropy: the reference against the plain cross-entropies of both labels.

#include <cstring>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/ops/augment/mixup.h"
#include "gpu/ops/step/step.h"
#include "gpu/verify/op_check.h"
#include "gpu/verify/reference.h"

namespace warpscope::verify::mixed_cross_entropy_test {
namespace {

using core::Precision;
using ops::Name;
using ops::Op;
using ops::OpShape;
using Values = std::vector<double>;

constexpr OpShape kShape{.batch = 4, .in_channels = 3};
const Values kLogits{0.5, -1, 2, 3, 3, 1, -2, 0.25, 0, 1, 1.5, -4};

Bytes bytes_of(const ops::step::StepControl& control) {
  Bytes bytes(sizeof(control));
  std::memcpy(bytes.data(), &control, sizeof(control));
  return bytes;
}

Values result(Op op, const Values& labels, const ops::step::StepControl& control, Name name) {
  const Operands after = run_reference(op, kShape,
                                       {{Name::logits, encode(kLogits, core::ElementType::f64)},
                                        {Name::labels, encode(labels, core::ElementType::u8)},
                                        {Name::control, bytes_of(control)}});
  return operand_values(op, after, name, Precision::fp64);
}

/// One that mixes, with the wanted image in front.
ops::step::StepControl mixing(bool next_leads) {
  ops::step::StepControl control;
  control.loss_scale = 8;
  control.mixup = 0.7f;
  while (ops::augment::shares_of<double>(control).next_leads != next_leads) ++control.seed;
  return control;
}

TEST(MixedCrossEntropy, IsThatOfBothLabelsByTheirShares) {
  const Values own{2, 0, 1, 1}, next{0, 1, 1, 2};
  for (const bool next_leads : {false, true}) {
    const auto control = mixing(next_leads);
    const auto shares = ops::augment::shares_of<double>(control);
    for (const auto& [mixed, plain, name] :
         {std::tuple{Op::mixed_cross_entropy_forward, Op::cross_entropy_forward, Name::sample_losses},
          std::tuple{Op::mixed_cross_entropy_forward, Op::cross_entropy_forward, Name::loss},
          std::tuple{Op::mixed_cross_entropy_backward, Op::cross_entropy_backward, Name::gradient}}) {
      const Values found = result(mixed, own, control, name);
      const Values first = result(plain, own, control, name), second = result(plain, next, control, name);
      ASSERT_EQ(found.size(), first.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_NEAR(found[i], shares.own * first[i] + shares.next * second[i], 1e-12);
      }
    }
  }
}

TEST(MixedCrossEntropy, CountsTheLabelOfTheLargerShare) {
  // Predicted are 2, 0, 1, 1.
  EXPECT_EQ(result(Op::mixed_cross_entropy_forward, {2, 0, 1, 1}, mixing(false), Name::accuracy), Values{1});
  EXPECT_EQ(result(Op::mixed_cross_entropy_forward, {2, 0, 1, 1}, mixing(true), Name::accuracy),
            Values{0.25});
  EXPECT_EQ(result(Op::mixed_cross_entropy_forward, {1, 2, 0, 1}, mixing(true), Name::accuracy), Values{1});
}

TEST(MixedCrossEntropy, WithNothingMixedIsThePlainOne) {
  ops::step::StepControl control;
  control.loss_scale = 4;
  const Values labels{1, 0, 0, 2};
  for (const Name name : {Name::sample_losses, Name::loss, Name::accuracy, Name::predicted}) {
    EXPECT_EQ(result(Op::mixed_cross_entropy_forward, labels, control, name),
              result(Op::cross_entropy_forward, labels, control, name));
  }
  const Values mixed = result(Op::mixed_cross_entropy_backward, labels, control, Name::gradient);
  const Values plain = result(Op::cross_entropy_backward, labels, control, Name::gradient);
  for (std::size_t i = 0; i < mixed.size(); ++i) EXPECT_NEAR(mixed[i], plain[i], 1e-15);
}

}  // namespace
}  // namespace warpscope::verify::mixed_cross_entropy_test
