// What run.json tells of a run.

#include "gpu/runs/head_snapshot.h"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "gpu/models/model_file.h"
#include "tests/runs/run_maker.h"
#include "tests/support/tiny.h"

namespace warpscope::runs {
namespace {

TEST(HeadSnapshot, ANetworkOfAFileIsKnownAndThatOfANameToo) {
  const models::Model tiny = tests::tiny_model();
  const nlohmann::json of_file{{"configuration", {{"model", "tiny"}, {"network", models::text_of(tiny)}}}};
  EXPECT_EQ(model_in(of_file), tiny);
  EXPECT_EQ(snapshot_of(of_file).parameters, models::parameter_layout(tiny).count);
  const nlohmann::json of_name{{"configuration", {{"model", "mlp"}, {"network", ""}}}};
  EXPECT_EQ(model_in(of_name), models::find_model("mlp"));
}

TEST(HeadSnapshot, TheAugmentationIsThatOfNowAndNoneWhereNothingIsTold) {
  nlohmann::json head = tests::run_head("finished");
  EXPECT_EQ(snapshot_of(head).augment, training::AugmentSettings{});
  head["configuration"]["crop"] = 3;
  head["current"] = head["configuration"];
  head["current"].update({{"flip", true}, {"jitter", 0.5}, {"mixup", 1}, {"cutout", "large"}});
  EXPECT_EQ(snapshot_of(head).augment,
            (training::AugmentSettings{.flip = true, .crop = 3, .jitter = 0.5f, .mixup = 1}));
}

}  // namespace
}  // namespace warpscope::runs
