// Networks that a comparison may ask for next are built ahead.

#include "gpu/observers/comparison_rehearsal.h"

#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/engine/engine.h"
#include "tests/support/stream_kinds.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_engine.h"

namespace warpscope::training {
namespace {

/// On streams of every kind.
class Rehearsals : public testing::TestWithParam<tests::Streams> {
 protected:
  void SetUp() override {
    if (!device) GTEST_SKIP() << core::cuda_unavailable_reason();
    EngineOptions options = tests::tiny_engine_options();
    options.selection = tests::plain_selection(GetParam());
    engine = std::make_unique<Engine>(std::move(options), data, device);
  }
  static Reconstructor by(plan::Selection selection) {
    Reconstructor reconstructor;
    reconstructor.selection = std::move(selection);
    return reconstructor;
  }
  /// The training's own variants and others.
  static ObservationRequest two(int count = 10) {
    ObservationRequest request;
    request.likely_comparison =
        ComparisonRequest{{{}, by(tests::other_selection(GetParam()))}, count, nullptr};
    return request;
  }
  void rehearse() {
    do {
      EXPECT_FALSE(rehearsal.start(engine->scene()));
      std::this_thread::yield();
    } while (rehearsal.under_way());
  }

  const std::shared_ptr<core::Device> device = tests::device_of(GetParam());
  const std::shared_ptr<data::DataSet> data = std::make_shared<data::DataSet>(tests::tiny_data(40, 300));
  std::unique_ptr<Engine> engine;
  ComparisonRehearsal rehearsal;
};

INSTANTIATE_TEST_SUITE_P(Streams, Rehearsals, testing::ValuesIn(tests::kAllStreams),
                         [](const auto& which) { return tests::name_of(which.param); });

TEST_P(Rehearsals, NothingIsBuiltUnlessItIsLikely) {
  EXPECT_FALSE(rehearsal.ask(ObservationRequest{}));
  EXPECT_FALSE(rehearsal.wanted());
  ObservationRequest asked = two();
  asked.comparison = std::exchange(asked.likely_comparison, std::nullopt);
  EXPECT_FALSE(rehearsal.ask(asked));
  EXPECT_FALSE(rehearsal.wanted());
}

TEST_P(Rehearsals, EachLikelyNetworkIsBuiltOnce) {
  EXPECT_TRUE(rehearsal.ask(two()));
  EXPECT_TRUE(rehearsal.wanted());
  rehearse();
  EXPECT_EQ(rehearsal.built(), 2u);
  EXPECT_TRUE(rehearsal.ask(ObservationRequest{}));
  Observations seen;
  rehearsal.end(seen);
  rehearsal.ask(two());
  rehearse();
  EXPECT_EQ(rehearsal.built(), 2u);
  rehearsal.ask(two(12));
  rehearse();
  EXPECT_EQ(rehearsal.built(), 4u);
}

TEST_P(Rehearsals, ANetworkThatCannotBeLeavesTheOthers) {
  ObservationRequest request = two();
  auto& list = request.likely_comparison->reconstructors;
  Reconstructor missing;
  missing.weights_file = "no such file";
  list.insert(list.begin(), missing);
  rehearsal.ask(request);
  rehearse();
  EXPECT_EQ(rehearsal.built(), 2u);
}

TEST_P(Rehearsals, AnotherNetworkIsRehearsedAnew) {
  rehearsal.ask(two());
  rehearse();
  Observations seen;
  rehearsal.restart(seen);
  rehearse();
  EXPECT_EQ(rehearsal.built(), 4u);
}

TEST_P(Rehearsals, TheTrainingGoesOnWithTheSameBits) {
  Engine alone(engine->options(), data, device);
  tests::run_steps(alone, 4);
  rehearsal.ask(two());
  tests::run_steps(*engine, 2);
  rehearse();
  tests::run_steps(*engine, 2);
  EXPECT_EQ(engine->parameters(), alone.parameters());
}

}  // namespace
}  // namespace warpscope::training
