#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/device.h"
#include "gpu/plan/selection.h"
#include "gpu/verify/network_check.h"
#include "tests/support/double_network.h"
#include "tests/support/random_model.h"

namespace warpscope::verify::random_networks_test {
namespace {

constexpr int kImages = 2;  // of the batch of a NetworkCase

/// A network in which nothing is dropped, so that it is a function.
models::Model without_dropping(models::Model model) {
  for (models::Layer& layer : model.layers) layer.rate = 0;
  return model;
}

/// What stands before a normalization may have gradients of 0, of which rounding leaves a number: those of single
/// parameters are no measure then.
bool normalizes(const models::Model& model) {
  return std::any_of(model.layers.begin(), model.layers.end(), [](const models::Layer& layer) {
    return layer.kind == models::LayerKind::layer_norm || layer.kind == models::LayerKind::batch_norm;
  });
}

/// The mean cross-entropy of the images of a case, from the definitions of the layers.
double loss_of(const NetworkCase& network, const tests::DoubleNetwork& layers,
               const std::vector<double>& parameters) {
  const models::Model& model = network.model;
  const auto pixels = static_cast<std::size_t>(model.height * model.width * model.channels);
  std::vector<std::vector<double>> images;
  for (std::size_t n = 0; n < kImages; ++n) {
    std::vector<double>& image = images.emplace_back(pixels);
    for (std::size_t i = 0; i < pixels; ++i) image[i] = network.images[n * pixels + i] / 255.0;
  }
  const auto outputs = layers.training_outputs(parameters, images);
  double sum = 0;
  for (std::size_t n = 0; n < kImages; ++n) {
    const std::vector<double>& logits = outputs[n].back();
    const double most = *std::max_element(logits.begin(), logits.end());
    const double total = std::accumulate(logits.begin(), logits.end(), 0.0, [&](double so_far, double x) {
      return so_far + std::exp(x - most);
    });
    sum += most + std::log(total) - logits[network.labels[n]];
  }
  return sum / kImages;
}

/// The derivative of the loss by a parameter, by differences of two widths. False where they differ: a corner is
/// near.
bool differences(const NetworkCase& network, const tests::DoubleNetwork& layers,
                 std::vector<double>& parameters, std::size_t at, double& result) {
  const double before = parameters[at];
  const auto slope = [&](double step) {
    parameters[at] = before + step;
    const double up = loss_of(network, layers, parameters);
    parameters[at] = before - step;
    const double down = loss_of(network, layers, parameters);
    parameters[at] = before;
    return (up - down) / (2 * step);
  };
  result = slope(1e-5);
  return std::abs(result - slope(2e-6)) <= 1e-6 + 1e-4 * std::abs(result);
}

TEST(RandomNetworks, HaveTheGradientsOfTheirDefinition) {
  int compared = 0, cornered = 0;
  std::set<models::LayerKind> kinds;
  for (const std::uint64_t seed : tests::random_seeds(40)) {
    const NetworkCase network =
        make_network_case(core::Precision::fp32, seed, without_dropping(tests::random_model(seed)));
    for (const models::Layer& layer : network.model.layers) kinds.insert(layer.kind);
    const tests::DoubleNetwork layers(network.model);
    std::vector<double> parameters(network.parameters.begin(), network.parameters.end());
    EXPECT_NEAR(network.loss, loss_of(network, layers, parameters), 1e-6 * (1 + std::abs(network.loss)));
    tests::Dice dice(seed);
    for (const models::Parameter& parameter : models::parameter_layout(network.model).parameters) {
      if (!parameter.learned) continue;
      for (int i = 0; i < 3; ++i) {
        const std::size_t at = parameter.offset + dice() % parameter.elements;
        double expected = 0;
        if (!differences(network, layers, parameters, at, expected)) {
          ++cornered;
          continue;
        }
        ++compared;
        EXPECT_NEAR(network.gradients[at], expected, 1e-6 + 1e-4 * std::abs(expected))
            << network.model.name << " " << parameter.name;
      }
    }
  }
  EXPECT_EQ(kinds.size(), models::layer_rows().size()) << "a kind of layers is in none of them";
  EXPECT_GT(compared, 200);
  EXPECT_LT(cornered, compared / 10);
}

TEST(RandomNetworks, AreTrainedAlikeByAllVariants) {
  const auto cpu = core::open_device("cpu");
  for (std::uint64_t seed = 31; seed <= 42; ++seed) {
    const NetworkCase network = make_network_case(core::Precision::fp32, seed, tests::random_model(seed));
    for (const char* const variants : {"all=loops", ""}) {
      plan::Selection selection{core::Precision::fp32, {}};
      plan::apply(selection, variants, cpu->info());
      const NetworkCheck check = check_network(network, cpu, selection);
      EXPECT_TRUE(check.same_bits);
      EXPECT_LT(check.whole_error, normalizes(network.model) ? 1e-3 : check.tolerance)
          << variants << ", seed " << seed;
      if (normalizes(network.model)) continue;
      EXPECT_EQ(check.failure, "") << variants << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace warpscope::verify::random_networks_test
