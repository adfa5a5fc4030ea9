// What was measured decides where nobody has chosen, and nowhere else.

#include "gpu/plan/measured.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/plan/cover.h"
#include "tests/plan/cover_support.h"
#include "tests/support/tiny_classifier.h"

namespace warpscope::plan::measured_test {
namespace {

using core::Precision;
using ops::Op;

/// The linear layer that makes classes, by itself on a CPU.
struct Scene {
  core::DeviceInfo device = cpu();
  Program program = program_of(tests::tiny_classifier());
  std::size_t node = index_of(program, Op::linear_forward, "fc2");
  std::string key = call_key(Op::linear_forward, Precision::fp32, program.nodes[node].shape);

  NodeCover covered(const Selection& selection, const MeasuredChoices& measured) const {
    const std::vector<NodeCover> nodes = cover(program, selection, device, measured);
    expect_consistent(program, nodes);
    return nodes[node];
  }
};

TEST(Measured, TakesTheVariantAndTellsItsTimes) {
  const Scene scene;
  const NodeCover by_rules = scene.covered({}, {});
  ASSERT_NE(by_rules.variant->name, "loops");
  const NodeCover measured = scene.covered({}, {{scene.key, {"loops", 2.06, by_rules.variant->name, 9.8}}});
  EXPECT_EQ(measured.variant->name, "loops");
  EXPECT_EQ(measured.reason, "measured: 2.1 \u00b5s, " + by_rules.variant->name + " 9.8 \u00b5s");
}

TEST(Measured, LeavesWhatAPersonHasChosen) {
  const Scene scene;
  const std::string rules = scene.covered({}, {}).variant->name;
  const Selection chosen{Precision::fp32, {{Op::linear_forward, rules}}};
  const NodeCover node = scene.covered(chosen, {{scene.key, {"loops", 1, rules, 2}}});
  EXPECT_EQ(node.variant->name, rules);
  EXPECT_EQ(node.reason, "");
}

TEST(Measured, LeavesOtherPrecisionsAndNamesThatAreNone) {
  const Scene scene;
  const std::string rules = scene.covered({}, {}).variant->name;
  const std::string other =
      call_key(Op::linear_forward, Precision::bf16, scene.program.nodes[scene.node].shape);
  for (const MeasuredChoices& none : {MeasuredChoices{{other, {"loops", 1, rules, 2}}},
                                      MeasuredChoices{{scene.key, {"gone", 1, rules, 2}}}}) {
    const NodeCover node = scene.covered({}, none);
    EXPECT_EQ(node.variant->name, rules);
    EXPECT_EQ(node.reason, "");
  }
}

/// Each call by its variant number `index`, as far as it has so many.
MeasuredChoices choices_by(const Program& program, const Machine& machine, Precision precision,
                           std::size_t index) {
  MeasuredChoices choices;
  for (const Node& node : program.nodes) {
    const auto variants = ops::variants_of(machine.variants, node.op, machine.device.kind);
    if (variants.empty()) continue;
    choices[call_key(node.op, precision, node.shape)].variant = variants[index % variants.size()]->name;
  }
  return choices;
}

TEST(Measured, FitsTogetherWhateverIsChosen) {
  for (const CoverCase& where : cover_cases({})) {
    const Machine machine(where.device, where.variants);
    for (const Precision precision : training_precisions(machine)) {
      for (const std::string& name : models::model_names()) {
        const Program program = program_of(models::find_model(name), Purpose::training, precision);
        for (std::size_t index = 0; index < 12; ++index) {
          const auto choices = choices_by(program, machine, precision, index);
          expect_consistent(program, cover(program, {precision, {}}, machine, choices));
        }
      }
    }
  }
}

TEST(Measured, KeysTellShapesApart) {
  ops::OpShape shape;
  const std::string key = call_key(Op::conv2d_forward, Precision::fp32, shape);
  for (const auto& change : std::vector<void (*)(ops::OpShape&)>{
           [](ops::OpShape& s) { s.batch = 2; }, [](ops::OpShape& s) { s.height = 2; },
           [](ops::OpShape& s) { s.width = 2; }, [](ops::OpShape& s) { s.in_channels = 2; },
           [](ops::OpShape& s) { s.out_channels = 2; }, [](ops::OpShape& s) { s.kernel_height = 3; },
           [](ops::OpShape& s) { s.kernel_width = 3; }, [](ops::OpShape& s) { s.count = 2; },
           [](ops::OpShape& s) { s.stride = 2; }, [](ops::OpShape& s) { s.valid = true; }}) {
    ops::OpShape other;
    change(other);
    EXPECT_NE(call_key(Op::conv2d_forward, Precision::fp32, other), key);
  }
  shape.covered.add(Op::relu_forward);
  EXPECT_EQ(call_key(Op::conv2d_forward, Precision::fp32, shape), key) << "whatever its call covers";
}

}  // namespace
}  // namespace warpscope::plan::measured_test
