// Past steps that are computed beside a training, which goes on.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/models/parameters.h"
#include "gpu/ranks/shared_meeting.h"
#include "gpu/training/ranks.h"
#include "gpu/training/trainer.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/changes.h"
#include "tests/support/failing_variant.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_trainer.h"

namespace warpscope::training::aside_test {
namespace {

using tests::eventually;
using tests::FeedLog;
using tests::holds;
using tests::paused_classifier_options;
using tests::wait_for_an_idle_round;
using tests::wait_for_state;
using tests::wait_for_step;
using tests::wait_until;

/// Those of tests::tiny_classifier() with parameters, as Inspection::outputs counts them.
constexpr std::size_t kTrainedLayers[] = {1, 4, 6};

void take_steps(Trainer& trainer, std::uint64_t until) {
  for (std::uint64_t step = trainer.snapshot()->step; step < until; ++step) trainer.send(StepOnce{});
  ASSERT_TRUE(wait_for_step(trainer, until));
}

/// Sends a command that has a number, and waits for the answer. True if it was not refused.
bool carry_out(Trainer& trainer, Command command) {
  const std::uint64_t number = trainer.snapshot()->answers.last + 1;
  trainer.send(std::move(command), number);
  wait_until(trainer, [=](const Snapshot& now) { return now.answers.last >= number && !now.rewind.running; });
  return !trainer.snapshot()->answers.is_refused(number);
}

bool wait_for_aside(const Trainer& trainer, std::uint64_t step) {
  return wait_until(trainer, [=](const Snapshot& now) { return now.aside.step == step && now.aside.ready; });
}

/// The notice with which a command is refused; "" if it is not.
std::string refusal(Trainer& trainer, Command command) {
  return carry_out(trainer, std::move(command)) ? "" : trainer.snapshot()->notice;
}

Observe inspect(std::size_t layer) {
  Observe observe;
  observe.request.inspected_image = 3;
  observe.request.inspected_parameters = layer;
  observe.request.distributions = true;
  observe.request.activations_of = 1;
  return observe;
}

/// Where the parameters of a layer begin, as Inspection::first says.
std::size_t first_of(std::size_t layer) {
  const models::Model model = tests::tiny_classifier();
  const models::ParameterLayout layout = models::parameter_layout(model);
  const std::string start = model.layers[layer - 1].name + ".";
  std::size_t first = layout.elements;
  for (const models::Parameter& tensor : layout.parameters) {
    if (tensor.name.starts_with(start)) first = std::min(first, tensor.offset);
  }
  return first;
}

/// What is told of one step.
struct Told {
  std::shared_ptr<const Evaluation> evaluation;
  std::vector<std::shared_ptr<const Inspection>> inspections;  ///< of kTrainedLayers
  std::shared_ptr<const ChannelActivations> activations;
};

/// `look` gives the newest observations of the step.
Told told_by(Trainer& trainer, std::uint64_t step, const std::function<AsideSeen()>& look) {
  Told told;
  for (const std::size_t layer : kTrainedLayers) {
    trainer.send(inspect(layer));
    EXPECT_TRUE(eventually([&] {
      const AsideSeen seen = look();
      const bool of_layer = seen.inspection && seen.inspection->step == step &&
                            seen.inspection->first == first_of(layer) && !seen.inspection->parameters.empty();
      const bool all = of_layer && seen.activations && seen.activations->step == step && seen.evaluation;
      if (!all) return false;
      told.inspections.push_back(seen.inspection);
      told.activations = seen.activations;
      told.evaluation = seen.evaluation;
      return true;
    })) << "layer "
        << layer;
  }
  return told;
}

Told told_aside(Trainer& trainer, std::uint64_t step) {
  return told_by(trainer, step, [&] {
    const auto seen = trainer.observations().aside;
    return seen ? *seen : AsideSeen();
  });
}

/// The same of a training that stands at that step.
Told told_of(Trainer& trainer) {
  const std::uint64_t step = trainer.snapshot()->step;
  return told_by(trainer, step, [&] {
    const Observations seen = trainer.observations();
    AsideSeen all;
    all.inspection = seen.inspection;
    all.activations = seen.activations;
    const auto evaluation = trainer.snapshot()->evaluation;
    if (evaluation && evaluation->step == step) all.evaluation = evaluation;
    return all;
  });
}

void expect_same(const Told& a, const Told& b, std::uint64_t step) {
  ASSERT_EQ(a.inspections.size(), std::size(kTrainedLayers));
  ASSERT_EQ(b.inspections.size(), a.inspections.size());
  for (std::size_t i = 0; i < a.inspections.size(); ++i) {
    const Inspection &one = *a.inspections[i], &other = *b.inspections[i];
    EXPECT_EQ(one.step, step);
    EXPECT_EQ(other.step, step);
    EXPECT_FALSE(one.parameters.empty());
    EXPECT_EQ(one.parameters, other.parameters);
    ASSERT_EQ(one.outputs.size(), other.outputs.size());
    for (std::size_t layer = 0; layer < one.outputs.size(); ++layer)
      EXPECT_EQ(one.outputs[layer].values, other.outputs[layer].values) << one.outputs[layer].layer;
  }
  EXPECT_EQ(a.activations->step, step);
  EXPECT_EQ(a.activations->means, b.activations->means);
  EXPECT_EQ(a.activations->maxima, b.activations->maxima);
  EXPECT_EQ(a.evaluation->step, step);
  EXPECT_EQ(a.evaluation->split, b.evaluation->split);
  EXPECT_EQ(a.evaluation->loss, b.evaluation->loss);
  EXPECT_EQ(a.evaluation->image_losses, b.evaluation->image_losses);
  EXPECT_EQ(a.evaluation->predicted, b.evaluation->predicted);
}

/// Two trainings of the same bits: one looks at a past step aside, the other rewinds to it.
void expect_as_a_rewind(Trainer& looks, Trainer& rewinds, std::uint64_t step) {
  const std::uint64_t before = looks.snapshot()->step;
  ASSERT_TRUE(carry_out(looks, LookAside{step})) << looks.snapshot()->notice;
  ASSERT_TRUE(wait_for_aside(looks, step)) << looks.snapshot()->aside.problem;
  ASSERT_TRUE(carry_out(rewinds, RewindTo{step})) << rewinds.snapshot()->notice;
  ASSERT_TRUE(
      wait_until(rewinds, [=](const Snapshot& now) { return now.step == step && !now.rewind.running; }));
  expect_same(told_aside(looks, step), told_of(rewinds), step);
  EXPECT_TRUE(eventually([&] {
    const auto seen = looks.observations().aside;
    return seen && seen->distributions && seen->distributions->moments.size() == 1 &&
           seen->distributions->moments.back()->step == step;
  }));
  EXPECT_EQ(looks.snapshot()->step, before);
}

TEST(Aside, HasTheBitsOfATrainingThatRewinds) {
  Trainer looks(paused_classifier_options()), rewinds(paused_classifier_options());
  for (Trainer* const each : {&looks, &rewinds}) take_steps(*each, 14);
  expect_as_a_rewind(looks, rewinds, 9);
}

TEST(Aside, FollowsChangesBehindItsMomentAndBranches) {
  Trainer looks(paused_classifier_options()), rewinds(paused_classifier_options());
  for (Trainer* const each : {&looks, &rewinds}) {
    take_steps(*each, 4);
    ASSERT_TRUE(carry_out(*each, tests::change("learning_rate", 0.02)));
    take_steps(*each, 10);
    ASSERT_TRUE(carry_out(*each, RewindTo{7}));
    ASSERT_TRUE(carry_out(*each, tests::change("weight_decay", 0.25)));
    ASSERT_TRUE(carry_out(*each, tests::change("batch", std::int64_t{6})));
    take_steps(*each, 15);
  }
  expect_as_a_rewind(looks, rewinds, 12);
  ASSERT_TRUE(carry_out(rewinds, ReturnTo{rewinds.snapshot()->left->back().number}));
  expect_as_a_rewind(looks, rewinds, 6);
}

TEST(Aside, FollowsAScheduleThatEvaluationsSteerAfterTheEnd) {
  TrainerOptions options = paused_classifier_options();
  options.schedule = parse_schedule("plateau:patience=1,factor=0.5");
  options.validation = 0.25;
  options.test_every = 3;
  options.steps = 30;
  options.start_paused = false;
  Trainer looks(options), rewinds(options);
  for (Trainer* const each : {&looks, &rewinds}) ASSERT_TRUE(wait_for_state(*each, TrainerState::finished));
  expect_as_a_rewind(looks, rewinds, 26);
  EXPECT_EQ(looks.snapshot()->state, TrainerState::finished);
}

TEST(Aside, LetsTheTrainingGoOnWithItsOwnBits) {
  TrainerOptions options = paused_classifier_options();
  options.start_paused = false;
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  std::uint64_t last = 0;
  for (const std::uint64_t step : {3u, 11u, 7u}) {
    ASSERT_TRUE(wait_for_step(trainer, last + 20));
    ASSERT_TRUE(carry_out(trainer, LookAside{step})) << trainer.snapshot()->notice;
    const std::uint64_t asked = trainer.snapshot()->step;
    ASSERT_TRUE(wait_until(trainer, [=](const Snapshot& now) {
      return now.aside.step == step && now.aside.ready && now.step > asked + 10;
    }));
    last = trainer.snapshot()->step;
    EXPECT_EQ(trainer.snapshot()->state, TrainerState::running);
    EXPECT_EQ(trainer.snapshot()->generation, 0u);
  }
  trainer.send(Pause{});
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::paused));
  last = trainer.snapshot()->step;
  const std::vector<float> losses = feed.curves().at(0);
  EXPECT_TRUE(feed.all<Return>().empty());
  EXPECT_TRUE(feed.markers().empty());
  options.steps = last;
  Trainer undisturbed(options);
  FeedLog whole(undisturbed.subscribe());
  ASSERT_TRUE(wait_for_state(undisturbed, TrainerState::finished));
  EXPECT_EQ(losses, whole.curves().at(0));
}

TEST(Aside, ShowsWhatIsAskedForAtEachTime) {
  Trainer trainer(paused_classifier_options());
  take_steps(trainer, 8);
  ASSERT_TRUE(carry_out(trainer, LookAside{5}));
  ASSERT_TRUE(wait_for_aside(trainer, 5));
  EXPECT_EQ(trainer.observations().inspection, nullptr);
  Observe observe = inspect(1);
  for (const std::int64_t image : {2, 7}) {
    observe.request.inspected_image = image;
    trainer.send(observe);
    EXPECT_TRUE(eventually([&] {
      const Observations seen = trainer.observations();
      const auto& past = seen.aside ? seen.aside->inspection : nullptr;
      const bool both = past && past->image == image && seen.inspection && seen.inspection->image == image;
      return both && past->step == 5 && seen.inspection->step == 8;
    })) << image;
  }
  trainer.send(Observe{});
  EXPECT_TRUE(eventually([&] {
    const auto past = trainer.observations().aside;
    return past && !past->inspection && !past->distributions && past->evaluation;
  }));
}

TEST(Aside, IsGoneAndItsMemoryIsFreeOnceItIsLetGo) {
  const TrainerOptions options = paused_classifier_options();
  Trainer trainer(options);
  take_steps(trainer, 8);
  ASSERT_TRUE(wait_for_an_idle_round(trainer));
  const long users = options.data_set.use_count();
  trainer.send(inspect(1));
  for (const std::uint64_t step : {5u, 6u}) {
    ASSERT_TRUE(carry_out(trainer, LookAside{step}));
    EXPECT_TRUE(eventually([&] {
      const auto seen = trainer.observations().aside;
      return seen && seen->step == step && seen->inspection;
    }));
    EXPECT_GT(options.data_set.use_count(), users);
  }
  ASSERT_TRUE(carry_out(trainer, LookAside{}));
  EXPECT_EQ(trainer.snapshot()->aside, Aside());
  EXPECT_EQ(trainer.observations().aside, nullptr);
  EXPECT_TRUE(eventually([&] { return options.data_set.use_count() == users; }));
  ASSERT_TRUE(carry_out(trainer, LookAside{})) << "once more is no mistake";
}

TEST(Aside, IsLetGoWhenTheTrainingIsAnotherOne) {
  Trainer trainer(paused_classifier_options());
  const auto gone = [](const Snapshot& now) { return now.aside == Aside(); };
  for (const Command& command : {Command(RewindTo{9}), Command(Reset{})}) {
    take_steps(trainer, 12);
    ASSERT_TRUE(carry_out(trainer, LookAside{5}));
    ASSERT_TRUE(wait_for_aside(trainer, 5));
    ASSERT_TRUE(carry_out(trainer, command));
    EXPECT_TRUE(wait_until(trainer, gone));
    EXPECT_TRUE(eventually([&] { return trainer.observations().aside == nullptr; }));
  }
}

TEST(Aside, OfAStepThatIsNotPastIsRefused) {
  Trainer trainer(paused_classifier_options());
  take_steps(trainer, 6);
  EXPECT_EQ(refusal(trainer, LookAside{6}), "step 6 is not a past one: the training is at step 6");
  EXPECT_EQ(refusal(trainer, LookAside{700}), "step 700 is not a past one: the training is at step 6");
  EXPECT_EQ(trainer.snapshot()->aside, Aside());
}

TEST(Aside, WithoutMomentsIsRefused) {
  TrainerOptions options = paused_classifier_options();
  options.moments_mib = 0;
  Trainer trainer(options);
  take_steps(trainer, 6);
  EXPECT_TRUE(holds(refusal(trainer, LookAside{3}), {"no moments are kept", "--moments"}));
  EXPECT_EQ(trainer.snapshot()->aside, Aside());
}

TEST(Aside, OfAnotherNetworkIsRefusedAndTheOneThatIsThereGoes) {
  Trainer trainer(paused_classifier_options());
  take_steps(trainer, 6);
  ASSERT_TRUE(carry_out(trainer, LookAside{3}));
  models::Model wider = tests::tiny_classifier();
  wider.layers[0].out_channels = 6;
  models::fit_layers(wider);
  ASSERT_TRUE(carry_out(trainer, SetNetwork{wider}));
  EXPECT_TRUE(wait_until(trainer, [](const Snapshot& now) { return now.aside == Aside(); }));
  take_steps(trainer, 10);
  EXPECT_TRUE(holds(refusal(trainer, LookAside{3}), {"step 3 was made by another network", "rewind"}));
  EXPECT_TRUE(carry_out(trainer, LookAside{8}));
  EXPECT_TRUE(wait_for_aside(trainer, 8));
}

/// A trainer as rank 0, and another rank beside it.
class TwoRanks {
 public:
  explicit TwoRanks(TrainerOptions options) : meeting_(ranks::found_meeting(2)) {
    other_ = std::jthread([joined = ranks::join_meeting(*meeting_, 1), data = options.data_set] {
      EXPECT_EQ(follow(*joined, "", data), 0);
    });
    options.ranks = meeting_;
    trainer_ = std::make_unique<Trainer>(std::move(options));
  }
  ~TwoRanks() {
    trainer_.reset();
    meeting_.reset();
  }
  TwoRanks(const TwoRanks&) = delete;
  TwoRanks& operator=(const TwoRanks&) = delete;

  Trainer& trainer() { return *trainer_; }

 private:
  std::shared_ptr<ranks::SharedMeeting> meeting_;
  std::jthread other_;
  std::unique_ptr<Trainer> trainer_;
};

TrainerOptions options_of_ranks() {
  TrainerOptions options = paused_classifier_options();
  options.batch = 16;
  return options;
}

TEST(Aside, OfSeveralRanksHasTheirBitsIfDeterministic) {
  TrainerOptions options = options_of_ranks();
  options.deterministic = true;
  Trainer rewinds(options);
  TwoRanks ranks(options);
  for (Trainer* const each : {&ranks.trainer(), &rewinds}) take_steps(*each, 9);
  expect_as_a_rewind(ranks.trainer(), rewinds, 5);
  take_steps(ranks.trainer(), 11);
}

TEST(Aside, OfSeveralRanksWithoutFixedSumsTellsThatItsBitsMayDiffer) {
  TwoRanks ranks(options_of_ranks());
  FeedLog feed(ranks.trainer().subscribe());
  take_steps(ranks.trainer(), 4);
  ASSERT_TRUE(carry_out(ranks.trainer(), LookAside{2}));
  EXPECT_TRUE(wait_for_aside(ranks.trainer(), 2));
  const auto lines = feed.all<LogLine>();
  EXPECT_TRUE(std::ranges::any_of(lines, [](const LogLine& line) {
    return line.text == "step 2 is computed aside by one rank, whose bits may differ";
  }));
}

TEST(Aside, OfRanksThatNormalizeTheirOwnPartsOfABatchIsRefused) {
  TrainerOptions options = options_of_ranks();
  options.model.layers.insert(options.model.layers.begin() + 1, {models::LayerKind::batch_norm, "norm1"});
  models::fit_layers(options.model);
  TwoRanks ranks(std::move(options));
  take_steps(ranks.trainer(), 4);
  EXPECT_TRUE(holds(refusal(ranks.trainer(), LookAside{2}),
                    {"these draw or normalize for their own parts of a batch"}));
  EXPECT_EQ(ranks.trainer().snapshot()->aside.step, 0u);
}

TEST(Aside, ThatFailsSaysWhyAndTheTrainingGoesOn) {
  TrainerOptions options = paused_classifier_options();
  const auto fails = std::make_shared<std::atomic<bool>>(false);
  options.variants = tests::with_failing_relu([fails] { return fails->load(); });
  options.select = std::string("all=loops,relu.forward=") + tests::kFailing;
  Trainer trainer(options);
  take_steps(trainer, 6);
  ASSERT_TRUE(wait_for_an_idle_round(trainer));
  *fails = true;
  ASSERT_TRUE(carry_out(trainer, LookAside{3}));
  ASSERT_TRUE(wait_until(trainer, [](const Snapshot& now) { return !now.aside.problem.empty(); }));
  EXPECT_TRUE(holds(trainer.snapshot()->aside.problem, {"step 3 cannot be computed aside", tests::kFailure}));
  EXPECT_EQ(trainer.snapshot()->notice, trainer.snapshot()->aside.problem);
  *fails = false;
  take_steps(trainer, 9);
  ASSERT_TRUE(carry_out(trainer, LookAside{3})) << "it is tried again";
  EXPECT_TRUE(wait_for_aside(trainer, 3));
  EXPECT_EQ(trainer.snapshot()->aside.problem, "");
}

}  // namespace
}  // namespace warpscope::training::aside_test
