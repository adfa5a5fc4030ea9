#include "gpu/models/parameters.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/files/safetensors.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/tiny.h"

namespace warpscope::models {
namespace {

class Parameters : public testing::Test {
 protected:
  const tests::TemporaryFolder folder;
  const std::string file = (folder / "weights.safetensors").string();
  const Model model = tests::tiny_model();
  const std::vector<float> values = initial_parameters(model, 2);
};

TEST_F(Parameters, AreSavedInTorchsLayoutUnderTorchsNames) {
  save_parameters(file, model, values);
  std::map<std::string, std::string> metadata;
  const std::vector<files::NamedTensor> tensors = files::read_safetensors(file, &metadata);
  ASSERT_EQ(tensors.size(), 6u);
  EXPECT_EQ(metadata["format"], "pt");
  EXPECT_EQ(metadata["model"], "tiny");
  const ParameterLayout layout = parameter_layout(model);
  for (const files::NamedTensor& tensor : tensors)
    EXPECT_EQ(tensor.values.size(), layout.find(tensor.name).elements);
  const files::NamedTensor* conv2 = nullptr;
  for (const files::NamedTensor& tensor : tensors) {
    if (tensor.name == "conv2.weight") conv2 = &tensor;
  }
  ASSERT_NE(conv2, nullptr);
  EXPECT_EQ(conv2->shape, (std::vector<std::int64_t>{5, 4, 3, 3})) << "(K, C, R, S)";
  // Filter 3, channel 2, row 1, column 0: ours is (K, R, S, C).
  const std::size_t ours = ((3 * 3 + 1) * 3 + 0) * 4 + 2;
  const std::size_t torch = ((3 * 4 + 2) * 3 + 1) * 3 + 0;
  EXPECT_EQ(ours, 122u);
  EXPECT_EQ(torch, 129u);
  EXPECT_EQ(conv2->values[torch], values[layout.find("conv2.weight").offset + ours]);
  EXPECT_NE(conv2->values[torch], 0.0f);
}

TEST_F(Parameters, ComeBackBitForBit) {
  save_parameters(file, model, values);
  EXPECT_EQ(load_parameters(file, model), values);
}

TEST_F(Parameters, BecomeTensorsUnderAPrefixAndBack) {
  std::vector<float> padded = values;
  const ParameterLayout layout = parameter_layout(model);
  const Parameter& bias = layout.find("conv1.bias");
  padded[bias.offset + bias.elements] = 7.0f;
  const std::vector<files::NamedTensor> tensors = to_tensors(model, padded, "optimizer.exp_avg.");
  ASSERT_EQ(tensors.size(), layout.parameters.size());
  EXPECT_EQ(tensors[0].name, "optimizer.exp_avg.conv1.weight");
  EXPECT_EQ(from_tensors(model, tensors, file, "optimizer.exp_avg."), values) << "padding is zero again";
  EXPECT_TRUE(tests::holds(tests::message_of<core::BadInput>([&] { from_tensors(model, tensors, file); }),
                           {file, "lacks 'conv1.weight'"}));
}

TEST_F(Parameters, AreFoundBesideAnOptimizersTensors) {
  std::vector<files::NamedTensor> tensors = to_tensors(model, values);
  tensors.push_back({"optimizer.exp_avg.conv1.weight", {1}, {0.0f}});
  files::write_safetensors(file, tensors);
  EXPECT_EQ(load_parameters(file, model), values);
}

TEST_F(Parameters, FilesThatDoNotFitAreRefusedByTensor) {
  const auto refusal = [&](const std::vector<files::NamedTensor>& tensors) {
    files::write_safetensors(file, tensors);
    return tests::message_of<core::BadInput>([&] { load_parameters(file, model); });
  };
  save_parameters(file, model, values);
  const std::vector<files::NamedTensor> good = files::read_safetensors(file);
  std::vector<files::NamedTensor> bad = good;
  bad.pop_back();
  EXPECT_TRUE(tests::holds(refusal(bad), {file, "lacks '", "', which model tiny needs"}));
  bad = good;
  bad.push_back({"conv9.weight", {1}, {0.0f}});
  EXPECT_TRUE(tests::holds(refusal(bad), {file, "'conv9.weight', which model tiny does not have"}));
  bad = good;
  for (files::NamedTensor& tensor : bad) {
    if (tensor.name == "conv2.weight") tensor.shape = {5, 3, 3, 4};
  }
  EXPECT_TRUE(tests::holds(refusal(bad),
                           {file, "'conv2.weight' has shape (5, 3, 3, 4), model tiny needs (5, 4, 3, 3)"}));
  EXPECT_TRUE(tests::holds(
      tests::message_of<core::BadInput>([&] { load_parameters((folder / "absent").string(), model); }),
      {"absent"}));
}

TEST_F(Parameters, ThoseThatFitAreTakenAndTheOthersStay) {
  std::vector<files::NamedTensor> tensors = to_tensors(model, values);
  tensors.erase(tensors.begin());  // conv1.weight
  for (files::NamedTensor& tensor : tensors) {
    if (tensor.name == "conv2.weight") tensor.shape = {5, 3, 3, 4};
  }
  tensors.push_back({"conv9.weight", {1}, {0.0f}});
  files::write_safetensors(file, tensors);
  std::vector<float> taken(values.size(), -2.0f);
  EXPECT_EQ(take_fitting_parameters(file, model, taken),
            (std::vector<std::string>{"conv1.weight", "conv2.weight"}));
  const ParameterLayout layout = parameter_layout(model);
  for (const Parameter& parameter : layout.parameters) {
    const bool stays = parameter.name == "conv1.weight" || parameter.name == "conv2.weight";
    for (std::size_t i = parameter.offset; i < parameter.offset + parameter.elements; ++i)
      ASSERT_EQ(taken[i], stays ? -2.0f : values[i]) << parameter.name;
  }
}

TEST_F(Parameters, AFileWithNothingThatFitsIsRefused) {
  files::write_safetensors(file, {{"conv9.weight", {1}, {0.0f}}});
  std::vector<float> taken(values.size(), -2.0f);
  EXPECT_TRUE(
      tests::holds(tests::message_of<core::BadInput>([&] { take_fitting_parameters(file, model, taken); }),
                   {file, "no tensor that fits model tiny"}));
  EXPECT_EQ(taken, std::vector<float>(values.size(), -2.0f));
}

TEST_F(Parameters, AFailedSaveLeavesTheOldFile) {
  save_parameters(file, model, values);
  const std::string nowhere = (folder / "no/such/folder.safetensors").string();
  EXPECT_THROW(save_parameters(nowhere, model, values), core::Error);
  EXPECT_EQ(load_parameters(file, model), values);
  EXPECT_EQ(tests::count_entries(folder.path()), 1);
}

}  // namespace
}  // namespace warpscope::models
