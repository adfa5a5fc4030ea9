// Where the latent of a model is.

#include "gpu/models/latent.h"

#include <gtest/gtest.h>

#include "tests/support/tiny_classifier.h"

namespace warpscope::models::latent_test {
namespace {

TEST(Latent, OfTheAutoencoderIsWhatItsLastPoolingLeaves) {
  const Latent latent = latent_of(find_model("autoencoder"));
  EXPECT_EQ(latent.layer, "pool2");
  EXPECT_EQ(latent.end, 6u);
  EXPECT_EQ(latent.elements(), 8192u);
  EXPECT_EQ(latent.extent.height, 8);
  EXPECT_EQ(latent.extent.channels, 128);
  EXPECT_TRUE(latent.decodes);
  EXPECT_EQ(latent.reason, "pool2: the output of the last pooling: the encoder ends there");
}

TEST(Latent, OfNetworksThatClassifyIsTheInputOfTheirLastLinearLayer) {
  for (const char* const name : {"classifier", "mlp"}) {
    const Model model = find_model(name);
    const Latent latent = latent_of(model);
    EXPECT_EQ(latent.end, model.layers.size() - 1) << name;
    EXPECT_EQ(latent.elements(), 128u) << name;
    EXPECT_FALSE(latent.decodes) << name;
  }
  EXPECT_EQ(latent_of(tests::tiny_classifier()).layer, "relu2");
}

TEST(Latent, OfOtherNetworksIsTheMiddleLayer) {
  Model model = tests::tiny_model();
  model.layers = {{LayerKind::conv2d, "conv1", 3, 4, 3},
                  {LayerKind::relu, "relu1"},
                  {LayerKind::conv2d, "conv2", 4, 5, 3},
                  {LayerKind::conv2d, "conv3", 5, 3, 3}};
  const Latent latent = latent_of(model);
  EXPECT_EQ(latent.layer, "relu1");
  EXPECT_EQ(latent.elements(), 8u * 8 * 4);
  EXPECT_TRUE(latent.decodes);
}

}  // namespace
}  // namespace warpscope::models::latent_test
