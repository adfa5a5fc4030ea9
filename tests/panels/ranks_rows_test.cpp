// Who waits for whom, and what the panel says of it.

#include "ui/panels/training/ranks_rows.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace warpscope::ui::ranks_rows_test {
namespace {

using training::RankFigures;
using training::Snapshot;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// A rank whose step of 10.2 ms waits for `waiting` microseconds and moves data for 200.
RankFigures rank_that_waits(double waiting) {
  return {"cuda:1", "NVIDIA H100", 64, 10200, waiting + 200, waiting, std::uint64_t{3} << 30};
}

Snapshot snapshot_of(const std::vector<double>& waiting, double images_per_second = 12345) {
  Snapshot snapshot;
  snapshot.state = training::TrainerState::running;
  snapshot.images_per_second = images_per_second;
  for (const double each : waiting) snapshot.ranks.push_back(rank_that_waits(each));
  return snapshot;
}

std::string heading(const Snapshot& snapshot) {
  return heading_of(ranks_of(snapshot), snapshot);
}

TEST(RanksOfStep, PartsOfAStepAddUpToIt) {
  const Snapshot snapshot = snapshot_of({3100, 0});
  const RanksOfStep ranks = ranks_of(snapshot);
  ASSERT_EQ(ranks.rows.size(), 2U);
  EXPECT_TRUE(ranks.measured);
  EXPECT_EQ(ranks.longest, 10200);
  const RankRow& row = ranks.rows[0];
  EXPECT_EQ(row.figures, &snapshot.ranks[0]);
  EXPECT_EQ(row.own, 6900);
  EXPECT_EQ(row.moving, 200);
  EXPECT_EQ(row.waiting, 3100);
  EXPECT_EQ(row.step(), 10200);
  EXPECT_DOUBLE_EQ(row.images_per_second, 64e6 / 10200);
  EXPECT_DOUBLE_EQ(row.own_images_per_second, 64e6 / 6900);
  EXPECT_DOUBLE_EQ(row.exposed(), 3300.0 / 10200);
}

TEST(RanksOfStep, TheSlowestIsTheOneThatWaitsLeast) {
  const RanksOfStep ranks = ranks_of(snapshot_of({3100, 2900, 0, 3000}));
  EXPECT_EQ(ranks.slowest, 2U);
  EXPECT_EQ(ranks.waiters, 3U);
  EXPECT_EQ(ranks.longest_waiter, 0U);
}

TEST(RanksOfStep, WaitingIsToldOfAboveFivePercentOfAStep) {
  const RanksOfStep below = ranks_of(snapshot_of({510, 0}));
  EXPECT_FALSE(below.slowest.has_value());
  EXPECT_EQ(below.waiters, 0U);
  EXPECT_FALSE(below.rows[0].waits());
  const RanksOfStep above = ranks_of(snapshot_of({511, 0}));
  EXPECT_EQ(above.slowest, 1U);
  EXPECT_EQ(above.waiters, 1U);
  EXPECT_TRUE(above.rows[0].waits());
  EXPECT_FALSE(above.rows[1].waits());
}

TEST(RanksOfStep, OneRankHasNoRows) {
  EXPECT_TRUE(ranks_of(Snapshot()).rows.empty());
  const RanksOfStep one = ranks_of(snapshot_of({0}));
  EXPECT_TRUE(one.rows.empty());
  EXPECT_FALSE(one.measured);
  EXPECT_FALSE(one.slowest.has_value());
}

TEST(RanksOfStep, NobodyWaitsBeforeAllAreMeasured) {
  Snapshot snapshot = snapshot_of({5000, 0});
  snapshot.ranks[1].step_microseconds = 0;
  const RanksOfStep ranks = ranks_of(snapshot);
  EXPECT_FALSE(ranks.measured);
  EXPECT_FALSE(ranks.slowest.has_value());
  EXPECT_EQ(ranks.longest, 10200) << "of the one that is measured";
  EXPECT_FALSE(ranks.rows[1].measured());
  EXPECT_EQ(ranks.rows[1].step(), 0);
  EXPECT_EQ(ranks.rows[1].images_per_second, 0);
  EXPECT_EQ(ranks.rows[1].exposed(), 0);
}

TEST(RanksOfStep, WhatADamagedFileSaysStaysWithinTheStep) {
  Snapshot snapshot = snapshot_of({0, 0, 0, 0});
  snapshot.ranks[0] = {"", "", 1, 100, 500, 900, 0};
  snapshot.ranks[1] = {"", "", 1, 100, kNaN, kNaN, 0};
  snapshot.ranks[2] = {"", "", 1, 100, -5, 10, 0};
  snapshot.ranks[3] = {"", "", 1, kNaN, 5, 5, 0};
  const RanksOfStep ranks = ranks_of(snapshot);
  EXPECT_EQ(ranks.rows[0].own, 0);
  EXPECT_EQ(ranks.rows[0].waiting, 100);
  EXPECT_EQ(ranks.rows[0].own_images_per_second, 0);
  EXPECT_EQ(ranks.rows[1].own, 100);
  EXPECT_EQ(ranks.rows[2].waiting, 0);
  EXPECT_FALSE(ranks.rows[3].measured());
  EXPECT_EQ(ranks.longest, 100);
  snapshot.ranks[3].step_microseconds = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(ranks_of(snapshot).rows[3].measured());
}

/// Both have timed step 1,234, the second one begun 40 us later; rank 0 waits 90 us for it.
Snapshot snapshot_of_a_step() {
  Snapshot snapshot = snapshot_of({3100, 0});
  snapshot.ranks[0].newest = {1234, 0, 100, 200, 90, 10, 50};
  snapshot.ranks[1].newest = {1234, 40, 150, 200, 0, 10, 50};
  snapshot.ranks[0].clock_uncertainty = 0.5;
  snapshot.ranks[1].clock_uncertainty = 7.25;
  return snapshot;
}

TEST(RankLanes, ShowTheNewestStepWhereAllHaveTimedTheSame) {
  Snapshot snapshot = snapshot_of_a_step();
  const RanksOfStep ranks = ranks_of(snapshot);
  EXPECT_EQ(ranks.step, 1234U);
  EXPECT_EQ(ranks.rows[1].lane.start, 40);
  EXPECT_EQ(ranks.rows[1].lane.forward, 150);
  EXPECT_EQ(ranks.rows[1].lane.own, 0);
  EXPECT_EQ(ranks.longest, 450);
  EXPECT_TRUE(tip_of(ranks.rows[1], 1)
                  .starts_with("rank 1, cuda:1 NVIDIA H100\nHere step 1,234: begun 40.0 \u00b5s after the "
                               "first rank; 150.0 \u00b5s forward"))
      << tip_of(ranks.rows[1], 1);
  EXPECT_EQ(tip_of(ranks.rows[1], 1).find("beside"), std::string::npos);
  snapshot.ranks[1].newest.beside = 25;
  EXPECT_NE(tip_of(ranks.rows[1], 1).find("update; 25.0 \u00b5s more of sums ran beside the backward pass"),
            std::string::npos);
  for (const training::RankStep& other :
       {training::RankStep{1230, 0, 1, 1, 0, 1, 1}, training::RankStep{1234, kNaN, 1, 1, 0, 1, 1},
        training::RankStep{1234, 0, -1, 1, 0, 1, 1}}) {
    snapshot.ranks[1].newest = other;
    const RanksOfStep medians = ranks_of(snapshot);
    EXPECT_EQ(medians.step, 0U);
    EXPECT_EQ(medians.rows[0].lane.own, 6900);
    EXPECT_EQ(medians.rows[0].lane.end(), 10200);
    EXPECT_EQ(medians.longest, 10200);
  }
}

TEST(RanksFacts, SayHowWellClocksAreComparedAndWhatSumsAndWaitingCost) {
  // Rank 0 works 6,900 us by itself, rank 1 10,000 us; together they make 128 images in 10,200 us.
  EXPECT_EQ(facts_of(ranks_of(snapshot_of_a_step())),
            "Step 1,234 of all ranks, clocks within 8 \u00b5s; 80.1 % of the images/s of own work only, "
            "without sums "
            "and waiting");
  EXPECT_FALSE(ranks_of(snapshot_of_a_step()).loads);
  Snapshot unmeasured = snapshot_of_a_step();
  unmeasured.ranks[1].step_microseconds = 0;
  unmeasured.ranks[1].newest = {};
  unmeasured.ranks[1].watts = 310;
  EXPECT_TRUE(ranks_of(unmeasured).loads);
  EXPECT_EQ(facts_of(ranks_of(unmeasured)), "Medians of sampled steps");
}

TEST(RankLinks, NameTheSlowestOnceEachPairIsMeasured) {
  Snapshot snapshot = snapshot_of({0, 0});
  EXPECT_FALSE(slowest_link(ranks_of(snapshot)).has_value());
  EXPECT_TRUE(links_text(ranks_of(snapshot)).starts_with("Not measured yet"));
  for (RankFigures& rank : snapshot.ranks) rank.linked_by = "shared memory";
  snapshot.ranks[0].links = {0, 3.456};
  snapshot.ranks[1].links = {127.6, 0};
  EXPECT_EQ(links_text(ranks_of(snapshot)),
            "Over shared memory 3.46 to 128 GB/s, slowest from rank 1 to rank 0");
  for (const std::vector<double>& damaged : {std::vector<double>{1}, {kNaN, 0}, {-1, 0}, {0, 0}, {1, 2, 3}}) {
    snapshot.ranks[1].links = damaged;
    EXPECT_FALSE(ranks_of(snapshot).linked);
  }
}

TEST(RanksHeading, NamesTheSlowestAndHowLongTheOthersWait) {
  EXPECT_EQ(heading(snapshot_of({3100, 2900, 0, 3000})),
            "4 ranks, 12,345 images/s together; rank 2 is the slowest: the others wait up to 3.1 ms of 10.2 "
            "ms for it");
  EXPECT_EQ(
      heading(snapshot_of({0, 3100})),
      "2 ranks, 12,345 images/s together; rank 0 is the slowest: rank 1 waits 3.1 ms of 10.2 ms for it");
  EXPECT_EQ(heading(snapshot_of({0, 3100, 2900, 20})),
            "4 ranks, 12,345 images/s together; rank 0 is the slowest: 2 others wait up to 3.1 ms of 10.2 ms "
            "for it");
}

TEST(RanksHeading, TimesOfAShortStepAreInMicroseconds) {
  Snapshot snapshot = snapshot_of({0, 0});
  snapshot.ranks[0] = {"cpu", "a CPU", 4, 1020, 330, 310, 0};
  snapshot.ranks[1] = {"cpu", "a CPU", 4, 1020, 20, 0, 0};
  EXPECT_TRUE(heading(snapshot).ends_with("rank 0 waits 310.0 \u00b5s of 1,020.0 \u00b5s for it"))
      << heading(snapshot);
}

TEST(RanksHeading, SaysThatNobodyWaits) {
  EXPECT_EQ(heading(snapshot_of({0, 100, 510})),
            "3 ranks, 12,345 images/s together; no rank waits long for another");
}

TEST(RanksHeading, SpeedsBelowAHundredHaveADigitMoreAndUnknownOnesAreLeftOut) {
  EXPECT_EQ(heading(snapshot_of({0, 0}, 45.67)),
            "2 ranks, 45.7 images/s together; no rank waits long for another");
  EXPECT_EQ(heading(snapshot_of({0, 0}, 0)), "2 ranks; no rank waits long for another");
}

TEST(RanksHeading, SaysThatItMeasures) {
  Snapshot snapshot = snapshot_of({3100, 0});
  for (RankFigures& rank : snapshot.ranks) rank.step_microseconds = 0;
  EXPECT_EQ(heading(snapshot), "2 ranks, measuring: their times come with the first sampled step");
}

TEST(RanksHeading, SixtyFourRanksHaveOneSlowest) {
  std::vector<double> waiting(64, 2500);
  waiting[41] = 0;
  waiting[7] = 2600;
  const Snapshot snapshot = snapshot_of(waiting);
  const RanksOfStep ranks = ranks_of(snapshot);
  ASSERT_EQ(ranks.rows.size(), 64U);
  EXPECT_EQ(ranks.slowest, 41U);
  EXPECT_EQ(ranks.waiters, 63U);
  EXPECT_EQ(heading(snapshot),
            "64 ranks, 12,345 images/s together; rank 41 is the slowest: the others wait up to 2.6 ms of "
            "10.2 ms for it");
}

TEST(RanksHeading, OfOneRankTellsHowToGetMore) {
  Snapshot snapshot;
  EXPECT_EQ(why_no_ranks(snapshot), "Which ranks make the steps is known as soon as the training is ready.");
  snapshot.state = training::TrainerState::paused;
  EXPECT_EQ(why_no_ranks(snapshot),
            "One rank makes the steps of this training. `warpscope --gpus all` starts one for each GPU, "
            "`warpscope --ranks 2` two on one device.");
}

TEST(RankTip, HasTheDeviceTheThreePartsAndHowTheyWereMeasured) {
  const Snapshot snapshot = snapshot_of({3100, 0});
  const RanksOfStep ranks = ranks_of(snapshot);
  EXPECT_EQ(tip_of(ranks.rows[0], 0),
            "rank 0, cuda:1 NVIDIA H100\n10.20 ms a step:\n6.90 ms own work\n0.20 ms in sums over "
            "ranks, moving data\n3.10 ms in these sums, waiting for the slowest rank\nMedians of its "
            "sampled "
            "steps. A rank waits as long as its sums take longer than those of the rank that waits least.");
}

TEST(RankTip, OfARankWithoutASampledStepSaysSo) {
  Snapshot snapshot = snapshot_of({0, 0});
  snapshot.ranks[1] = {"cpu", "", 4, 0, 0, 0, 0};
  EXPECT_EQ(tip_of(ranks_of(snapshot).rows[1], 1), "rank 1, cpu\nNo step of it has been sampled yet.");
}

TEST(RanksRows, WhoIsWaitedForStandsInTheHeading) {
  training::Snapshot snapshot;
  snapshot.awaited = "rank 2 (pid 123) has not answered within 1.0 s while it begins";
  EXPECT_EQ(why_no_ranks(snapshot), snapshot.awaited);
  snapshot.ranks.resize(3);
  EXPECT_EQ(heading(snapshot), snapshot.awaited);
}

}  // namespace
}  // namespace warpscope::ui::ranks_rows_test
