// Several ranks, threads of this process here, train one network.

#include "gpu/training/ranks.h"

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

using tests::tiny_trainer_options;
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
    for (int rank = 1; rank < size; ++rank) {
      threads_.emplace_back([this, rank, data = options.data_set] {
        const auto meeting = ranks::join_meeting(*meeting_, rank);
        codes_[static_cast<std::size_t>(rank)] = follow(*meeting, "", data);
      });
    }
    codes_.resize(static_cast<std::size_t>(size));
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

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<float> trained(const TrainerOptions& options, int size) {
  return Ranks(options, size).weights();
}

TEST(Ranks, GetTheSameWeightsForAnyNumberIfDeterministic) {
  TrainerOptions options = options_of(12);
  options.deterministic = true;
  const std::vector<float> one = trained(options, 1);
  ASSERT_FALSE(one.empty());
  for (const int size : {2, 4, 8}) EXPECT_TRUE(same_bits(trained(options, size), one)) << size;
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
