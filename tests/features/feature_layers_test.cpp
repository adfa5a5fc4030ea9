#include "gpu/features/feature_layers.h"

#include <string>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/support/tiny.h"

namespace warpscope::features::feature_layers_test {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_feature_layers(text, tests::tiny_model());
  } catch (const core::BadInput& error) {
    return error.what();
  }
  return "";
}

TEST(FeatureLayers, AreTheLatentUnlessSaidOtherwise) {
  const FeatureLayers latent = parse_feature_layers("", models::find_model("autoencoder"));
  EXPECT_EQ(to_string(latent), "pool2");
  EXPECT_EQ(columns_of(latent), 8192);
}

TEST(FeatureLayers, AreReadAsTheyAreWritten) {
  for (const std::string text : {"pool1", "conv1:max=4", "relu2:mean=1+pool1+conv3:max=8"}) {
    EXPECT_EQ(to_string(parse_feature_layers(text, tests::tiny_model())), text);
  }
}

TEST(FeatureLayers, StandSideBySide) {
  const FeatureLayers layers = parse_feature_layers("conv1:max=2+pool1", tests::tiny_model());
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0].end, 1u);
  EXPECT_EQ(layers[1].end, 3u);
  EXPECT_EQ(layers[0].columns(), 2 * 2 * 4);
  EXPECT_EQ(columns_of(layers), 2 * 2 * 4 + 4 * 4 * 4);
}

TEST(FeatureLayers, ThatAreNotThereAreRefusedWithTheNamesOfThose) {
  EXPECT_EQ(
      refusal("pool9"),
      "features: model tiny has no layer 'pool9'; its layers: conv1, relu1, pool1, conv2, relu2, up2, conv3");
  EXPECT_NE(refusal("pool1+"), "");
  EXPECT_NE(refusal("+pool1"), "");
}

TEST(FeatureLayers, ThatAreNamedTwiceAreRefused) {
  EXPECT_EQ(refusal("conv1:max=4+pool1+conv1:max=4"), "features: conv1:max=4 is named twice; give it once");
  EXPECT_EQ(refusal("pool1+pool1"), "features: pool1 is named twice; give it once");
  EXPECT_EQ(refusal("conv1:max=4+conv1:mean=4+conv1"), "");
}

TEST(FeatureLayers, ArePooledToSidesThatDivideThem) {
  const std::string wanted =
      "features: 'max=3' does not pool pool1, which is 4 x 4; valid: max=S and mean=S with S one of 1, 2, 4";
  EXPECT_EQ(refusal("pool1:max=3"), wanted);
  for (const std::string text : {"pool1:", "pool1:max", "pool1:max=", "pool1:max=2x", "pool1:min=2",
                                 "pool1:mean=-1", "pool1:mean=0", "pool1:mean=8"}) {
    EXPECT_NE(refusal(text), "") << text;
  }
}

}  // namespace
}  // namespace warpscope::features::feature_layers_test
