#include "ui/panels/training/ranks_number.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/changes.h"

namespace warpscope::ui::ranks_number_test {
namespace {

TEST(RankChoices, ArePowersOfTwoThePresentNumberAndAllOfFew) {
  EXPECT_EQ(rank_choices(1, 1), (std::vector{1}));
  EXPECT_EQ(rank_choices(1, 2), (std::vector{1, 2}));
  EXPECT_EQ(rank_choices(3, 6), (std::vector{1, 2, 3, 4, 6}));
  EXPECT_EQ(rank_choices(16, 64), (std::vector{1, 2, 4, 8, 16}));
}

training::Snapshot running_on(int ranks, int most) {
  training::Snapshot snapshot;
  snapshot.state = training::TrainerState::running;
  if (ranks > 1) snapshot.ranks.resize(static_cast<std::size_t>(ranks));
  snapshot.most_ranks = most;
  tests::settings_of(snapshot).batch = 6;
  return snapshot;
}

TEST(RanksNumber, HasNoChoiceWhereOneRankIsAllThatCanBe) {
  EXPECT_TRUE(ranks_number_of(running_on(1, 1)).choices.empty());
}

TEST(RanksNumber, TellsOfEachChoiceWhyItCannotBeTaken) {
  training::Snapshot snapshot = running_on(4, 64);
  const RanksNumber number = ranks_number_of(snapshot);
  EXPECT_EQ(number.now, 4);
  EXPECT_EQ(number.why_not, "");
  ASSERT_EQ(number.choices.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(number.choices[i].refusal, "") << number.choices[i].number;
  EXPECT_EQ(number.choices[3].number, 8);
  EXPECT_NE(number.choices[3].refusal.find("cannot be divided among 8 ranks"), std::string::npos)
      << number.choices[3].refusal;

  auto kernels = std::make_shared<training::UserKernels>();
  kernels->kernels.emplace_back();
  snapshot.user_kernels = kernels;
  EXPECT_EQ(ranks_number_of(snapshot).choices[0].refusal, "") << "one rank has them";
  EXPECT_NE(ranks_number_of(snapshot).choices[1].refusal.find("Kernels of your own"), std::string::npos);
}

TEST(RanksNumber, TellsWhyNoneCanBeTaken) {
  training::Snapshot by_mpi = running_on(4, 1);
  by_mpi.why_ranks_stay = "mpirun says how many ranks there are; start it anew with another -n";
  EXPECT_EQ(ranks_number_of(by_mpi).choices.size(), 1U);
  EXPECT_EQ(ranks_number_of(by_mpi).why_not,
            "Mpirun says how many ranks there are; start it anew with another -n.");
  training::Snapshot finished = running_on(1, 4);
  finished.state = training::TrainerState::finished;
  EXPECT_TRUE(ranks_number_of(finished).why_not.starts_with("The training has ended"));
}

}  // namespace
}  // namespace warpscope::ui::ranks_number_test
