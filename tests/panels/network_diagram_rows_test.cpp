// The network as a diagram: figures, times and lines of its layers.

#include "ui/panels/network/network_diagram_rows.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/device.h"
#include "gpu/models/model_file.h"
#include "gpu/plan/model_figures.h"
#include "tests/support/tiny.h"

namespace warpscope::ui::network_diagram_rows_test {
namespace {

using ops::Op;

const models::Model kModel = tests::tiny_model();

training::OpTiming timing(Op op, const char* layer, double microseconds) {
  training::OpTiming result;
  result.op = op;
  result.layer = layer;
  result.microseconds = microseconds;
  return result;
}

training::OpTiming covered(Op op, const char* layer, Op by, const char* in) {
  training::OpTiming result = timing(op, layer, 0);
  result.covered_by = training::OpPlace{by, in};
  return result;
}

Diagram diagram(int batch, const models::Model& model = kModel) {
  return diagram_of(model, core::open_device("cpu")->info(), {{}, batch});
}

models::Model residual() {
  return models::parse_model(R"(
input = [8, 8, 3]
loss = "mse"
layers = [
  {type = "conv2d", name = "a", channels = 4},
  {type = "relu", name = "b"},
  {type = "conv2d", name = "c", channels = 4},
  {type = "add", name = "d", from = "b"},
  {type = "add", name = "e", from = "a"},
  {type = "relu", name = "f"},
  {type = "add", name = "g", from = "e"},
  {type = "conv2d", name = "h", channels = 3},
])",
                             "text", "residual");
}

TEST(StepTimes, AddUpByLayer) {
  const StepTimes times = step_times(
      kModel, {timing(Op::batch_gather, "", 1), timing(Op::conv2d_forward, "conv1", 10),
               timing(Op::relu_forward, "relu1", 2), timing(Op::conv2d_backward_weights, "conv1", 30)});
  ASSERT_EQ(times.layers.size(), kModel.layers.size());
  EXPECT_EQ(times.layers[0].microseconds, 40);
  EXPECT_EQ(times.layers[1].microseconds, 2);
  EXPECT_EQ(times.rest.microseconds, 1);
  EXPECT_EQ(times.microseconds, 43);
}

TEST(StepTimes, AreUnknownUntilEveryCallHasOne) {
  const StepTimes times =
      step_times(kModel, {timing(Op::conv2d_forward, "conv1", 10), timing(Op::relu_forward, "relu1", 2),
                          timing(Op::conv2d_backward_weights, "conv1", 0)});
  EXPECT_EQ(times.layers[0].microseconds, 0) << "a part of it would be no figure";
  EXPECT_NE(time_tip(times.layers[0]).find("Not measured yet"), std::string::npos);
  EXPECT_EQ(times.layers[1].microseconds, 2);
  EXPECT_EQ(times.microseconds, 0);
  EXPECT_EQ(step_times(kModel, {}).microseconds, 0);
}

TEST(StepTimes, ACallThatCoversOtherLayersCountsToThatOfItsOwnOp) {
  training::OpTiming call = timing(Op::conv2d_forward, "conv1", 10);
  call.covers = {{Op::bias_forward, "conv1"}, {Op::relu_forward, "relu1"}};
  const StepTimes times =
      step_times(kModel, {call, covered(Op::bias_forward, "conv1", Op::conv2d_forward, "conv1"),
                          covered(Op::relu_forward, "relu1", Op::conv2d_forward, "conv1")});
  const LayerTime &conv = times.layers[0], &relu = times.layers[1];
  EXPECT_EQ(conv.microseconds, 10);
  EXPECT_EQ(conv.inside, std::vector<std::string>{"relu1"}) << "its own bias is no other layer";
  EXPECT_NE(time_tip(conv).find("ops of relu1 too"), std::string::npos) << time_tip(conv);
  EXPECT_TRUE(relu.covered);
  EXPECT_EQ(relu.within, std::vector<std::string>{"conv1"});
  EXPECT_EQ(time_tip(relu), "All of its ops run in calls of conv1, where their time counts.");
  EXPECT_EQ(times.microseconds, 10);
}

TEST(StepTimes, OfALayerThatIsCoveredInPartAreThoseOfTheRest) {
  const StepTimes times = step_times(kModel, {timing(Op::conv2d_forward, "conv1", 10),
                                              covered(Op::relu_forward, "relu1", Op::conv2d_forward, "conv1"),
                                              timing(Op::relu_backward, "relu1", 3)});
  EXPECT_FALSE(times.layers[1].covered);
  EXPECT_EQ(times.layers[1].microseconds, 3);
  EXPECT_NE(time_tip(times.layers[1]).find("Some of its ops run in calls of conv1"), std::string::npos);
}

TEST(StepTimes, OfAHeadAreNotThoseOfTheRest) {
  const StepTimes times = step_times(kModel, {timing(Op::linear_forward, models::kHead, 5)});
  EXPECT_EQ(times.head.microseconds, 5);
  EXPECT_EQ(times.rest.microseconds, 0);
}

TEST(Diagram, HasARowForEachLayerAndTheWholeStep) {
  const Diagram made = diagram(8);
  const plan::ModelFigures figures = plan::figures_of(kModel);
  ASSERT_EQ(made.rows.size(), kModel.layers.size() + 3);
  EXPECT_EQ(made.rows.front().part, DiagramPart::input);
  EXPECT_EQ(made.rows[1].name, "conv1");
  EXPECT_EQ(made.rows[1].kind, "conv2d");
  EXPECT_EQ(made.rows[1].output, 1U);
  EXPECT_EQ(made.rows[1].parameters, 4U * 27 + 4);
  EXPECT_EQ(made.rows[1].flops, 8 * figures.layers[0].step_flops);
  EXPECT_EQ(made.rows[3].extent, (models::Extent{4, 4, 4}));
  EXPECT_EQ(made.rows.back().parameters, 435U);
  EXPECT_EQ(made.rows.back().flops, 8 * figures.step_flops);
}

TEST(Diagram, TheRowsAddUpToTheWholeStep) {
  const Diagram made = diagram(8);
  double flops = 0;
  std::size_t kept = 0;
  for (std::size_t i = 1; i + 1 < made.rows.size(); ++i) {
    flops += made.rows[i].flops.value();
    kept += made.rows[i].kept.value();
  }
  EXPECT_DOUBLE_EQ(flops, made.rows.back().flops.value());
  EXPECT_EQ(kept, made.rows.back().kept.value());
  EXPECT_GT(kept, 0U);
  EXPECT_FALSE(made.rows.front().kept) << "the data set has the images";
}

TEST(Diagram, KeptIsWhatTheBackwardPassReads) {
  MemoryScene scene{{}, 8};
  for (const Op op : {Op::conv2d_forward, Op::bias_forward, Op::relu_forward, Op::upsample2d_forward}) {
    scene.selection.variants[op] = "loops";  // each by itself
  }
  const Diagram made = diagram_of(kModel, core::open_device("cpu")->info(), scene);
  const auto bytes = [&](std::size_t layer) {
    return 8 * sizeof(float) * made.rows[layer].extent->elements();
  };
  EXPECT_EQ(made.rows[1].kept, 0U) << "the gradient of a ReLU is taken behind the pooling, from its output";
  EXPECT_GE(made.rows[3].kept, bytes(3)) << "with the places of the largest";
  const DiagramRow &conv = made.rows[4], &relu = made.rows[5];
  EXPECT_EQ(conv.kept.value() + relu.kept.value(), bytes(5));
  EXPECT_EQ(conv.kept, bytes(4)) << "ReLU works in the memory of its input";
  EXPECT_EQ(relu.shares, "conv2");
  EXPECT_EQ(kept_tip(relu), "Its output lies in the memory of conv2, where it counts.");
  EXPECT_NE(kept_tip(conv).find("2,560 bytes"), std::string::npos) << kept_tip(conv);
  EXPECT_EQ(made.rows[6].kept, bytes(6)) << "the first call of the backward pass behind the loss reads it";
}

TEST(Diagram, FiguresOfAStepAreUnknownWithoutABatch) {
  for (const DiagramRow& row : diagram(0).rows) {
    EXPECT_FALSE(row.flops) << row.name;
    EXPECT_FALSE(row.kept) << row.name;
  }
  EXPECT_EQ(diagram(0).rows.back().parameters, 435U);
}

TEST(Diagram, AHeadHasARowOfItsOwn) {
  const Diagram made =
      diagram_of(kModel, core::open_device("cpu")->info(), {.selection = {}, .batch = 8, .head_classes = 10});
  const DiagramRow& head = made.rows[made.rows.size() - 3];
  EXPECT_EQ(head.part, DiagramPart::head);
  EXPECT_EQ(made.rows.back().parameters.value(), 435U + head.parameters.value());
  EXPECT_FALSE(head.flops);
}

TEST(Diagram, LinesRunBesideEachOther) {
  const Diagram made = diagram(8, residual());
  ASSERT_EQ(made.links.size(), 3U);
  EXPECT_EQ(made.lanes, 2U);
  for (const DiagramLink& a : made.links) {
    for (const DiagramLink& b : made.links) {
      const bool same = a.from == b.from && a.to == b.to;
      const bool beside = a.from < b.to && b.from < a.to;
      if (same || !beside) continue;
      EXPECT_NE(a.lane, b.lane) << a.from << " and " << b.from;
    }
  }
  EXPECT_EQ(made.rows[made.links.front().from].name, "b") << "the shortest one is next to the layers";
  EXPECT_EQ(made.rows[made.links.front().to].name, "d");
}

}  // namespace
}  // namespace warpscope::ui::network_diagram_rows_test
