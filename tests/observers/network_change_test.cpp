// All observers at once, while the network that they look into is changed under them.

#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/engine/engine.h"
#include "gpu/models/latent.h"
#include "gpu/observers/observer_table.h"
#include "tests/support/random_edits.h"
#include "tests/support/stream_kinds.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_engine.h"
#include "tests/support/waiting.h"

namespace warpscope::training::network_change_test {
namespace {

using tests::run_steps;

/// On streams of every kind.
class NetworkChanges : public testing::TestWithParam<tests::Streams> {
 protected:
  void SetUp() override {
    if (!device) GTEST_SKIP() << core::cuda_unavailable_reason();
    EngineOptions options = tests::tiny_engine_options();
    options.selection = tests::plain_selection(GetParam());
    options.optimizer.learning_rate = 0.01f;
    engine = std::make_unique<Engine>(options, data, device);
    ask();
  }

  const models::Model& network() const { return engine->model(); }

  void ask() {
    ObservationRequest request;
    request.inspected_image = 2;
    request.distributions = request.feature_probe = request.latents.map = true;
    if (models::latent_of(network()).decodes) request.latents.pictures = {{0, 1, 0.5f, {}}, {1, 2, 0.5f, {}}};
    request.comparison.emplace();
    request.comparison->reconstructors.resize(1);
    request.comparison->count = 4;
    request.weights = ++asked;
    request.activations_of = network().layers.size();
    for (const auto& observer : observers) observer->ask(request);
  }

  /// As the trainer does between two steps.
  void look() {
    const Scene scene = engine->scene();
    for (const auto& observer : observers) {
      if (!observer->wanted()) continue;
      observer->take(seen);
      observer->start(scene);
    }
  }

  void change(const models::Model& other) {
    engine->set_network(other);
    for (const auto& observer : observers) observer->restart(seen);
    EXPECT_EQ(seen, Observations{}) << "nothing of the network before is left";
  }

  bool all_seen() const {
    const bool decodes = models::latent_of(network()).decodes;
    return seen.inspection && seen.distributions && seen.latents && (seen.latent_pictures || !decodes) &&
           seen.comparison && seen.probe && seen.activations && seen.weights;
  }

  void expect_of_network() const {
    const models::Model& model = network();
    const std::vector<float> weights = engine->parameters();
    EXPECT_EQ(seen.inspection->outputs.size(), model.layers.size() + 1);
    EXPECT_EQ(seen.activations->output, model.layers.size());
    EXPECT_EQ(seen.latents->latent.layer, models::latent_of(model).layer);
    EXPECT_EQ(seen.comparison->reconstructions[0].failure, "");
    EXPECT_EQ(seen.probe->problem, "");
    const auto& moment = *seen.distributions->moments.back();
    EXPECT_NE(moment.find(model.layers.size(), Quantity::activations), nullptr);
    EXPECT_EQ(moment.distributions.rbegin()->first.first, model.layers.size());
    for (const auto& each : seen.distributions->moments) EXPECT_GE(each->step, changed_at);
  }

  const std::shared_ptr<core::Device> device = tests::device_of(GetParam());
  const std::shared_ptr<data::DataSet> data = std::make_shared<data::DataSet>(tests::labelled_data(48, 36));
  std::unique_ptr<Engine> engine;
  std::vector<std::unique_ptr<Observer>> observers = make_observers();  // they go before the engine
  Observations seen;
  std::uint64_t asked = 0, changed_at = 0;
};

INSTANTIATE_TEST_SUITE_P(Streams, NetworkChanges,
                         testing::Values(tests::Streams::at_once, tests::Streams::behind,
                                         tests::Streams::cuda),
                         [](const auto& which) { return tests::name_of(which.param); });

TEST_P(NetworkChanges, LeaveNothingOfTheNetworkBefore) {
  models::Model larger = tests::tiny_model();
  larger.layers[3].out_channels = 9;
  larger.layers.insert(larger.layers.begin() + 4, {models::LayerKind::layer_norm, "norm2"});
  models::fit_layers(larger);
  models::Model shorter = tests::tiny_model();
  shorter.layers.erase(shorter.layers.begin() + 4);
  for (const models::Model& next : {larger, tests::tiny_model(), shorter}) {
    ASSERT_TRUE(tests::eventually([&] {
      run_steps(*engine, 1);
      look();
      return all_seen();
    }));
    expect_of_network();
    look();  // more is under way
    changed_at = engine->steps();
    change(next);
    ask();
  }
  ASSERT_TRUE(tests::eventually([&] {
    run_steps(*engine, 1);
    look();
    return all_seen();
  }));
  expect_of_network();
}

TEST_P(NetworkChanges, OfLooksJustBegunDoNotReachTheNextOne) {
  tests::Dice dice(3);
  for (int edit = 0; edit < 30; ++edit) {
    const models::Model next = tests::random_edit(dice, network(), edit);
    if (!tests::fits(next) || next.layers.size() > 12) continue;
    engine->step(false);
    look();
    engine->step(false);
    look();
    change(next);
    ask();
  }
  run_steps(*engine, 2);
}

}  // namespace
}  // namespace warpscope::training::network_change_test
