// Several ranks, threads of this process here, train one network.

#include "gpu/training/ranks.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/ranks/shared_meeting.h"
#include "gpu/training/trainer.h"
#include "tests/support/changes.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_trainer.h"

namespace warpscope::training::ranks_test {
namespace {

using tests::FeedLog;
using tests::tiny_trainer_options;
using tests::wait_for_notice;
using tests::wait_for_state;
using tests::wait_for_step;

/// Batch norm, dropout and mirrored images: all that a step draws or keeps.
TrainerOptions options_of(std::uint64_t steps) {
  using enum models::LayerKind;
  TrainerOptions options = tiny_trainer_options();
  options.model = tests::tiny_classifier();
  options.model.layers.insert(options.model.layers.begin() + 1, {batch_norm, "norm1"});
  options.model.layers.insert(options.model.layers.end() - 1,
                              {.kind = dropout, .name = "drop", .rate = 0.2f});
  models::fit_layers(options.model);
  options.data_set = std::make_shared<data::DataSet>(tests::labelled_data(80, 24));
  options.batch = 16;
  options.steps = steps;
  options.optimizer = defaults_of(ops::UpdateRule::adam);
  options.augment.flip = true;
  return options;
}

/// A trainer as rank 0, and the other ranks beside it.
class Ranks {
 public:
  Ranks(TrainerOptions options, int size) : meeting_(ranks::found_meeting(size)) {
    codes_.resize(static_cast<std::size_t>(size));
    for (int rank = 1; rank < size; ++rank) {
      // They join here: a trainer that fails at once may be gone before a thread begins.
      const auto joined = ranks::join_meeting(*meeting_, rank);
      threads_.emplace_back([this, rank, meeting = joined, data = options.data_set] {
        codes_[static_cast<std::size_t>(rank)] = follow(*meeting, "", data);
      });
    }
    if (size > 1) options.ranks = meeting_;
    trainer_ = std::make_unique<Trainer>(std::move(options));
  }
  ~Ranks() { end(); }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  Trainer& trainer() { return *trainer_; }
  /// The weights of a training that ends by itself.
  std::vector<float> weights() {
    EXPECT_TRUE(wait_for_state(*trainer_, TrainerState::finished));
    const auto parameters = trainer_->ending().parameters;
    return parameters ? *parameters : std::vector<float>();
  }
  /// The exit codes of all.
  std::vector<int> end() {
    trainer_.reset();
    meeting_.reset();
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
    return codes_;
  }

 private:
  std::shared_ptr<ranks::SharedMeeting> meeting_;
  std::vector<int> codes_;
  std::vector<std::thread> threads_;
  std::unique_ptr<Trainer> trainer_;
};

/// Ranks that a trainer starts, here threads.
class Crew {
 public:
  explicit Crew(const TrainerOptions& options) : data_(options.data_set) {}

  RankSupply supply() {
    return {[this](int size) { return start(size); },
            [](const core::DeviceInfo& own) { return std::vector<std::string>(8, own.id()); }, ""};
  }
  /// Lets a rank of those that were started last count as killed.
  void kill(int rank) { newest_.lock()->mark_ended(rank, SIGKILL); }

 private:
  struct Threads {
    std::shared_ptr<ranks::SharedMeeting> meeting;
    std::vector<std::jthread> threads;
    ~Threads() { meeting->leave(); }
  };
  StartedMeeting start(int size) {
    auto threads = std::make_shared<Threads>();
    threads->meeting = ranks::found_meeting(size);
    for (int rank = 1; rank < size; ++rank) {
      threads->threads.emplace_back([joined = ranks::join_meeting(*threads->meeting, rank), data = data_] {
        follow(*joined, "", data);
      });
    }
    newest_ = threads->meeting;
    return {threads->meeting, threads};
  }

  std::shared_ptr<const data::DataSet> data_;
  std::weak_ptr<ranks::SharedMeeting> newest_;
};

/// A training of `size` ranks that a crew has started, and can start anew.
void man(TrainerOptions& options, Crew& crew, int size) {
  options.rank_supply = crew.supply();
  StartedMeeting started = options.rank_supply.start(size);
  options.ranks = std::move(started.meeting);
  options.rank_processes = std::move(started.processes);
}

void make_steps(Trainer& trainer, int steps) {
  const std::uint64_t before = trainer.snapshot()->step;
  for (int i = 0; i < steps; ++i) trainer.send(StepOnce{});
  ASSERT_TRUE(wait_for_step(trainer, before + static_cast<std::uint64_t>(steps)));
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<float> trained(const TrainerOptions& options, int size) {
  return Ranks(options, size).weights();
}

/// Two and a half batches of held-out images, so that some of eight ranks have none.
TEST(Ranks, GetTheSameWeightsAndEvaluationsForAnyNumberIfDeterministic) {
  TrainerOptions options = options_of(12);
  options.deterministic = true;
  options.data_set = std::make_shared<data::DataSet>(tests::labelled_data(80, 40));
  options.test_images = 40;
  options.test_mirrored = true;
  Ranks alone(options, 1);
  const std::vector<float> one = alone.weights();
  ASSERT_FALSE(one.empty());
  const auto wanted = alone.trainer().snapshot()->evaluation;
  ASSERT_NE(wanted, nullptr);
  EXPECT_EQ(wanted->image_losses.size(), 40u);
  for (const int size : {2, 4, 8}) {
    Ranks ranks(options, size);
    EXPECT_TRUE(same_bits(ranks.weights(), one)) << size;
    const auto found = ranks.trainer().snapshot()->evaluation;
    ASSERT_NE(found, nullptr);
    EXPECT_TRUE(same_bits(found->image_losses, wanted->image_losses)) << size;
    EXPECT_EQ(found->loss, wanted->loss) << size;
    EXPECT_EQ(found->accuracy, wanted->accuracy) << size;
    EXPECT_EQ(found->confusion, wanted->confusion) << size;
  }
}

TEST(Ranks, EvaluateTogetherWithAHeadWhileABatchChanges) {
  TrainerOptions options = tiny_trainer_options();
  options.data_set = std::make_shared<data::DataSet>(tests::labelled_data(80, 40));
  options.test_images = 40;
  options.test_every = 2;
  options.optimizer.joint = 0.5f;
  Ranks ranks(options, 2);
  Trainer& trainer = ranks.trainer();
  for (const std::int64_t batch : {4, 12, 6}) {
    trainer.send(tests::change("batch", batch));
    ASSERT_TRUE(tests::wait_for_commands(trainer));
    const std::uint64_t step = trainer.snapshot()->step;
    ASSERT_TRUE(tests::wait_until(trainer, [step](const Snapshot& now) {
      return now.evaluation && now.evaluation->step > step && now.evaluation->image_losses.size() == 40;
    }));
  }
  EXPECT_TRUE(trainer.snapshot()->evaluation->head);
  EXPECT_EQ(ranks.end(), (std::vector<int>{0, 0}));
}

TEST(Ranks, GetTheSameWeightsWithMicroBatchesThatAreNoPowerOfTwo) {
  TrainerOptions options = options_of(6);
  options.deterministic = true;
  options.optimizer.accumulate = 3;
  const std::vector<float> one = trained(options, 1);
  ASSERT_FALSE(one.empty());
  for (const int size : {2, 8}) EXPECT_TRUE(same_bits(trained(options, size), one)) << size;
}

TEST(Ranks, WithUnequalPartsTrainOnTheWholeBatch) {
  TrainerOptions options = options_of(8);
  std::erase_if(options.model.layers, [](const models::Layer& layer) {
    return layer.kind == models::LayerKind::batch_norm || layer.kind == models::LayerKind::dropout;
  });
  options.augment = {};
  options.batch = 14;
  const std::vector<float> one = trained(options, 1);
  const std::vector<float> three = trained(options, 3);
  ASSERT_EQ(three.size(), one.size());
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(three[i], one[i], 1e-4f) << i;
}

/// The losses of ten steps, and the weights behind them with the running statistics in front.
struct Curve {
  std::vector<float> losses;
  std::vector<float> weights;
};

Curve curve_of(const TrainerOptions& options, int size) {
  Ranks ranks(options, size);
  tests::FeedLog log(ranks.trainer().subscribe());
  const std::vector<float> weights = ranks.weights();
  return {log.curves().front(), weights};
}

float largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  float largest = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(Ranks, NormalizeOverTheWholeBatchIfAskedTo) {
  TrainerOptions options = options_of(10);
  std::erase_if(options.model.layers,
                [](const models::Layer& layer) { return layer.kind == models::LayerKind::dropout; });
  options.augment = {};
  options.optimizer = defaults_of(ops::UpdateRule::sgd);
  options.optimizer.learning_rate = 0.05f;
  options.batch = 14;
  const Curve one = curve_of(options, 1);
  ASSERT_EQ(one.losses.size(), 10u);
  EXPECT_GT(largest_difference(curve_of(options, 2).losses, one.losses), 1e-3f);
  options.sync_batch_norm = true;
  for (const int size : {1, 2, 3}) {
    const Curve several = curve_of(options, size);
    EXPECT_LT(largest_difference(several.losses, one.losses), 1e-4f) << size;
    EXPECT_LT(largest_difference(several.weights, one.weights), 1e-4f) << size;
  }
}

TEST(Ranks, CannotNormalizeOverTheWholeBatchOfFixedParts) {
  TrainerOptions options = options_of(3);
  options.deterministic = options.sync_batch_norm = true;
  Ranks ranks(options, 1);
  EXPECT_TRUE(wait_for_state(ranks.trainer(), TrainerState::failed));
  EXPECT_EQ(ranks.trainer().snapshot()->notice,
            "deterministic training normalizes each of the eight parts of a batch by itself, and "
            "sync_batch_norm all "
            "of it: leave one of them off");
}

TEST(Ranks, FollowWhatIsChangedWhileTheyTrain) {
  TrainerOptions options = options_of(0);
  options.deterministic = true;
  Ranks ranks(options, 2);
  Trainer& trainer = ranks.trainer();
  ASSERT_TRUE(wait_for_step(trainer, 3));
  trainer.send(tests::change("batch", std::int64_t{32}));
  trainer.send(tests::change("learning_rate", 0.01));
  trainer.send(tests::change("accumulate", std::int64_t{2}));
  trainer.send(tests::change("optimizer", std::string("sgd")));
  models::Model wider = options.model;
  wider.layers[0].out_channels = 6;
  models::fit_layers(wider);
  trainer.send(SetNetwork{wider});
  trainer.send(Reset{});
  ASSERT_TRUE(tests::wait_for_commands(trainer));
  EXPECT_EQ(trainer.snapshot()->notice, "");
  EXPECT_EQ(trainer.snapshot()->settings->batch, 32);
  const std::uint64_t step = trainer.snapshot()->step;
  ASSERT_TRUE(wait_for_step(trainer, step + 3));
  EXPECT_EQ(ranks.end(), (std::vector<int>{0, 0}));
}

TEST(Ranks, ChangeTheirNumberBetweenStepsAndNoBit) {
  TrainerOptions options = options_of(12);
  options.deterministic = true;
  const std::vector<float> undisturbed = trained(options, 1);
  Crew crew(options);
  options.rank_supply = crew.supply();
  options.start_paused = true;
  Trainer trainer(std::move(options));
  FeedLog log(trainer.subscribe());
  for (const int ranks : {2, 8, 1}) {
    make_steps(trainer, 3);
    trainer.send(SetRanks{ranks});
    ASSERT_TRUE(tests::wait_for_commands(trainer));
    EXPECT_EQ(std::max<std::size_t>(1, trainer.snapshot()->ranks.size()), static_cast<std::size_t>(ranks));
  }
  EXPECT_EQ(trainer.snapshot()->notice, "");
  trainer.send(Resume{});
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::finished));
  EXPECT_TRUE(same_bits(*trainer.ending().parameters, undisturbed));
  EXPECT_EQ(log.markers(), (std::vector<std::string>{"ranks: 1 -> 2", "ranks: 2 -> 8", "ranks: 8 -> 1"}));
  EXPECT_EQ(log.curves().front().size(), 12u);
}

TEST(Ranks, OfWhichOneIsMissingBetweenTwoStepsLoseNone) {
  TrainerOptions options = options_of(12);
  options.deterministic = true;
  const std::vector<float> undisturbed = trained(options, 1);
  Crew crew(options);
  man(options, crew, 4);
  options.start_paused = true;
  Trainer trainer(std::move(options));
  FeedLog log(trainer.subscribe());
  make_steps(trainer, 5);
  ASSERT_TRUE(tests::wait_until(trainer, [](const Snapshot& now) { return now.ranks.size() == 4; }));
  std::size_t fewest = 4;
  crew.kill(2);
  ASSERT_TRUE(tests::wait_until(trainer, [&](const Snapshot& now) {
    fewest = std::min(fewest, now.ranks.size());
    return now.notice_id >= 1;
  }));
  EXPECT_EQ(fewest, 2u) << "told of as one rank meanwhile";
  // Three cannot be deterministic.
  EXPECT_EQ(trainer.snapshot()->notice, "rank 2 was killed by SIGKILL; 2 ranks go on from step 5");
  trainer.send(Resume{});
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::finished));
  EXPECT_TRUE(same_bits(*trainer.ending().parameters, undisturbed));
  EXPECT_EQ(log.curves().front().size(), 12u);
}

TEST(Ranks, OfWhichOneIsMissingInAStepGoOnFromTheLastCopy) {
  TrainerOptions options = options_of(0);
  options.deterministic = true;
  Crew crew(options);
  TrainerOptions disturbed = options;
  man(disturbed, crew, 2);
  Trainer trainer(std::move(disturbed));
  FeedLog log(trainer.subscribe());
  ASSERT_TRUE(wait_for_step(trainer, 3));
  crew.kill(1);
  ASSERT_TRUE(wait_for_notice(trainer, 1));
  trainer.send(tests::change("steps", static_cast<std::int64_t>(trainer.snapshot()->step) + 20));
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::finished));
  options.steps = trainer.snapshot()->step;
  EXPECT_EQ(log.curves().back().size(), options.steps);
  ASSERT_FALSE(log.markers().empty());
  EXPECT_TRUE(log.markers().front().starts_with("rank 1 was killed by SIGKILL; 1 rank goes on from step "));
  EXPECT_TRUE(same_bits(*trainer.ending().parameters, trained(options, 1)));
}

TEST(Ranks, OfWhichOneIsMissingStopIfAsked) {
  TrainerOptions options = options_of(0);
  options.go_on_without_ranks = false;
  Crew crew(options);
  man(options, crew, 3);
  Trainer trainer(std::move(options));
  ASSERT_TRUE(wait_for_step(trainer, 3));
  crew.kill(1);
  ASSERT_TRUE(wait_for_state(trainer, TrainerState::failed));
  EXPECT_TRUE(trainer.snapshot()->notice.starts_with("rank 1 was killed by SIGKILL"))
      << trainer.snapshot()->notice;
}

/// So many steps, another rate, three steps more.
void change_rate_after(Trainer& trainer, int steps) {
  make_steps(trainer, steps);
  trainer.send(tests::change("learning_rate", 0.01));
  ASSERT_TRUE(tests::wait_for_commands(trainer));
  make_steps(trainer, 3);
}

bool go_back(Trainer& trainer, std::uint64_t step) {
  trainer.send(RewindTo{step});
  return tests::wait_until(trainer, [step](const Snapshot& now) {
    return now.step == step && now.state == TrainerState::paused && !now.rewind.running;
  });
}

std::vector<float> resumed_to_the_end(Trainer& trainer) {
  trainer.send(Resume{});
  EXPECT_TRUE(wait_for_state(trainer, TrainerState::finished));
  return *trainer.ending().parameters;
}

TEST(Ranks, GoBackToAnyStepWithoutAnotherBit) {
  TrainerOptions options = options_of(12);
  options.deterministic = true;
  options.start_paused = true;
  Ranks alone(options, 1);
  change_rate_after(alone.trainer(), 4);
  const std::vector<float> wanted = resumed_to_the_end(alone.trainer());
  Crew crew(options);
  man(options, crew, 2);
  Trainer trainer(std::move(options));
  change_rate_after(trainer, 4);
  ASSERT_TRUE(go_back(trainer, 6));
  EXPECT_EQ(trainer.snapshot()->settings->optimizer.learning_rate, 0.01f);
  trainer.send(SetRanks{4});
  ASSERT_TRUE(tests::wait_for_commands(trainer));
  ASSERT_TRUE(go_back(trainer, 2)) << "made by other ranks then";
  EXPECT_EQ(trainer.snapshot()->notice, "");
  change_rate_after(trainer, 2);
  EXPECT_TRUE(same_bits(resumed_to_the_end(trainer), wanted));
}

TEST(Ranks, OfWhichOneIsMissingOnTheWayBackGetThereWithoutIt) {
  TrainerOptions options = options_of(12);
  options.deterministic = true;
  const std::vector<float> undisturbed = trained(options, 1);
  Crew crew(options);
  man(options, crew, 2);
  options.start_paused = true;
  Trainer trainer(std::move(options));
  make_steps(trainer, 7);
  crew.kill(1);
  ASSERT_TRUE(go_back(trainer, 5));
  ASSERT_TRUE(wait_for_notice(trainer, 1));
  EXPECT_TRUE(trainer.snapshot()->notice.starts_with("rank 1 was killed by SIGKILL; 1 rank goes on"))
      << trainer.snapshot()->notice;
  EXPECT_TRUE(same_bits(resumed_to_the_end(trainer), undisturbed));
}

TEST(Ranks, OfNumbersThatCannotBeAreRefused) {
  TrainerOptions options = options_of(0);
  Crew crew(options);
  options.rank_supply = crew.supply();
  Trainer trainer(options);
  trainer.send(SetRanks{9});
  ASSERT_TRUE(wait_for_notice(trainer, 1));
  EXPECT_EQ(trainer.snapshot()->notice, "there can be 1 to 8 ranks here, not 9");
  options.rank_supply = {};
  Trainer fixed(options);
  fixed.send(SetRanks{2});
  ASSERT_TRUE(wait_for_notice(fixed, 1));
  EXPECT_EQ(fixed.snapshot()->notice, "the number of ranks cannot change here");
}

TEST(Ranks, TellOfOneStepThatAllHaveTimedAndOfTheirLinks) {
  Ranks ranks(options_of(0), 2);
  Trainer& trainer = ranks.trainer();
  trainer.send(MeasureLinks{});
  ASSERT_TRUE(tests::wait_until(trainer, [](const Snapshot& now) {
    return now.ranks.size() == 2 && now.ranks[0].newest.step > 0 && !now.ranks[0].links.empty();
  }));
  const std::vector<RankFigures> seen = trainer.snapshot()->ranks;
  EXPECT_EQ(seen[0].newest.step, seen[1].newest.step);
  EXPECT_EQ(std::min(seen[0].newest.start, seen[1].newest.start), 0);
  EXPECT_EQ(std::min(seen[0].newest.waiting, seen[1].newest.waiting), 0);
  EXPECT_EQ(seen[0].newest.moving, seen[1].newest.moving);
  for (const RankFigures& rank : seen) {
    EXPECT_GT(rank.newest.forward, 0);
    EXPECT_GT(rank.newest.backward, 0);
    EXPECT_GT(rank.newest.update, 0);
    EXPECT_GT(rank.clock_uncertainty, 0);
  }
  EXPECT_EQ(seen[1].linked_by, "shared memory");
  EXPECT_GT(seen[1].links.at(0), 0);
  EXPECT_EQ(seen[1].links.at(1), 0);
  EXPECT_EQ(ranks.end(), (std::vector<int>{0, 0}));
}

TEST(Ranks, WhoseDataDifferAreRefused) {
  TrainerOptions options = options_of(3);
  const auto founded = ranks::found_meeting(2);
  std::thread other([&] {
    const auto meeting = ranks::join_meeting(*founded, 1);
    EXPECT_EQ(follow(*meeting, "", std::make_shared<data::DataSet>(tests::labelled_data(40, 24))), 1);
  });
  options.ranks = founded;
  const Trainer trainer(options);
  EXPECT_TRUE(wait_for_state(trainer, TrainerState::failed));
  EXPECT_EQ(trainer.snapshot()->notice, "rank 1: tiny patches is not the data that rank 0 has");
  other.join();
}

/// The exit code of a rank that was given `other`, where rank 0 was given `own` and ends so, and what rank 0 says.
std::pair<int, std::string> told_of(const Configuration& own, const Configuration& other, TrainerState end) {
  TrainerOptions options = options_of(3);
  const auto founded = ranks::found_meeting(2);
  const auto meeting = ranks::join_meeting(*founded, 1);
  int code = 0;
  std::thread rank([&] { code = follow(*meeting, "", options.data_set, other); });
  options.ranks = founded;
  options.given = own;
  std::string notice;
  {
    const Trainer trainer(options);
    EXPECT_TRUE(wait_for_state(trainer, end));
    notice = trainer.snapshot()->notice;
  }
  rank.join();
  return {code, notice};
}

TEST(Ranks, WhoseSettingsDifferAreRefusedWithTheDifference) {
  Configuration own, other;
  own.set("batch", std::int64_t{16});
  other.set("batch", std::int64_t{8});
  other.set("shuffle", false);
  EXPECT_EQ(
      told_of(own, other, TrainerState::failed),
      std::pair(1, std::string("rank 1: shuffle is off here and on at rank 0, batch is 8 here and 16 at "
                               "rank 0; give all ranks the same settings, or only rank 0 any")));
}

TEST(Ranks, TrainByTheSettingsOfRankZeroWhereTheyWereGivenTheSameOrFewerOrWhereToWrite) {
  Configuration own, other;
  own.set("batch", std::int64_t{16});
  own.set("steps", std::int64_t{3});
  other.set("batch", std::int64_t{16});
  other.set("shuffle", true);  // as nobody says otherwise
  other.set("device", "cpu");
  other.set("steps", std::int64_t{5});
  EXPECT_EQ(told_of(own, other, TrainerState::finished).first, 0);
}

TEST(Ranks, OfWhichThereAreTooManyAreRefused) {
  TrainerOptions options = options_of(3);
  options.batch = 2;
  Ranks ranks(options, 3);
  EXPECT_TRUE(wait_for_state(ranks.trainer(), TrainerState::failed));
  EXPECT_EQ(ranks.trainer().snapshot()->notice,
            "a batch of 2 cannot be divided among 3 ranks: take a larger batch or fewer ranks");
}

}  // namespace
}  // namespace warpscope::training::ranks_test
