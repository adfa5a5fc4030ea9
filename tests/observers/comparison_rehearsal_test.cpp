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

namespace warpscope::training::comparison_rehearsal_test {
namespace {

/// On streams of every kind.
class Rehearsals : public testing::TestWithParam<tests::Streams> {
 protected:
  void SetUp() override {
    if (!device) GTEST_SKIP() << core::cuda_unavailable_reason();
    engine = std::make_unique<Engine>(options(), data, device);
  }
  static EngineOptions options() {
    EngineOptions options = tests::tiny_engine_options();
    options.selection = tests::plain_selection(GetParam());
    return options;
  }
  static Reconstructor by(plan::Selection selection) {
    Reconstructor reconstructor;
    reconstructor.selection = std::move(selection);
    return reconstructor;
  }
  static ObservationRequest likely(std::vector<Reconstructor> reconstructors, int count = 10) {
    ObservationRequest request;
    request.likely_comparison = ComparisonRequest{std::move(reconstructors), count, nullptr};
    return request;
  }
  /// The training's own variants and others.
  static ObservationRequest two(int count = 10) {
    return likely({{}, by(tests::other_selection(GetParam()))}, count);
  }
  void rehearse() {
    while (rehearsal.wanted() || rehearsal.under_way()) {
      EXPECT_FALSE(rehearsal.start(engine->scene()));
      std::this_thread::yield();
    }
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

TEST_P(Rehearsals, WhatIsBuiltIsNotBuiltAgainForAnotherRequest) {
  rehearsal.ask(two());
  rehearse();
  Reconstructor sixteen_bits;
  sixteen_bits.precision = core::Precision::bf16;
  rehearsal.ask(likely({{}, sixteen_bits, {}}));
  rehearse();
  EXPECT_EQ(rehearsal.built(), 3u);
}

TEST_P(Rehearsals, NothingMoreIsWantedOnceItHasBegun) {
  rehearsal.ask(two());
  rehearse();
  EXPECT_FALSE(rehearsal.wanted());
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

TEST_P(Rehearsals, TheTrainingGoesOnBesideItWithTheSameBits) {
  Engine alone(options(), data, device);
  tests::run_steps(alone, 8);
  rehearsal.ask(two());
  tests::run_steps(*engine, 2);
  rehearsal.start(engine->scene());
  tests::run_steps(*engine, 6);
  rehearse();
  EXPECT_EQ(engine->parameters(), alone.parameters());
}

TEST_P(Rehearsals, ManyRequestsOneAfterTheOtherEndInTheLast) {
  for (int count = 1; count <= 8; ++count) {
    rehearsal.ask(two(count));
    rehearsal.start(engine->scene());
    Observations seen;
    if (count % 3 == 0) rehearsal.restart(seen);
    if (count % 3 == 1) rehearsal.end(seen);
  }
  rehearse();
  const std::size_t built = rehearsal.built();
  EXPECT_GE(built, 2u);
  rehearsal.ask(ObservationRequest{});
  rehearsal.ask(two(8));
  rehearse();
  EXPECT_EQ(rehearsal.built(), built) << "the last request was built to its end";
}

TEST_P(Rehearsals, OneThatIsDroppedMeanwhileLeavesTheTrainingAsItIs) {
  Engine alone(options(), data, device);
  tests::run_steps(alone, 3);
  {
    ComparisonRehearsal dropped;
    dropped.ask(two());
    dropped.start(engine->scene());
    EXPECT_FALSE(dropped.wanted());
  }
  tests::run_steps(*engine, 3);
  EXPECT_EQ(engine->parameters(), alone.parameters());
}

}  // namespace
}  // namespace warpscope::training::comparison_rehearsal_test
