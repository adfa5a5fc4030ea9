#include "gpu/models/parameters.h"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/files/safetensors.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/tiny.h"

namespace warpscope::models::parameters_test {
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
  EXPECT_TRUE(tests::holds(refusal(bad),
                           {file, "lacks 'conv3.bias', which model tiny needs", "it holds 'conv1.weight'"}));
  files::write_safetensors(file, bad, {{"model", "other"}});
  EXPECT_TRUE(tests::holds(tests::message_of<core::BadInput>([&] { load_parameters(file, model); }),
                           {"it holds weights of other: 'conv1.weight'"}));
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

TEST_F(Parameters, TensorsThatTheNetworkDoesNotNeedAreLeftAsideAndTold) {
  std::vector<files::NamedTensor> tensors = to_tensors(model, values);
  tensors.push_back({std::string("conv9\0weight", 12), {1}, {0.0f}});
  tensors.push_back({"head.weight", {2, 1}, {0.0f, 0.0f}});
  files::write_safetensors(file, tensors);
  std::string notice = "of before";
  EXPECT_EQ(load_parameters(file, model, &notice), values);
  EXPECT_EQ(notice, file + ": left aside is what tiny does not need: 'conv9\\x00weight' and 'head.weight'");
  save_parameters(file, model, values);
  load_parameters(file, model, &notice);
  EXPECT_EQ(notice, "");
}

TEST_F(Parameters, CountersOfBatchNormsAreLeftAsideSilently) {
  std::vector<files::NamedTensor> tensors = to_tensors(model, values, "module.");
  tensors.push_back({"module.bn1.num_batches_tracked", {}, {7.0f}});
  tensors.push_back({"num_batches_tracked", {}, {7.0f}});
  files::write_safetensors(file, tensors);
  std::string notice;
  EXPECT_EQ(load_parameters(file, model, &notice), values);
  EXPECT_EQ(notice, file + ": 'module.' was taken off its names");
}

TEST_F(Parameters, WhatPutsNamesBeforeThoseOfLayersIsTakenOff) {
  for (const std::string beginning :
       {"module.", "_orig_mod.", "module._orig_mod.", "model.", "net.encoder."}) {
    std::vector<files::NamedTensor> tensors = to_tensors(model, values, beginning);
    tensors.push_back({"n_averaged", {}, {3.0f}});
    files::write_safetensors(file, tensors);
    std::string notice;
    EXPECT_EQ(load_parameters(file, model, &notice), values);
    EXPECT_TRUE(tests::holds(notice, {"'" + beginning + "' was taken off", "'n_averaged'"}));
    std::vector<float> taken(values.size(), 0.0f);
    EXPECT_TRUE(take_fitting_parameters(file, model, taken, &notice).empty());
    EXPECT_EQ(taken, values);
  }
}

TEST_F(Parameters, CompiledPartsOfANetworkAreFound) {
  std::vector<files::NamedTensor> tensors = to_tensors(model, values, "model.");
  for (files::NamedTensor& tensor : tensors) {
    if (tensor.name.starts_with("model.conv2")) tensor.name.replace(0, 12, "model.conv2._orig_mod.");
  }
  files::write_safetensors(file, tensors);
  std::string notice;
  EXPECT_EQ(load_parameters(file, model, &notice), values);
  EXPECT_EQ(notice, file + ": 'model.' and '_orig_mod.' were taken off its names");
}

TEST_F(Parameters, AFileWithTheNetworkTwiceIsRefused) {
  std::vector<files::NamedTensor> tensors = to_tensors(model, values, "model.");
  const std::vector<files::NamedTensor> averaged = to_tensors(model, values, "ema.");
  tensors.insert(tensors.end(), averaged.begin(), averaged.end());
  files::write_safetensors(file, tensors);
  EXPECT_TRUE(tests::holds(tests::message_of<core::BadInput>([&] { load_parameters(file, model); }),
                           {file, "under 'ema.' and under 'model.'"}));
}

TEST_F(Parameters, NumbersThatAreNotFiniteAreNamed) {
  std::vector<float> bad = values;
  EXPECT_EQ(bad_numbers_in(model, bad), "");
  const ParameterLayout layout = parameter_layout(model);
  bad[layout.find("conv2.weight").offset + 5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(bad_numbers_in(model, bad), "NaN in conv2.weight");
  bad[layout.find("conv1.bias").offset] = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(bad_numbers_in(model, bad), "infinity in conv1.bias and NaN in conv2.weight");
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
}  // namespace warpscope::models::parameters_test
