// What run.json tells of a run.

#include "gpu/runs/head_snapshot.h"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "gpu/models/model_file.h"
#include "tests/runs/run_maker.h"
#include "tests/support/tiny.h"

namespace warpscope::runs::head_snapshot_test {
namespace {

using nlohmann::json;
using tests::run_head;
using training::TrainerState;

TEST(HeadSnapshot, ANetworkOfAFileIsKnownAndThatOfANameToo) {
  const models::Model tiny = tests::tiny_model();
  const json of_file{{"configuration", {{"model", "tiny"}, {"network", models::text_of(tiny)}}}};
  EXPECT_EQ(model_in(of_file), tiny);
  EXPECT_EQ(snapshot_of(of_file).parameters, models::parameter_layout(tiny).count);
  const json of_name{{"configuration", {{"model", "mlp"}, {"network", ""}}}};
  EXPECT_EQ(model_in(of_name), models::find_model("mlp"));
}

TEST(HeadSnapshot, TheAugmentationIsThatOfNowAndNoneWhereNothingIsTold) {
  json head = run_head("finished");
  EXPECT_EQ(snapshot_of(head).settings->augment, training::AugmentSettings{});
  head["configuration"]["crop"] = 3;
  head["current"] = head["configuration"];
  head["current"].update({{"flip", true}, {"jitter", 0.5}, {"mixup", 1}, {"cutout", "large"}});
  EXPECT_EQ(snapshot_of(head).settings->augment,
            (training::AugmentSettings{.flip = true, .crop = 3, .jitter = 0.5f, .mixup = 1}));
}

TEST(HeadSnapshot, TellsHowManyViewsEvaluationsTake) {
  json head = run_head("finished");
  EXPECT_EQ(snapshot_of(head).test_views, 1);
  head["configuration"]["test_mirrored"] = true;
  head["configuration"]["test_shift"] = 2u;
  EXPECT_EQ(snapshot_of(head).test_views, 10);
}

TEST(HeadSnapshot, TheSpikeThresholdIsThatOfNow) {
  json head = run_head("finished");
  head["configuration"]["zscore"] = 6;
  EXPECT_EQ(snapshot_of(head).settings->spikes.threshold, 6);
  head["current"] = head["configuration"];
  head["current"]["zscore"] = 8.5;
  EXPECT_EQ(snapshot_of(head).settings->spikes.threshold, 8.5);
}

TEST(HeadSnapshot, NonsenseIsLeftOut) {
  for (const json& head : {json(), json::array(), json{{"configuration", 5}},
                           json{{"configuration",
                                 {{"model", 3},
                                  {"batch", "x"},
                                  {"optimizer", "none"},
                                  {"schedule", "never"},
                                  {"precision", "fp1"},
                                  {"chosen", {{"conv9d", "a"}, {"relu.forward", 4}}}}}},
                           json{{"device", "cpu"}, {"classes", {1, 2}}, {"status", 4}}}) {
    const training::Snapshot snapshot = snapshot_of(head);
    EXPECT_EQ(snapshot.settings->batch, 0) << head;
    EXPECT_TRUE(snapshot.selection.variants.empty()) << head;
    EXPECT_EQ(state_of(head), TrainerState::running);
  }
}

}  // namespace
}  // namespace warpscope::runs::head_snapshot_test
