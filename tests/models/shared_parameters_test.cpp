// Which parameters go on in a network that was changed.

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/models/parameters.h"
#include "tests/support/tiny.h"

namespace warpscope::models::shared_parameters_test {
namespace {

const Parameter& at(const ParameterLayout& layout, std::size_t offset) {
  return *std::find_if(layout.parameters.begin(), layout.parameters.end(),
                       [&](const Parameter& each) { return each.offset == offset; });
}

std::vector<std::string> shared_names(const Model& from, const Model& to) {
  const ParameterLayout before = parameter_layout(from), after = parameter_layout(to);
  std::vector<std::string> names;
  for (const SharedParameter& each : shared_parameters(before, after)) {
    const Parameter& old = at(before, each.from);
    const Parameter& now = at(after, each.to);
    EXPECT_EQ(old.name, now.name);
    EXPECT_EQ(old.shape, now.shape);
    EXPECT_EQ(each.elements, now.elements);
    names.push_back(now.name);
  }
  return names;
}

TEST(SharedParameters, TheSameNetworkKeepsAll) {
  const std::vector<std::string> all{"conv1.weight", "conv1.bias",   "conv2.weight",
                                     "conv2.bias",   "conv3.weight", "conv3.bias"};
  EXPECT_EQ(shared_names(tests::tiny_model(), tests::tiny_model()), all);
}

TEST(SharedParameters, AnotherShapeOrNameIsLeftBehind) {
  const Model from = tests::tiny_model();
  Model to = from;
  to.layers[3].out_channels = 6;  // conv2; conv3 then takes 6 channels, and its bias stays
  fit_layers(to);
  EXPECT_EQ(shared_names(from, to), (std::vector<std::string>{"conv1.weight", "conv1.bias", "conv3.bias"}));
  to = from;
  to.layers[0].name = "first";
  EXPECT_EQ(shared_names(from, to),
            (std::vector<std::string>{"conv2.weight", "conv2.bias", "conv3.weight", "conv3.bias"}));
}

TEST(SharedParameters, FollowsNamesThatHaveMoved) {
  const Model from = tests::tiny_model();
  Model to = from;
  to.layers.insert(to.layers.begin() + 1, Layer{.kind = LayerKind::batch_norm, .name = "bn1"});
  EXPECT_EQ(shared_names(from, to).size(), 6U);
  EXPECT_EQ(parameter_layout(to).parameters.size(), 10U);
}

}  // namespace
}  // namespace warpscope::models::shared_parameters_test
