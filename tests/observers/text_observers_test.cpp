// The shares of characters are what the network computes: against differences of a model in double precision.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/data/text_encoding.h"
#include "gpu/engine/engine.h"
#include "gpu/observers/observer_table.h"
#include "tests/support/double_network.h"
#include "tests/support/stream_kinds.h"
#include "tests/support/tiny_engine.h"
#include "tests/support/tiny_text.h"

namespace warpscope::training::text_observers_test {
namespace {

using models::LayerKind;
using tests::run_steps;

struct Case {
  std::string name;
  tests::Streams streams = tests::Streams::at_once;
  LayerKind first = LayerKind::one_hot;
};

ObservationRequest typed(const std::string& text, std::optional<int> target = std::nullopt) {
  ObservationRequest request;
  request.typed_text = TypedText{text, target};
  return request;
}

ObservationRequest held_out(std::vector<std::int64_t> places) {
  ObservationRequest request;
  request.held_out_texts = HeldOutTexts{false, std::move(places)};
  return request;
}

/// The look that is under way.
TextAttributions wait_for(Observer& observer) {
  Observations seen;
  while (!observer.take(seen)) std::this_thread::yield();
  return seen.typed_text ? *seen.typed_text : *seen.held_out_texts;
}

/// A tiny network on texts, with layer normalization and dropout before its last layer.
models::Model model_of(LayerKind first) {
  models::Model model = tests::tiny_text_model(first);
  model.layers.insert(model.layers.begin() + 2, models::Layer{LayerKind::layer_norm, "ln1"});
  model.layers.insert(model.layers.end() - 1, models::Layer{LayerKind::dropout, "drop1"});
  models::fit_layers(model);
  return model;
}

/// Gradient x input of a text of `model`, from its definition; one a place, the last character first.
class Definition {
 public:
  Definition(const models::Model& model, const std::vector<float>& parameters, const std::string& text)
      : network_(model), parameters_(parameters.begin(), parameters.end()) {
    const std::vector<std::uint8_t> bytes = data::Alphabet(model.alphabet).encode(text, model.width);
    std::vector<double> image;
    for (const std::uint8_t byte : bytes) image.push_back(byte / 255.0);
    first_ = network_.outputs(parameters_, image).front();
    places_ = bytes.size();
  }
  std::vector<double> scores() const { return network_.outputs_behind(parameters_, first_).back(); }
  /// Along the input at place `at`: x ds/dx, by differences to both sides; NaN where these differ, at a corner.
  double share(std::size_t at, std::size_t target) const {
    constexpr double kStep = 1e-6;
    const auto score = [&](double factor) {
      std::vector<double> input = first_;
      const std::size_t channels = input.size() / places_;
      for (std::size_t c = at * channels; c < (at + 1) * channels; ++c) input[c] *= factor;
      return network_.outputs_behind(parameters_, input).back()[target];
    };
    const double here = score(1), up = (score(1 + kStep) - here) / kStep,
                 down = (here - score(1 - kStep)) / kStep;
    return std::abs(up - down) <= 1e-5 + 1e-3 * std::abs(up) ? (up + down) / 2 : std::nan("");
  }
  std::size_t places() const { return places_; }

 private:
  tests::DoubleNetwork network_;
  std::vector<double> parameters_, first_;
  std::size_t places_ = 0;
};

/// How many shares could be compared.
int compare(const Definition& definition, const TextAttribution& found) {
  const std::vector<double> scores = definition.scores();
  for (std::size_t k = 0; k < scores.size(); ++k) EXPECT_NEAR(found.scores.at(k), scores[k], 1e-4);
  double largest = 0;
  for (const float share : found.shares) largest = std::max(largest, std::abs(double{share}));
  int compared = 0;
  for (std::size_t i = 0; i < found.shares.size(); ++i) {
    const double expected =
        definition.share(found.shares.size() - 1 - i, static_cast<std::size_t>(found.target));
    if (std::isnan(expected)) continue;
    ++compared;
    EXPECT_NEAR(found.shares[i], expected, 1e-5 + 1e-3 * largest) << i;
  }
  return compared;
}

/// On streams of every kind.
class Texts : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!device) GTEST_SKIP() << core::cuda_unavailable_reason();
  }
  std::unique_ptr<Engine> make() const {
    EngineOptions options = tests::tiny_engine_options();
    options.selection = {core::Precision::fp32, {}};
    options.model = model_of(GetParam().first);
    return std::make_unique<Engine>(options, data, device);
  }

  const std::shared_ptr<core::Device> device = tests::device_of(GetParam().streams);
  const std::shared_ptr<data::DataSet> data = std::make_shared<data::DataSet>(tests::tiny_text_data(80, 30));
};

INSTANTIATE_TEST_SUITE_P(
    Streams, Texts,
    testing::Values(Case{"one_hot"}, Case{"embedding", tests::Streams::at_once, LayerKind::embedding},
                    Case{"one_hot_behind", tests::Streams::behind},
                    Case{"embedding_behind", tests::Streams::behind, LayerKind::embedding},
                    Case{"one_hot_on_cuda", tests::Streams::cuda},
                    Case{"embedding_on_cuda", tests::Streams::cuda, LayerKind::embedding}),
    [](const auto& which) { return which.param.name; });

TEST_P(Texts, TypedHaveTheSharesOfTheDefinition) {
  const auto engine = make();
  run_steps(*engine, 4);
  const std::unique_ptr<Observer> observer = make_typed_text_observer();
  const std::string text =
      "the Quick brown fox! jumps over a lazy dog";  // 42 characters, of which 40 are read
  for (const std::optional<int> target : {std::optional<int>(), std::optional<int>(3)}) {
    EXPECT_TRUE(observer->ask(typed(text, target)));
    EXPECT_FALSE(observer->ask(typed(text, target)));
    ASSERT_TRUE(observer->start(engine->scene()));
    const TextAttributions found = wait_for(*observer);
    EXPECT_EQ(found.step, 4u);
    ASSERT_EQ(found.texts.size(), 1u);
    const TextAttribution& one = found.texts.front();
    EXPECT_EQ(one.text, text);
    EXPECT_EQ(one.place, std::nullopt);
    ASSERT_EQ(one.scores.size(), 4u);
    const auto most = std::max_element(one.scores.begin(), one.scores.end()) - one.scores.begin();
    EXPECT_EQ(one.target, target.value_or(static_cast<int>(most)));
    ASSERT_EQ(one.shares.size(), 40u);
    EXPECT_EQ(one.left_out, 2u);
    EXPECT_EQ(one.blank_share, 0);
    for (std::size_t i = 0; i < one.known.size(); ++i) EXPECT_EQ(one.known[i], i == 19 ? 0 : 1) << i;
    if (GetParam().first == LayerKind::one_hot) {
      EXPECT_EQ(one.shares[19], 0);
    }
    EXPECT_GT(compare({engine->model(), engine->parameters(), text}, one), 20);
  }
}

TEST_P(Texts, OfTheHeldOutSetComeInTheOrderAskedFor) {
  const auto engine = make();
  run_steps(*engine, 2);
  const std::unique_ptr<Observer> observer = make_held_out_text_observer();
  std::vector<std::int64_t> places(11);  // more than a batch
  std::iota(places.begin(), places.end(), 3);
  std::reverse(places.begin(), places.end());
  observer->ask(held_out(places));
  ASSERT_TRUE(observer->start(engine->scene()));
  const TextAttributions found = wait_for(*observer);
  ASSERT_EQ(found.texts.size(), places.size());
  int compared = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const TextAttribution& one = found.texts[i];
    EXPECT_EQ(one.place, places[i]);
    EXPECT_EQ(found.find(places[i]), &one);
    EXPECT_EQ(one.text, data->test.texts[static_cast<std::size_t>(places[i])]);
    compared += compare({engine->model(), engine->parameters(), one.text}, one);
  }
  EXPECT_GT(compared, 200);
  EXPECT_EQ(found.find(99), nullptr);
}

TEST_P(Texts, DisturbNothing) {
  const auto engine = make(), twin = make();
  run_steps(*engine, 3);
  run_steps(*twin, 3);
  const std::unique_ptr<Observer> one = make_typed_text_observer();
  const std::unique_ptr<Observer> many = make_held_out_text_observer();
  one->ask(typed("hello"));
  many->ask(held_out({0, 1, 2}));
  EXPECT_TRUE(one->start(engine->scene()));
  EXPECT_TRUE(many->start(engine->scene()));
  wait_for(*one);
  wait_for(*many);
  EXPECT_EQ(tests::losses(run_steps(*engine, 5)), tests::losses(run_steps(*twin, 5)));
}

TEST_P(Texts, OfAnyKindAreRead) {
  const auto engine = make();
  run_steps(*engine, 1);
  const std::unique_ptr<Observer> observer = make_typed_text_observer();
  struct Odd {
    std::string text;
    std::size_t read, left_out;
  };
  const Odd odd[] = {{"", 0, 0},
                     {" ", 1, 0},
                     {"\xf0\x9f\x9a\x80\xe4\xb8\xad\xd0\xb6\xf4\x8f\xbf\xbf", 4, 0},
                     {"\xff\xfe\x80 broken \xe4\xb8", 12, 0},
                     {std::string("a\0b\n", 4), 4, 0},
                     {std::string(100000, 'x'), 40, 99960}};
  for (const Odd& each : odd) {
    observer->ask(typed(each.text));
    ASSERT_TRUE(observer->start(engine->scene()));
    const TextAttribution one = wait_for(*observer).texts.front();
    EXPECT_EQ(one.shares.size(), each.read);
    EXPECT_EQ(one.known.size(), each.read);
    EXPECT_EQ(one.left_out, each.left_out);
    const std::vector<double> probabilities = probabilities_of(one);
    EXPECT_NEAR(std::accumulate(probabilities.begin(), probabilities.end(), 0.0), 1, 1e-12);
  }
}

TEST_P(Texts, InEveryPrecisionHaveSharesLikeThoseInFp32) {
  const auto engine = make();
  run_steps(*engine, 2);
  const std::unique_ptr<Observer> observer = make_typed_text_observer();
  observer->ask(typed("the quick brown fox jumps over a lazy do", 1));
  ASSERT_TRUE(observer->start(engine->scene()));
  const TextAttribution exact = wait_for(*observer).texts.front();
  for (const core::Precision precision : plan::training_precisions(device->info())) {
    if (precision == core::Precision::fp32) continue;
    engine->set_selection({precision, {}});
    ASSERT_TRUE(observer->start(engine->scene()));
    const TextAttribution one = wait_for(*observer).texts.front();
    double off = 0, all = 0;
    for (std::size_t i = 0; i < exact.shares.size(); ++i) {
      off += std::abs(one.shares[i] - exact.shares[i]);
      all += std::abs(exact.shares[i]);
    }
    EXPECT_GT(all, 0);
    EXPECT_LT(off, 0.1 * all) << core::to_string(precision);
  }
}

TEST(TextObservers, RefuseWhatIsNotThere) {
  EngineOptions options = tests::tiny_engine_options();
  options.model = tests::tiny_text_model();
  Engine engine(options, std::make_shared<data::DataSet>(tests::tiny_text_data(80, 30)),
                core::open_device("cpu"));
  const std::unique_ptr<Observer> one = make_typed_text_observer();
  one->ask(typed("hello", 4));
  EXPECT_THROW(one->start(engine.scene()), core::BadInput);
  one->ask(typed("hello", -1));
  EXPECT_THROW(one->start(engine.scene()), core::BadInput);
  const std::unique_ptr<Observer> many = make_held_out_text_observer();
  many->ask(held_out({0, 30}));
  EXPECT_THROW(many->start(engine.scene()), core::BadInput);
  Engine images(tests::tiny_engine_options(), std::make_shared<data::DataSet>(tests::tiny_data()),
                core::open_device("cpu"));
  const std::unique_ptr<Observer> of_images = make_typed_text_observer();
  of_images->ask(typed("hello"));
  EXPECT_THROW(of_images->start(images.scene()), core::BadInput);
}

TEST(TextObservers, DropWhatIsNoLongerAskedFor) {
  const auto device = std::make_shared<tests::AsyncDevice>();
  EngineOptions options = tests::tiny_engine_options();
  options.model = tests::tiny_text_model();
  Engine engine(options, std::make_shared<data::DataSet>(tests::tiny_text_data(80, 30)), device);
  const std::unique_ptr<Observer> observer = make_typed_text_observer();
  Observations seen;
  auto held = device->hold();
  observer->ask(typed("one"));
  EXPECT_TRUE(observer->start(engine.scene()));
  EXPECT_FALSE(observer->start(engine.scene())) << "the one before is under way";
  EXPECT_FALSE(observer->take(seen));
  observer->ask(typed("one", 2));
  held.reset();
  while (!observer->start(engine.scene())) EXPECT_FALSE(observer->take(seen));
  EXPECT_EQ(wait_for(*observer).texts.front().target, 2);
  observer->ask({});
  EXPECT_FALSE(observer->wanted());
  observer->end(seen);
  EXPECT_FALSE(observer->take(seen));
  EXPECT_EQ(seen.typed_text, nullptr);
}

}  // namespace
}  // namespace warpscope::training::text_observers_test
