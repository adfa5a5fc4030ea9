// Plans of only the encoder and only the decoder do together what the whole network does.

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/models/latent.h"
#include "gpu/plan/plan.h"
#include "tests/support/plan_memory.h"
#include "tests/support/tiny_classifier.h"

namespace warpscope::plan::latent_plans_test {
namespace {

using core::Precision;
using tests::all_of;
using tests::PlanMemory;

struct Case {
  std::string variant;
  Precision precision;
};

class LatentPlans : public testing::TestWithParam<Case> {
 protected:
  static Selection selection() {
    Selection chosen = all_of(GetParam().variant);
    chosen.precision = GetParam().precision;
    return chosen;
  }
};

INSTANTIATE_TEST_SUITE_P(Precisions, LatentPlans,
                         testing::Values(Case{"loops", Precision::fp32}, Case{"reference", Precision::fp32},
                                         Case{"loops", Precision::bf16}),
                         [](const auto& which) {
                           return which.param.variant + "_" + std::string(to_string(which.param.precision));
                         });

TEST_P(LatentPlans, DecodeTheLatentOfAnImageToWhatTheWholeNetworkMakesOfIt) {
  PlanMemory memory;
  Plan whole = memory.make(Purpose::inference, selection(), 3);
  whole.launch(*memory.stream);
  const models::Latent cut = models::latent_of(memory.model);
  Plan encoder(models::first_layers(memory.model, cut.end), Purpose::encoding, selection(), 3, memory.device,
               *memory.stream, memory.bindings());
  encoder.launch(*memory.stream);
  const WrittenTensor latent = encoder.output(cut.end - 1);
  EXPECT_EQ(latent.name, "pool1");
  std::vector<std::byte> bytes(static_cast<std::size_t>(latent.elements) * core::size_of(latent.type));
  std::memcpy(bytes.data(), latent.data, bytes.size());
  Bindings bindings = memory.bindings();
  bindings.latents = bytes.data();
  Plan decoder(memory.model, Purpose::decoding, selection(), 3, memory.device, *memory.stream, bindings);
  decoder.launch(*memory.stream);
  const std::size_t elements = std::size_t{3} * 8 * 8 * 3;
  EXPECT_EQ(PlanMemory::floats(decoder.prediction(), elements),
            PlanMemory::floats(whole.prediction(), elements));
}

TEST(LatentPlansOf, ClassifiersHaveAnEncoderAlone) {
  PlanMemory memory(core::open_device("cpu"), tests::tiny_classifier());
  const models::Latent cut = models::latent_of(memory.model);
  Plan encoder(models::first_layers(memory.model, cut.end), Purpose::encoding, all_of("loops"), 3,
               memory.device, *memory.stream, memory.bindings());
  EXPECT_EQ(encoder.output(cut.end - 1).elements, 3 * 6);
  try {
    memory.make(Purpose::decoding, all_of("loops"), 3);
    FAIL() << "there is no decoder";
  } catch (const core::BadInput& error) {
    EXPECT_STREQ(error.what(), "model tiny classifier has no decoder: no layers make a picture of relu2");
  }
}

TEST(LatentPlansOf, TheAutoencoderRunNoMoreThanTheirHalf) {
  const models::Model model = models::find_model("autoencoder");
  const auto layers = [](const models::Model& part, Purpose purpose) {
    std::vector<std::string> names;
    for (const Node& node : lower(part, purpose, 2, 12, 0, Precision::fp32).nodes) {
      if (!node.layer.empty() && (names.empty() || names.back() != node.layer)) names.push_back(node.layer);
    }
    return names;
  };
  EXPECT_EQ(layers(models::first_layers(model, models::latent_of(model).end), Purpose::encoding),
            (std::vector<std::string>{"conv1", "relu1", "pool1", "conv2", "relu2", "pool2"}));
  EXPECT_EQ(layers(model, Purpose::decoding),
            (std::vector<std::string>{"conv3", "relu3", "up3", "conv4", "relu4", "up4", "conv5"}));
}

}  // namespace
}  // namespace warpscope::plan::latent_plans_test
