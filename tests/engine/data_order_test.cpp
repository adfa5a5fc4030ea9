#include "gpu/engine/data_order.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::training::data_order_test {
namespace {

/// Takes a step and returns the images of its batch.
std::vector<std::uint32_t> visit(DataOrder& order, std::uint32_t batch) {
  order.begin_step();
  const auto first = order.order().begin() + static_cast<std::ptrdiff_t>(order.position());
  EXPECT_LE(order.position() + batch, order.order().size());
  std::vector<std::uint32_t> images(first, first + batch);
  order.end_step();
  return images;
}

TEST(DataOrder, EachEpochIsAnotherPermutation) {
  DataOrder order(40, 1, true);
  order.set_batch(8);
  std::set<std::vector<std::uint32_t>> epochs;
  for (int epoch = 0; epoch < 5; ++epoch) {
    EXPECT_EQ(order.epochs_done(), static_cast<std::uint64_t>(epoch));
    std::vector<std::uint32_t> seen;
    for (int step = 0; step < 5; ++step) {
      const auto images = visit(order, 8);
      seen.insert(seen.end(), images.begin(), images.end());
    }
    epochs.insert(seen);
    std::sort(seen.begin(), seen.end());
    std::vector<std::uint32_t> all(40);
    std::iota(all.begin(), all.end(), 0u);
    EXPECT_EQ(seen, all);
  }
  EXPECT_EQ(epochs.size(), 5u);
}

TEST(DataOrder, EveryImageComesFirstAboutEquallyOften) {
  constexpr int kImages = 5;
  constexpr int kEpochs = 5000;
  DataOrder order(kImages, 3, true);
  order.set_batch(kImages);
  int first[kImages] = {};
  for (int epoch = 0; epoch < kEpochs; ++epoch) ++first[visit(order, kImages).front()];
  // Binomial, n = 5000, p = 1/5: mean 1000, deviation 28; five of them.
  for (const int count : first) EXPECT_NEAR(count, kEpochs / kImages, 5 * 28);
}

TEST(DataOrder, LeavesOutWhatDoesNotFillABatch) {
  DataOrder order(40, 1, true);
  order.set_batch(12);
  EXPECT_EQ(order.epoch_size(), 36u);
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(order.position(), 12u * static_cast<std::uint32_t>(step));
    visit(order, 12);
  }
  EXPECT_EQ(order.position(), 0u);
  EXPECT_EQ(order.epochs_done(), 1u);
  EXPECT_EQ(order.epoch(), 1.0);
}

TEST(DataOrder, BeginsANewOrderOncePerEpoch) {
  DataOrder order(6, 1, true);
  order.set_batch(3);
  std::vector<bool> fresh;
  for (int step = 0; step < 6; ++step) {
    fresh.push_back(order.begin_step());
    order.end_step();
  }
  EXPECT_EQ(fresh, (std::vector<bool>{true, false, true, false, true, false}));
}

TEST(DataOrder, WithoutShufflingKeepsTheStoredOrder) {
  DataOrder order(10, 1, false);
  order.set_batch(4);
  for (int epoch = 0; epoch < 2; ++epoch) {
    EXPECT_EQ(visit(order, 4), (std::vector<std::uint32_t>{0, 1, 2, 3}));
    EXPECT_EQ(visit(order, 4), (std::vector<std::uint32_t>{4, 5, 6, 7}));
  }
}

TEST(DataOrder, ResetStartsTheSameOrdersAgain) {
  DataOrder order(40, 2, true);
  order.set_batch(16);
  std::vector<std::vector<std::uint32_t>> before;
  for (int step = 0; step < 5; ++step) before.push_back(visit(order, 16));
  order.reset();
  EXPECT_EQ(order.epoch(), 0.0);
  for (int step = 0; step < 5; ++step) EXPECT_EQ(visit(order, 16), before[static_cast<std::size_t>(step)]);
  DataOrder other(40, 3, true);
  other.set_batch(16);
  EXPECT_NE(visit(other, 16), before[0]) << "another seed";
}

TEST(DataOrder, AnotherBatchCutsTheRestOfTheEpoch) {
  DataOrder order(40, 1, true);
  order.set_batch(8);
  std::vector<std::uint32_t> seen = visit(order, 8);
  order.set_batch(5);
  EXPECT_EQ(order.position(), 8u);
  EXPECT_EQ(order.epoch_size(), 38u) << "8 and six batches of 5";
  while (order.epochs_done() == 0) {
    const auto images = visit(order, 5);
    seen.insert(seen.end(), images.begin(), images.end());
  }
  EXPECT_EQ(seen.size(), 38u);
  EXPECT_EQ(std::set<std::uint32_t>(seen.begin(), seen.end()).size(), seen.size()) << "an image came twice";
  EXPECT_EQ(order.epoch_size(), 40u) << "the next epoch is cut from its start";
}

TEST(DataOrder, ABatchThatTheRestCannotFillEndsTheEpoch) {
  DataOrder order(40, 1, true);
  order.set_batch(8);
  for (int step = 0; step < 4; ++step) visit(order, 8);
  order.set_batch(9);
  EXPECT_EQ(order.position(), 0u);
  EXPECT_EQ(order.epochs_done(), 1u);
  EXPECT_TRUE(order.begin_step());
  EXPECT_EQ(order.epoch_size(), 36u);
}

/// Both orders go the same way for `steps` steps.
void expect_same_way(DataOrder& a, DataOrder& b, std::uint32_t batch, int steps) {
  for (int step = 0; step < steps; ++step) {
    EXPECT_EQ(a.epoch_size(), b.epoch_size()) << step;
    EXPECT_EQ(a.epoch(), b.epoch()) << step;
    EXPECT_EQ(a.steps_until(a.epochs_done() + 2), b.steps_until(a.epochs_done() + 2)) << step;
    ASSERT_EQ(visit(a, batch), visit(b, batch)) << step;
    ASSERT_EQ(a.epochs_done(), b.epochs_done()) << step;
  }
}

TEST(DataOrder, RestoredAnywhereGoesOnExactly) {
  for (const bool shuffle : {true, false}) {
    for (int done = 0; done < 14; ++done) {
      DataOrder order(40, 9, shuffle);
      order.set_batch(7);
      for (int step = 0; step < done; ++step) visit(order, 7);
      DataOrder restored(40, 9, shuffle);
      restored.set_batch(7);
      restored.restore(order.epochs_done(), order.position());
      expect_same_way(order, restored, 7, 12);
    }
  }
}

TEST(DataOrder, RestoredAfterBatchChangesGoesOnExactly) {
  DataOrder order(100, 4, true);
  order.set_batch(16);
  for (int step = 0; step < 8; ++step) visit(order, 16);
  order.set_batch(5);
  for (int step = 0; step < 3; ++step) visit(order, 5);
  order.set_batch(11);
  visit(order, 11);
  EXPECT_EQ(order.epochs_done(), 1u);
  EXPECT_EQ(order.position(), 2 * 16u + 3 * 5u + 11u);
  // The batch may be set before or after.
  DataOrder before(100, 4, true);
  before.set_batch(11);
  before.restore(order.epochs_done(), order.position());
  DataOrder after(100, 4, true);
  after.restore(order.epochs_done(), order.position());
  after.set_batch(11);
  DataOrder twin = order;
  expect_same_way(order, before, 11, 20);
  expect_same_way(twin, after, 11, 20);
}

TEST(DataOrder, RestoredMakesItsOrderOnTheNextStep) {
  DataOrder order(40, 1, true);
  order.set_batch(8);
  order.begin_step();
  order.restore(3, 16);
  EXPECT_TRUE(order.begin_step());
  EXPECT_FALSE(order.begin_step());
  EXPECT_EQ(order.position(), 16u);
  order.reset();
  EXPECT_EQ(order.epoch(), 0.0);
}

TEST(DataOrder, RestoredWithALargerBatchEndsAnEpochThatIsTooShort) {
  DataOrder order(40, 1, true);
  order.set_batch(16);
  order.restore(2, 32);
  EXPECT_EQ(order.epochs_done(), 3u);
  EXPECT_EQ(order.position(), 0u);
  EXPECT_TRUE(order.begin_step());
}

TEST(DataOrder, RefusesAPlaceBeyondItsImages) {
  DataOrder order(40, 1, true);
  order.set_batch(8);
  visit(order, 8);
  for (const std::uint32_t position : {40u, 41u, 4294967295u}) {
    EXPECT_TRUE(tests::holds(tests::message_of<core::BadInput>([&] { order.restore(5, position); }),
                             {std::to_string(position), "40 images"}));
  }
  EXPECT_EQ(order.position(), 8u);
  EXPECT_EQ(order.epochs_done(), 0u);
}

TEST(DataOrder, MoreStepsThanCanBeCountedAreAsManyAsCan) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  DataOrder order(50'000, 1, true);
  order.set_batch(8);
  EXPECT_EQ(order.steps_until(1'000'000'000'000'000), 6'250'000'000'000'000'000u);
  // 6250 steps each: their product would begin again at 0.
  EXPECT_EQ(order.steps_until(2'951'479'051'793'529), kMost);
  EXPECT_EQ(order.steps_until(kMost), kMost);
}

TEST(DataOrder, CountsTheStepsUntilAnEpoch) {
  DataOrder order(40, 1, true);
  order.set_batch(12);
  EXPECT_EQ(order.steps_until(2), 6u);
  visit(order, 12);
  EXPECT_EQ(order.steps_until(2), 5u);
  order.set_batch(7);
  EXPECT_EQ(order.steps_until(2), 4u + 5u) << "28 images left, then five batches of 7";
  for (std::uint64_t left = 9; left > 0; --left) {
    EXPECT_EQ(order.steps_until(2), left);
    visit(order, 7);
  }
  EXPECT_EQ(order.epochs_done(), 2u);
  EXPECT_EQ(order.steps_until(2), 0u);
  EXPECT_EQ(order.steps_until(1), 0u);
}

}  // namespace
}  // namespace warpscope::training::data_order_test
