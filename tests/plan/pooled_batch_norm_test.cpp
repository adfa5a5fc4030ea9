// A batch norm and the max pooling behind it in one call: which ops the variant `pooled` covers, and what it reads and
// writes.

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/ops/batch_norm/track.h"
#include "gpu/ops/chains.h"
#include "gpu/plan/cover.h"
#include "tests/plan/cover_support.h"

namespace warpscope::plan::pooled_batch_norm_test {
namespace {

using core::DeviceKind;
using core::Precision;
using ops::Name;
using ops::Op;
using ops::Variant;

/// A convolution on 9x9 (in one dimension 1x20) and what the variant `pooled` of batch_norm covers behind it; windows
/// of 2x2 and of 1x3 leave something over.
models::Model pooled_norm(bool one_dimension) {
  using enum models::LayerKind;
  models::Model model{.name = "own", .height = 9, .width = 9, .channels = 3, .layers = {}};
  if (one_dimension) model.height = 1, model.width = 20;
  model.layers = {
      {.kind = one_dimension ? conv1d : conv2d,
       .name = "conv1",
       .out_channels = 16,
       .kernel = 3,
       .bias = false},
      {.kind = batch_norm, .name = "bn1"},
      {.kind = relu, .name = "relu1"},
      {.kind = one_dimension ? maxpool1d : maxpool2d, .name = "pool1", .kernel = one_dimension ? 3 : 2}};
  return classifying(std::move(model));
}

/// Where `pooled` is there: on the CPU by three variants made for it.
std::vector<CoverCase> pooled_cases() {
  using enum Op;
  Variant forward = chain_variant(batch_norm_forward, "pooled",
                                  ops::batch_norm::tracking(ops::pooling_after(batch_norm_forward)));
  forward.stored = {Name::statistics};
  return cover_cases(
      {forward, chain_variant(batch_norm_infer, "pooled", ops::pooling_after(batch_norm_infer)),
       chain_variant(batch_norm_backward, "pooled", ops::unpooling_before(batch_norm_backward))});
}

Selection choosing_pooled() {
  Selection selection;
  for (const Op op : {Op::batch_norm_forward, Op::batch_norm_infer, Op::batch_norm_backward}) {
    selection.variants[op] = "pooled";
  }
  return selection;
}

TEST(PooledBatchNorm, ComputesTheReluAndThePoolingInOneCall) {
  for (const CoverCase& on : pooled_cases()) {
    for (const bool one_dimension : {false, true}) {
      const Program program = program_of(pooled_norm(one_dimension));
      const auto nodes = plan::cover(program, choosing_pooled(), {on.device, on.variants});
      expect_consistent(program, nodes);
      const std::size_t own = index_of(program, Op::batch_norm_forward, "bn1");
      const Node& norm = program.nodes[own];
      const Node& pool = program.nodes[index_of(program, Op::maxpool2d_forward, "pool1")];
      const NodeCover& call = nodes[own];
      EXPECT_EQ(describe(call), "pooled, with relu, maxpool2d, batch_norm.track");
      EXPECT_EQ(call.reason, "");
      EXPECT_EQ(call.shape.window_height, one_dimension ? 1 : 2);
      EXPECT_EQ(call.shape.window_width, one_dimension ? 3 : 2);
      EXPECT_EQ(call.operands.size(), 9u) << "input, weights, bias, statistics, output, argmax, and of track "
                                             "control, running_mean, running_variance";
      EXPECT_EQ(tensor_of(call.operands, Name::input), norm.tensors[0]);
      EXPECT_EQ(tensor_of(call.operands, Name::statistics), norm.tensors[4]);
      EXPECT_EQ(tensor_of(call.operands, Name::output), pool.tensors[1]);
      EXPECT_EQ(tensor_of(call.operands, Name::argmax), pool.tensors[2]);
      for (const Op covered : {Op::relu_forward, Op::maxpool2d_forward}) {
        const char* layer = covered == Op::relu_forward ? "relu1" : "pool1";
        EXPECT_EQ(node_of(program, nodes, covered, layer).covered_by, static_cast<int>(own));
      }
    }
  }
}

TEST(PooledBatchNorm, SpreadsTheGradientOfThePoolingInTheSameCall) {
  for (const CoverCase& on : pooled_cases()) {
    for (const bool one_dimension : {false, true}) {
      const Program program = program_of(pooled_norm(one_dimension));
      const auto nodes = plan::cover(program, choosing_pooled(), {on.device, on.variants});
      const std::size_t own = index_of(program, Op::batch_norm_backward, "bn1");
      const Node& unpool = program.nodes[index_of(program, Op::maxpool2d_backward, "pool1")];
      const NodeCover& call = nodes[own];
      EXPECT_EQ(describe(call), "pooled, with maxpool2d.backward");
      EXPECT_EQ(call.shape.window_height, one_dimension ? 1 : 2);
      EXPECT_EQ(call.shape.window_width, one_dimension ? 3 : 2);
      EXPECT_EQ(tensor_of(call.operands, Name::input), program.nodes[own].tensors[0]);
      EXPECT_EQ(tensor_of(call.operands, Name::output_gradient), unpool.tensors[0]);
      EXPECT_EQ(tensor_of(call.operands, Name::argmax), unpool.tensors[1]);
      EXPECT_EQ(tensor_of(call.operands, Name::input_gradient), program.nodes[own].tensors[4]);
      EXPECT_EQ(tensor_of(call.operands, Name::unpooled), -1) << "nobody stores it";
      EXPECT_EQ(node_of(program, nodes, Op::maxpool2d_backward, "pool1").variant, nullptr);
      EXPECT_NE(node_of(program, nodes, Op::relu_backward, "relu1").covered_by, static_cast<int>(own))
          << "the mask is that of the pooled image";
    }
  }
}

TEST(PooledBatchNorm, RunsInInferenceToo) {
  for (const CoverCase& on : pooled_cases()) {
    const Program program = program_of(pooled_norm(false), Purpose::inference);
    const auto nodes = plan::cover(program, choosing_pooled(), {on.device, on.variants});
    expect_consistent(program, nodes);
    EXPECT_EQ(describe(node_of(program, nodes, Op::batch_norm_infer, "bn1")), "pooled, with relu, maxpool2d");
  }
}

TEST(PooledBatchNorm, RunsWhereNothingIsChosenToo) {
  for (const CoverCase& on : pooled_cases()) {
    for (const Purpose purpose : {Purpose::training, Purpose::inference}) {
      const Program program = program_of(pooled_norm(false), purpose);
      const auto nodes = plan::cover(program, {}, {on.device, on.variants});
      expect_consistent(program, nodes);
      EXPECT_EQ(node_of(program, nodes, Op::maxpool2d_forward, "pool1").variant, nullptr);
      if (purpose != Purpose::training) continue;
      EXPECT_EQ(describe(node_of(program, nodes, Op::batch_norm_forward, "bn1")),
                "pooled, with relu, maxpool2d, batch_norm.track");
      EXPECT_EQ(describe(node_of(program, nodes, Op::batch_norm_backward, "bn1")),
                "pooled, with maxpool2d.backward");
    }
  }
}

TEST(PooledBatchNorm, MovesTheRunningStatisticsUnlessThatIsChosen) {
  for (const CoverCase& on : pooled_cases()) {
    const Program program = program_of(pooled_norm(false));
    const std::size_t own = index_of(program, Op::batch_norm_forward, "bn1");
    const std::size_t track = index_of(program, Op::batch_norm_track, "bn1");
    auto nodes = plan::cover(program, choosing_pooled(), {on.device, on.variants});
    expect_consistent(program, nodes);
    EXPECT_EQ(nodes[track].covered_by, static_cast<int>(own));
    EXPECT_EQ(tensor_of(nodes[own].operands, Name::statistics), program.nodes[track].tensors[0]);
    EXPECT_EQ(tensor_of(nodes[own].operands, Name::control), program.nodes[track].tensors[1]);
    EXPECT_EQ(tensor_of(nodes[own].operands, Name::running_mean), program.nodes[track].tensors[2]);
    EXPECT_EQ(tensor_of(nodes[own].operands, Name::running_variance), program.nodes[track].tensors[3]);

    Selection selection = choosing_pooled();
    selection.variants[Op::batch_norm_track] = on.device.kind == DeviceKind::cuda ? "naive" : "loops";
    nodes = plan::cover(program, selection, {on.device, on.variants});
    expect_consistent(program, nodes);
    EXPECT_EQ(describe(nodes[own]), "pooled, with relu, maxpool2d");
    EXPECT_NE(nodes[track].variant, nullptr);
    EXPECT_EQ(tensor_of(nodes[own].operands, Name::running_mean), -1);
  }
}

TEST(PooledBatchNorm, AnotherVariantRunsWhereItCannot) {
  for (const CoverCase& on : pooled_cases()) {
    const Program shown = program_of(pooled_norm(false), Purpose::inspection);
    auto nodes = plan::cover(shown, choosing_pooled(), {on.device, on.variants});
    expect_consistent(shown, nodes);
    EXPECT_NE(node_of(shown, nodes, Op::batch_norm_infer, "bn1").variant->name, "pooled");

    const Program program = program_of(pooled_norm(false));
    Selection selection = choosing_pooled();
    selection.variants[Op::maxpool2d_backward] = "reference";
    if (on.device.kind == DeviceKind::cuda) selection.variants[Op::maxpool2d_backward] = "direct";
    nodes = plan::cover(program, selection, {on.device, on.variants});
    expect_consistent(program, nodes);
    EXPECT_NE(node_of(program, nodes, Op::maxpool2d_backward, "pool1").variant, nullptr);
    const NodeCover& norm = node_of(program, nodes, Op::batch_norm_backward, "bn1");
    EXPECT_NE(norm.variant->name, "pooled");
    EXPECT_NE(norm.reason.find("was chosen and runs by itself"), std::string::npos) << norm.reason;
  }
}

}  // namespace
}  // namespace warpscope::plan::pooled_batch_norm_test
