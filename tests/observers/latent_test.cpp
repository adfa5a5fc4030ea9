// The map of latents holds what the network computes, keeps still, and is decoded by the weights that made it.

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/engine/engine.h"
#include "gpu/observers/observer_table.h"
#include "tests/support/double_network.h"
#include "tests/support/stream_kinds.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_engine.h"

namespace warpscope::training::latent_test {
namespace {

using tests::run_steps;

ObservationRequest request_of(std::vector<LatentRecipe> pictures = {}) {
  ObservationRequest request;
  request.latents = {true, std::move(pictures)};
  return request;
}

void wait_for(Observer& observer, Observations& seen) {
  while (!observer.take(seen)) std::this_thread::yield();
}

/// On streams of every kind.
class Latents : public testing::TestWithParam<tests::Streams> {
 protected:
  void SetUp() override {
    if (!device) GTEST_SKIP() << core::cuda_unavailable_reason();
    engine = std::make_unique<Engine>(options(), data, device);
    mapper->ask(request_of({{0}}));
  }
  static EngineOptions options() {
    EngineOptions options = tests::tiny_engine_options();
    options.selection = tests::plain_selection(GetParam());
    return options;
  }
  std::shared_ptr<const LatentMap> look() {
    EXPECT_TRUE(mapper->start(engine->scene()));
    wait_for(*mapper, seen);
    return seen.latents;
  }
  std::shared_ptr<const LatentPictures> decode(const std::vector<LatentRecipe>& recipes) {
    decoder->ask(request_of(recipes));
    EXPECT_FALSE(decoder->take(seen));
    EXPECT_TRUE(decoder->start(engine->scene()));
    wait_for(*decoder, seen);
    return seen.latent_pictures;
  }

  const std::shared_ptr<core::Device> device = tests::device_of(GetParam());
  const std::shared_ptr<data::DataSet> data = std::make_shared<data::DataSet>(tests::tiny_data());
  std::unique_ptr<Engine> engine;
  const std::unique_ptr<Observer> mapper = make_latent_mapper();
  const std::unique_ptr<Observer> decoder = make_latent_decoder();
  Observations seen;
};

INSTANTIATE_TEST_SUITE_P(Streams, Latents, testing::ValuesIn(tests::kAllStreams),
                         [](const auto& which) { return tests::name_of(which.param); });

TEST_P(Latents, AreTheEncodersOutputOfEveryTestImage) {
  run_steps(*engine, 4);
  const auto map = look();
  EXPECT_EQ(map->step, 4u);
  EXPECT_EQ(map->number, 1u);
  EXPECT_EQ(map->count, 12u);
  EXPECT_EQ(map->latent.layer, "pool1");
  const models::Model& model = engine->model();
  const std::vector<float> weights = engine->parameters();
  EXPECT_EQ(*map->weights, weights);
  const std::vector<double> parameters(weights.begin(), weights.end());
  const std::size_t elements = map->latent.elements();
  ASSERT_EQ(map->values.size(), 12 * elements);
  for (std::size_t image = 0; image < 12; ++image) {
    const auto outputs = tests::DoubleNetwork(model).outputs(
        parameters, tests::image_of(data->test, static_cast<std::int64_t>(image)));
    for (std::size_t i = 0; i < elements; ++i)
      ASSERT_NEAR(map->values[image * elements + i], outputs[2][i], 2e-5) << image;
  }
}

TEST_P(Latents, AreGivenBackByTheirScores) {
  const auto map = look();
  ASSERT_EQ(map->rank, 6u);
  for (std::size_t image = 0; image < map->count; ++image) {
    const std::vector<float> scores = scores_of(*map, latent_at(*map, {static_cast<std::int64_t>(image)}));
    for (std::size_t k = 0; k < map->rank; ++k) EXPECT_NEAR(scores[k], map->score(image, k), 1e-3);
  }
  for (std::size_t k = 1; k < map->rank; ++k) EXPECT_LE(map->shares[k], map->shares[k - 1]);
}

TEST_P(Latents, OfTheSameWeightsAreInTheSamePlaces) {
  const auto first = look(), second = look();
  EXPECT_EQ(second->number, 2u);
  for (std::size_t i = 0; i < first->scores.size(); ++i) {
    EXPECT_NEAR(first->scores[i], second->scores[i], 0.02f * first->sigmas[0]);
  }
}

TEST_P(Latents, AreDecodedToWhatTheWholeNetworkMakesOfTheImages) {
  run_steps(*engine, 3);
  const auto map = look();
  const auto pictures = decode({{7}, {2}});
  EXPECT_EQ(pictures->map, map->number);
  EXPECT_EQ(pictures->step, 3u);
  const std::vector<double> parameters(map->weights->begin(), map->weights->end());
  const tests::DoubleNetwork network(engine->model());
  for (const std::int64_t image : {7, 2}) {
    const float* const found = pictures->find({image});
    ASSERT_NE(found, nullptr);
    const std::vector<double> wanted = network.reconstruct(parameters, tests::image_of(data->test, image));
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 2e-5) << image;
  }
}

TEST_P(Latents, AreDecodedByTheWeightsThatMadeThem) {
  look();
  const auto before = decode({{3}});
  run_steps(*engine, 6);
  Observations anew;
  anew.latents = seen.latents;
  const std::unique_ptr<Observer> other = make_latent_decoder();
  other->ask(request_of({{3}}));
  EXPECT_FALSE(other->take(anew));
  EXPECT_TRUE(other->start(engine->scene()));
  wait_for(*other, anew);
  EXPECT_EQ(anew.latent_pictures->pixels, before->pixels);
}

TEST_P(Latents, CarryTheWeightsOnlyWhereSomebodyAsksForPictures) {
  mapper->ask(request_of());
  EXPECT_EQ(look()->weights, nullptr);
  decoder->ask(request_of({{1}}));
  EXPECT_FALSE(decoder->take(seen));
  EXPECT_FALSE(decoder->start(engine->scene())) << "it waits for a map with weights";
  EXPECT_TRUE(mapper->ask(request_of({{1}}))) << "asks for one";
  EXPECT_FALSE(mapper->ask(request_of({{1}, {2}}))) << "that has them";
  look();
  EXPECT_EQ(decode({{1}})->map, 2u);
}

TEST_P(Latents, AreDecodedOnceAndAgainWithTheNextMap) {
  look();
  decode({{1}, {2}});
  EXPECT_FALSE(decoder->start(engine->scene())) << "all pictures are there";
  EXPECT_TRUE(decoder->ask(request_of({{1}, {4}})));
  EXPECT_TRUE(decoder->start(engine->scene()));
  wait_for(*decoder, seen);
  EXPECT_NE(seen.latent_pictures->find({1}), nullptr) << "it is kept";
  EXPECT_NE(seen.latent_pictures->find({4}), nullptr);
  EXPECT_EQ(seen.latent_pictures->find({2}), nullptr) << "nobody asks for it any more";
  look();
  EXPECT_FALSE(decoder->take(seen));
  EXPECT_TRUE(decoder->start(engine->scene()));
  wait_for(*decoder, seen);
  EXPECT_EQ(seen.latent_pictures->map, 2u);
}

TEST_P(Latents, ThatAreManyAreDecodedInSeveralLooks) {
  look();
  std::vector<LatentRecipe> recipes;
  for (int i = 0; i < 13; ++i) recipes.push_back({0, 1, static_cast<float>(i) / 12});
  decode(recipes);
  EXPECT_EQ(seen.latent_pictures->recipes.size(), 10u);
  EXPECT_TRUE(decoder->start(engine->scene()));
  wait_for(*decoder, seen);
  for (const LatentRecipe& recipe : recipes) EXPECT_NE(seen.latent_pictures->find(recipe), nullptr);
}

TEST_P(Latents, FollowTheSelection) {
  look();
  decode({{0}});
  engine->set_selection(tests::other_selection(GetParam()));
  EXPECT_EQ(look()->number, 2u);
  EXPECT_EQ(decode({{0}, {1}})->map, 2u);
}

TEST_P(Latents, DisturbNothing) {
  Engine twin(options(), data, device);
  run_steps(*engine, 3);
  run_steps(twin, 3);
  look();
  decode({{0, 5, 0.5f}});
  EXPECT_EQ(tests::losses(run_steps(*engine, 5)), tests::losses(run_steps(twin, 5)));
}

TEST_P(Latents, MayBeLetGoWhileTheyAreUnderWay) {
  look();
  decoder->ask(request_of({{0}}));
  decoder->take(seen);
  EXPECT_TRUE(decoder->start(engine->scene()));
  EXPECT_TRUE(mapper->start(engine->scene()));
  EXPECT_FALSE(mapper->start(engine->scene())) << "the one before has not been taken";
  EXPECT_FALSE(decoder->start(engine->scene()));
  EXPECT_FALSE(mapper->ask(request_of())) << "fewer pictures need no other map";
  EXPECT_TRUE(mapper->ask({}));
  decoder->end(seen);
  mapper->end(seen);
  EXPECT_EQ(seen, Observations{});
  EXPECT_FALSE(mapper->take(seen));
}

TEST(LatentsThatAreNotFinite, SaySo) {
  const auto device = core::open_device("cpu");
  EngineOptions options = tests::tiny_engine_options();
  Engine engine(options, std::make_shared<data::DataSet>(tests::tiny_data()), device);
  run_steps(engine, 1);
  EngineState state = engine.state();
  for (float& value : state.parameters) value = 1e38f;
  engine.restore(state);
  const std::unique_ptr<Observer> mapper = make_latent_mapper();
  mapper->ask(request_of({{0}}));
  Observations seen;
  EXPECT_TRUE(mapper->start(engine.scene()));
  wait_for(*mapper, seen);
  EXPECT_EQ(seen.latents->problem, "The latents of step 1 hold numbers that are not finite.");
  const std::unique_ptr<Observer> decoder = make_latent_decoder();
  decoder->ask(request_of({{0}}));
  decoder->take(seen);
  EXPECT_FALSE(decoder->start(engine.scene()));
}

TEST(LatentsOfAClassifier, HaveNoPictures) {
  EngineOptions options = tests::tiny_engine_options();
  options.model = tests::tiny_classifier();
  Engine engine(options, std::make_shared<data::DataSet>(tests::labelled_data(40, 12)),
                core::open_device("cpu"));
  const std::unique_ptr<Observer> mapper = make_latent_mapper();
  mapper->ask(request_of({{0}}));
  Observations seen;
  EXPECT_TRUE(mapper->start(engine.scene()));
  wait_for(*mapper, seen);
  EXPECT_EQ(seen.latents->latent.layer, "relu2");
  EXPECT_FALSE(seen.latents->latent.decodes);
  EXPECT_EQ(seen.latents->rank, 6u);
  const std::unique_ptr<Observer> decoder = make_latent_decoder();
  decoder->ask(request_of({{0}}));
  decoder->take(seen);
  EXPECT_THROW(decoder->start(engine.scene()), core::BadInput);
}

}  // namespace
}  // namespace warpscope::training::latent_test
