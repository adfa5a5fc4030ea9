#include "gpu/settings/division.h"

#include <string>

#include <gtest/gtest.h>

#include "gpu/core/error.h"

namespace warpscope::training::division_test {
namespace {

OptimizerSettings accumulating(int micro_batches) {
  OptimizerSettings optimizer = defaults_of(ops::UpdateRule::sgd);
  optimizer.accumulate = micro_batches;
  return optimizer;
}

TEST(Division, PartsOfAllRanksCoverTheStepOnce) {
  for (const bool fixed : {false, true}) {
    for (const int size : {1, 2, 3, 4, 5, 8}) {
      if (fixed && kShards % size != 0) continue;
      for (const int accumulate : {1, 3}) {
        const int batch = fixed ? 24 : 23;
        int next = 0, pass = 0;
        float weight = 0;
        for (int rank = 0; rank < size; ++rank) {
          const Division part = divide(accumulating(accumulate), batch, fixed, {rank, size});
          EXPECT_EQ(part.images_before, next);
          EXPECT_EQ(part.first_pass, pass);
          EXPECT_EQ(part.images, part.batch * part.passes);
          EXPECT_EQ(part.images_of_step, batch * accumulate);
          next += part.images;
          pass += part.passes;
          weight += part.weight();
        }
        EXPECT_EQ(next, batch * accumulate);
        EXPECT_FLOAT_EQ(weight, 1.0f);
      }
    }
  }
}

TEST(Division, FixedPartsAreTheSameForEveryNumberOfRanks) {
  for (const int size : {1, 2, 4, 8}) {
    const Division part = divide(accumulating(2), 64, true, {size - 1, size});
    EXPECT_EQ(part.batch, 8);
    EXPECT_EQ(part.shards, 8 / size);
    EXPECT_EQ(part.passes, 16 / size);
  }
}

TEST(Division, RefusesWhatCannotBeDivided) {
  const auto refused = [](const OptimizerSettings& optimizer, int batch, bool fixed,
                          int size) -> std::string {
    try {
      divide(optimizer, batch, fixed, {0, size});
    } catch (const core::BadInput& error) {
      return error.what();
    }
    return "";
  };
  OptimizerSettings faulty = accumulating(1);
  faulty.per_sample = true;
  EXPECT_EQ(refused(accumulating(1), 3, false, 4),
            "a batch of 3 cannot be divided among 4 ranks: take a larger batch or fewer ranks");
  EXPECT_EQ(refused(accumulating(1), 48, true, 3),
            "deterministic training takes 1, 2, 4 or 8 ranks, not 3: it adds 8 parts of each batch");
  EXPECT_EQ(refused(accumulating(1), 12, true, 2),
            "deterministic training divides each batch in 8 parts, and 12 images are no multiple of that");
  EXPECT_EQ(refused(faulty, 8, false, 2),
            "per_sample changes the weights after each image, which several ranks cannot");
  EXPECT_EQ(refused(faulty, 8, true, 1),
            "per_sample changes the weights after each image, which a step of fixed sums cannot");
  EXPECT_EQ(refused(faulty, 8, false, 1), "");
}

}  // namespace
}  // namespace warpscope::training::division_test
