#include "gpu/runs/inference_figures.h"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::runs::inference_figures_test {
namespace {

TEST(InferenceFigures, AreThoseThatWereKeptAndNoneWhereThereAreNone) {
  const tests::TemporaryFolder run;
  EXPECT_FALSE(load_inference(run.path()));
  const nlohmann::json times{{"scatter", 0}, {"read", 1},   {"to_device", 2}, {"network", 3},
                             {"back", 4},    {"gather", 5}, {"idle", 6}};
  const nlohmann::json layers =
      nlohmann::json::array({{{"layer", "fc1"}, {"median", 12.5}}, {{"layer", "relu1"}, {"inside", "fc1"}}});
  save_inference(run.path(), {{"data", "pictures"},
                              {"device", "cpu"},
                              {"images", 10},
                              {"batch", 2},
                              {"seconds", 0.5},
                              {"images_per_second", 20},
                              {"milliseconds", times},
                              {"microseconds", {{"layers", layers}}}});
  const auto figures = load_inference(run.path());
  ASSERT_TRUE(figures);
  ASSERT_EQ(figures->ranks.size(), 1u);
  EXPECT_EQ(figures->ranks.front().network, 3);
  ASSERT_EQ(figures->ranks.front().layers.size(), 1u) << "the other one is inside of it";
  tests::write_text(run.path() / "inference.json", "{\"data\": 1}");
  EXPECT_THROW(load_inference(run.path()), core::BadInput);
}

}  // namespace
}  // namespace warpscope::runs::inference_figures_test
