// The network of a run that is viewed, while its training changes it.

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "gpu/models/model_file.h"
#include "gpu/runs/run_source.h"
#include "tests/runs/run_maker.h"
#include "tests/support/waiting.h"

namespace warpscope::runs::viewed_network_test {
namespace {

using nlohmann::json;

TEST(ViewedNetwork, IsTheOneOfNow) {
  const tests::TemporaryFolder folder;
  const std::filesystem::path run = folder / "run";
  std::filesystem::create_directory(run);
  models::Model edited = models::find_model("autoencoder");
  edited.name = "autoencoder-edited";
  edited.layers[0].kernel = 5;
  json head = tests::run_head("running");
  tests::make_run(run, head, tests::step_line(1, 0.5));
  const RunSource source(run);
  ASSERT_TRUE(tests::eventually([&] { return source.snapshot()->network != nullptr; }));
  EXPECT_EQ(*source.snapshot()->network, models::find_model("autoencoder"));
  const std::uint64_t first = source.snapshot()->network_number;
  head["current"] = head["configuration"];
  head["current"]["model"] = edited.name;
  head["current"]["network"] = models::text_of(edited);
  tests::write_text(run / "run.json", head.dump());
  ASSERT_TRUE(tests::eventually([&] { return source.snapshot()->network_number > first; }));
  const auto now = source.snapshot();
  ASSERT_NE(now->network, nullptr);
  EXPECT_EQ(*now->network, edited);
  EXPECT_EQ(now->parameters, models::parameter_layout(edited).count);
  head["current"]["network"] = "what no version knows\n";
  tests::write_text(run / "run.json", head.dump());
  EXPECT_TRUE(tests::eventually([&] { return source.snapshot()->network == nullptr; }));
}

}  // namespace
}  // namespace warpscope::runs::viewed_network_test
