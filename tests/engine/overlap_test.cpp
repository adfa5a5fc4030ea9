// What two ranks learn where gradients are added in pieces while the backward pass makes the others: the same bits as
// where they are added in one call behind it.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/ranks/sums.h"
#include "tests/support/async_device.h"
#include "tests/support/rank_threads.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_engine.h"

namespace warpscope::training::overlap_test {
namespace {

constexpr int kSteps = 3;
constexpr const char* kInPieces = "in_pieces";

/// A call of the sum on rank 0.
struct Summed {
  const float* begin = nullptr;
  std::int64_t count = 0;
  bool early = false;
};
using Log = std::vector<Summed>;

/// `loops`, in pieces as small as they get; `log` keeps what rank 0 does.
ops::Variant in_pieces(Log* log) {
  ops::Variant variant = *ops::find_variant(*ops::built_in_variants(), ops::Op::gradients_allreduce,
                                            core::DeviceKind::cpu, "loops");
  variant.name = kInPieces;
  variant.presets = {};
  variant.least_piece = 1;
  variant.launch = [log, whole = variant.launch](const ops::OpCall& call) {
    if (call.context->share.sums && call.context->share.sums->place().leads()) {
      log->push_back({call.operand<float>(ops::Name::gradients), call.shape.count, call.early});
    }
    whole(call);
  };
  return variant;
}

/// What rank 0 has after some steps of two.
struct Learned {
  std::vector<float> parameters, gradients, losses;
  Log log;

  /// Calls of the sum in each step.
  std::size_t pieces() const { return log.size() / kSteps; }
};

template <class Device>
Learned learned(EngineOptions options, const std::shared_ptr<const data::DataSet>& data, const char* variant,
                Device open) {
  Learned result;
  options.variants = ops::with_variant(*options.variants, in_pieces(&result.log));
  options.selection.variants[ops::Op::gradients_allreduce] = variant;
  ranks::as_ranks(2, [&](ranks::SharedMeeting& meeting) {
    EngineOptions own = options;
    own.sums = std::make_shared<ranks::Sums>(meeting.group(ranks::kSums, {}));
    Engine engine(own, data, open());
    const std::vector<StepResult> steps = tests::run_steps(engine, kSteps, true);
    if (!meeting.place().leads()) return;
    result.parameters = engine.parameters();
    result.gradients = engine.gradients();
    result.losses = tests::losses(steps);
  });
  return result;
}

std::shared_ptr<core::Device> cpu_device() {
  return core::open_device("cpu");
}

/// Each step's calls lie side by side from the back to the front, and all but the last run beside other nodes.
void expect_each_once(const Learned& found, std::size_t least) {
  ASSERT_GE(found.pieces(), least);
  ASSERT_EQ(found.log.size() % kSteps, 0U);
  for (std::size_t i = 0; i < found.log.size(); ++i) {
    const Summed& call = found.log[i];
    const bool last = i % found.pieces() == found.pieces() - 1;
    EXPECT_EQ(call.early, !last);
    if (last) continue;
    EXPECT_EQ(found.log[i + 1].begin + found.log[i + 1].count, call.begin);
  }
}

void expect_same_bits(const EngineOptions& options, const data::DataSet& data, std::size_t least_pieces) {
  const auto shared = std::make_shared<data::DataSet>(data);
  const Learned wanted = learned(options, shared, "loops", cpu_device);
  const Learned found = learned(options, shared, kInPieces, cpu_device);
  ASSERT_FALSE(wanted.parameters.empty());
  EXPECT_TRUE(wanted.log.empty());
  EXPECT_EQ(found.parameters, wanted.parameters);
  EXPECT_EQ(found.gradients, wanted.gradients);
  EXPECT_EQ(found.losses, wanted.losses);
  expect_each_once(found, least_pieces);
}

/// Statistics in front of what is learned, a layer that adds an earlier one, odd sizes.
EngineOptions classifier_options() {
  using enum models::LayerKind;
  EngineOptions options = tests::tiny_engine_options();
  options.model = tests::tiny_classifier();
  auto& layers = options.model.layers;
  layers.insert(layers.begin() + 1, {batch_norm, "norm1"});
  models::fit_layers(options.model);
  options.batch = 7;  // four images of one rank, three of the other
  options.optimizer = defaults_of(ops::UpdateRule::adam);
  return options;
}

TEST(SumsInPieces, GiveTheBitsOfOneSumBehindTheBackwardPass) {
  expect_same_bits(tests::tiny_engine_options(), tests::tiny_data(), 3);
  expect_same_bits(classifier_options(), tests::labelled_data(60, 12), 3);
}

TEST(SumsInPieces, GiveTheSameBitsWithAHeadAndClipping) {
  EngineOptions options = tests::tiny_engine_options();
  options.optimizer.joint = 0.5f;
  options.optimizer.clip_norm = 0.1f;
  expect_same_bits(options, tests::labelled_data(60, 12), 2);
}

TEST(SumsInPieces, GiveTheSameBitsWhereMicroBatchesAddUp) {
  EngineOptions options = classifier_options();
  options.optimizer.accumulate = 3;
  expect_same_bits(options, tests::labelled_data(60, 12), 3);
}

TEST(SumsInPieces, AreOneWhereATreeAddsOrBatchNormsAddOverRanks) {
  EngineOptions options = classifier_options();
  options.batch = 8;
  options.deterministic = true;
  const auto data = std::make_shared<data::DataSet>(tests::labelled_data(60, 12));
  EXPECT_EQ(learned(options, data, kInPieces, cpu_device).pieces(), 1U);
  options.deterministic = false;
  options.sync_batch_norm = true;
  EXPECT_EQ(learned(options, data, kInPieces, cpu_device).pieces(), 1U);
}

TEST(SumsInPieces, RunBesideOnADeviceThatRunsLater) {
  const auto data = std::make_shared<data::DataSet>(tests::tiny_data());
  const EngineOptions options = tests::tiny_engine_options();
  const Learned found =
      learned(options, data, kInPieces, [] { return std::make_shared<tests::AsyncDevice>(); });
  EXPECT_EQ(found.parameters, learned(options, data, "loops", cpu_device).parameters);
  expect_each_once(found, 3);
}

}  // namespace
}  // namespace warpscope::training::overlap_test
