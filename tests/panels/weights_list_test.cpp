#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "ui/panels/pictures/picture_menu.h"

namespace warpscope::ui::weights_list_test {
namespace {

namespace fs = std::filesystem;

/// Runs beside each other, with files in place of checkpoints: their contents are not looked at.
class FindWeights : public testing::Test {
 protected:
  fs::path make(const std::string& name, const std::string& model,
                const std::vector<std::string>& files) const {
    const fs::path run = folder.path() / name;
    fs::create_directories(run / "checkpoints");
    tests::write_text(run / "run.json", R"({"format": 1, "configuration": {"model": ")" + model + R"("}})");
    for (const std::string& file : files) tests::write_text(run / "checkpoints" / file, "weights");
    return run;
  }
  static std::vector<std::string> names(const std::vector<WeightsFile>& files) {
    std::vector<std::string> result;
    for (const WeightsFile& file : files) result.push_back(file.name);
    return result;
  }
  const tests::TemporaryFolder folder;
  using Names = std::vector<std::string>;
};

TEST_F(FindWeights, OfThisRunAllCheckpointsNewestFirst) {
  const fs::path run = make("now", "autoencoder",
                            {"step-000000200.safetensors", "step-000001200.safetensors", "best.safetensors"});
  const WeightsChoices found = find_weights(run, "autoencoder");
  EXPECT_EQ(names(found.checkpoints), (Names{"best checkpoint", "step 1,200", "step 200"}));
  EXPECT_EQ(found.checkpoints[1].path, (run / "checkpoints" / "step-000001200.safetensors").string());
  EXPECT_TRUE(found.runs.empty());
}

TEST_F(FindWeights, OfOtherRunsTheNewestAndTheBestOfTheSameModel) {
  const fs::path run = make("now", "autoencoder", {});
  make("a", "autoencoder", {"step-000000100.safetensors", "step-000000300.safetensors", "best.safetensors"});
  make("b", "mlp", {"step-000000100.safetensors"});
  make("c", "autoencoder", {});
  make("d", "autoencoder", {"step-000000007.safetensors"});
  const WeightsChoices found = find_weights(run, "autoencoder");
  EXPECT_EQ(names(found.runs), (Names{"d, step 7", "a, step 300", "a, best"}));
  EXPECT_EQ(found.refused, (Names{"b trained mlp"}));
}

TEST_F(FindWeights, AFolderThatIsNotThereHoldsNothing) {
  const WeightsChoices found = find_weights(folder.path() / "none" / "run", "autoencoder");
  EXPECT_TRUE(found.checkpoints.empty());
  EXPECT_TRUE(found.runs.empty());
}

TEST_F(FindWeights, AListTellsWhenItHasFoundSomething) {
  const fs::path run = make("now", "autoencoder", {"step-000000200.safetensors"});
  WeightsList list;
  EXPECT_FALSE(list.advance());
  list.look(run.string(), "autoencoder");
  while (!list.advance()) std::this_thread::yield();
  EXPECT_EQ(names(list.choices().checkpoints), Names{"step 200"});
}

}  // namespace
}  // namespace warpscope::ui::weights_list_test
