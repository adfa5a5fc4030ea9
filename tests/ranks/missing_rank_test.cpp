#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "gpu/ranks/collective.h"
#include "gpu/ranks/device_wait.h"
#include "gpu/ranks/sums.h"
#include "tests/support/rank_threads.h"

namespace warpscope::ranks::missing_rank_test {
namespace {

void come(Group& group) {
  std::vector<std::byte> all(group.place().size);
  group.all_gather(std::vector<std::byte>(1), all);
}

/// What a call throws that finds ranks missing.
RankMissing missing(const std::function<void()>& call) {
  try {
    call();
  } catch (const RankMissing& error) {
    return error;
  }
  ADD_FAILURE() << "nobody was missing";
  return {"", {}};
}

class Event {
 public:
  void happen() {
    const std::lock_guard lock(mutex_);
    happened_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return happened_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool happened_ = false;
};

TEST(MissingRank, OneThatHasEndedIsNamedWithWhatItWasToComeTo) {
  as_ranks(4, [](SharedMeeting& meeting) {
    const auto group = meeting.group(kSums, {});
    come(*group);
    if (meeting.place().rank == 2) return;
    group->note_purpose("the gradients of step 12");
    const RankMissing error = missing([&] { come(*group); });
    EXPECT_EQ(error.ranks(), std::vector{2});
    EXPECT_STREQ(error.what(), "rank 2 ended; it was to come to the gradients of step 12");
  });
}

TEST(MissingRank, HowItEndedIsTold) {
  const auto meeting = found_meeting(4);
  const auto group = meeting->group(kSums, {});
  meeting->mark_ended(1, 9);
  meeting->mark_ended(2, 3 << 8);
  meeting->mark_ended(3, 0);
  group->note_purpose("step 7");
  const RankMissing error = missing([&] { come(*group); });
  EXPECT_EQ(error.ranks(), (std::vector{1, 2, 3}));
  EXPECT_STREQ(error.what(),
               "rank 1 was killed by SIGKILL, rank 2 ended with exit code 3, rank 3 ended; they were to come "
               "to step 7");
  EXPECT_EQ(meeting->ended(), (std::vector{1, 2, 3}));
}

TEST(MissingRank, ThoseThatEndForWantOfItAreNotTold) {
  const auto meeting = found_meeting(4);
  const auto group = meeting->group(kSums, {});
  meeting->mark_ended(1, kOthersMissing << 8);
  EXPECT_EQ(meeting->missing(), "");  // the one that is missing will be known in a moment
  meeting->mark_ended(2, 9);
  EXPECT_EQ(meeting->missing(), "rank 2 was killed by SIGKILL");
  EXPECT_EQ(meeting->lost(), std::vector{2});
  EXPECT_EQ(missing([&] { come(*group); }).ranks(), std::vector{2});
}

TEST(MissingRank, AGroupThatLacksOneSaysSoFromThenOn) {
  const auto meeting = found_meeting(2);
  const auto group = meeting->group(kOrders, {});
  meeting->mark_ended(1, 0);
  missing([&] { come(*group); });
  EXPECT_EQ(missing([&] { come(*group); }).ranks(), std::vector{1});
  EXPECT_EQ(missing([&] { group->send({}); }).ranks(), std::vector{1});
}

TEST(MissingRank, WhatItGaveBeforeItEndedStillArrives) {
  as_ranks(3, [](SharedMeeting& meeting) {
    const auto group = meeting.group(kOrders, {});
    come(*group);
    if (meeting.place().leads()) {
      group->send(std::vector<std::byte>(1000));
      return;
    }
    EXPECT_EQ(group->receive().size(), 1000U);
    EXPECT_EQ(missing([&] { group->receive(); }).ranks(), std::vector{0});
  });
}

TEST(MissingRank, RankZeroIsMissedByThoseWhoWaitForItsMessages) {
  const auto leader = found_meeting(2);
  const auto follower = join_meeting(*leader, 1);
  const std::jthread other([&] {
    const auto group = follower->group(kOrders, {});
    group->note_purpose("the next order");
    EXPECT_STREQ(missing([&] { group->receive(); }).what(), "rank 0 ended; it was to come to the next order");
  });
  leader->leave();
}

TEST(MissingRank, OneThatReadsNothingIsMissedWhenTheRingIsFull) {
  const auto meeting = found_meeting(2);
  const auto group = meeting->group(kOrders, {});
  meeting->mark_ended(1, 9);
  group->send(std::vector<std::byte>(100));
  const std::vector<std::byte> long_message(8 << 20);
  EXPECT_EQ(missing([&] { group->send(long_message); }).ranks(), std::vector{1});
}

TEST(MissingRank, OneThatIsSlowIsToldAndAgainWhenItComes) {
  Event event;
  as_ranks(2, [&](SharedMeeting& meeting) {
    std::vector<std::vector<int>> told;
    std::vector<std::string> sentences;
    const auto group = meeting.group(kSums, [&](const std::vector<int>& slow, const std::string& sentence) {
      told.push_back(slow);
      sentences.push_back(sentence);
      event.happen();
    });
    group->note_purpose("the gradients of step 12");
    if (!meeting.place().leads()) event.wait();
    come(*group);
    if (!meeting.place().leads()) return;
    ASSERT_EQ(told, (std::vector<std::vector<int>>{{1}, {}}));
    EXPECT_TRUE(sentences[0].starts_with("rank 1 has not come to the gradients of step 12 within "))
        << sentences[0];
    EXPECT_TRUE(sentences[1].starts_with("rank 1 has come to the gradients of step 12 after "))
        << sentences[1];
  });
}

/// What rank 0 is told first where rank 1 comes to `add`, in that step, only afterwards.
std::string told_of_a_slow_rank(std::uint64_t step, const std::function<void(Sums&)>& add) {
  Event event;
  std::string told;
  as_ranks(2, [&](SharedMeeting& meeting) {
    std::string first;
    Sums sums(meeting.group(kSums, [&](const std::vector<int>&, const std::string& sentence) {
      if (first.empty()) first = sentence;
      event.happen();
    }));
    sums.note_step(step);
    if (!meeting.place().leads()) event.wait();
    add(sums);
    if (meeting.place().leads()) told = first;
  });
  return told;
}

TEST(MissingRank, SumsNameTheirOperationAndTheStepWhereOneIsSlow) {
  const std::string told = told_of_a_slow_rank(1234, [](Sums& sums) {
    std::vector<float> values{1, 2};
    sums.add(values, 0.5f, {Joint::gradients, "loops"});
    sums.check();
    EXPECT_EQ(values, (std::vector<float>{1, 2}));
  });
  EXPECT_TRUE(told.starts_with("rank 1 has not come to all-reduce loops, step 1,234 within ")) << told;
}

TEST(MissingRank, AnOperationThatAddsByItselfIsNamedWithTheStepLikewise) {
  const std::string told = told_of_a_slow_rank(12, [](Sums& sums) {
    come(sums.group_for({Joint::gradients, "reference"}));
  });
  EXPECT_TRUE(told.starts_with("rank 1 has not come to all-reduce reference, step 12 within ")) << told;
}

TEST(MissingRank, EachCollectiveIsToldWithItsWayAndItsStep) {
  EXPECT_EQ(told({Joint::gradients, "nccl"}, 812), "all-reduce nccl, step 812");
  EXPECT_EQ(told({Joint::gradients, "host_mpi"}, 1234, true), "all-reduce host_mpi, a step up to 1,234");
  EXPECT_EQ(told({Joint::moments, "loops"}, 3), "all-reduce of batch norm moments loops, step 3");
  EXPECT_EQ(told({Joint::moments_gradient, "nccl_plain"}, 3),
            "all-reduce of batch norm gradients nccl_plain, step 3");
  EXPECT_EQ(told({Joint::evaluation, "MPI"}, 800), "the evaluation over MPI, step 800");
  EXPECT_EQ(told({Joint::figures, "TCP"}, 800), "the figures of the ranks over TCP, step 800");
  EXPECT_EQ(told({Joint::weights, "shared memory"}, 0),
            "the broadcast of weights over shared memory, step 0");
}

TEST(MissingRank, OneThatAGpuWaitsForIsNamedWithTheCollectiveAndTheStep) {
  Event looked, told_of;
  as_ranks(2, [&](SharedMeeting& meeting) {
    if (!meeting.place().leads()) {
      meeting.look({});
      looked.happen();
      return told_of.wait();
    }
    looked.wait();
    std::string first;
    Sums sums(meeting.group(kSums, {}));
    sums.note_on_device(Collective{Joint::gradients, "p2p_two_shot"});
    sums.note_wait(812);
    sums.watch({std::shared_ptr<void>(), &meeting},
               [&](const std::vector<int>&, const std::string& sentence) {
                 if (first.empty()) first = sentence;
                 told_of.happen();
               });
    told_of.wait();
    EXPECT_TRUE(first.starts_with("rank 1 has not come to all-reduce p2p_two_shot, step 812 within "))
        << first;
  });
}

TEST(DeviceWait, NamesASilentRankWithTheCollectiveThatTheGpuWaitsIn) {
  std::vector<std::vector<int>> ranks;
  std::vector<std::string> sentences;
  const TellSlow tell = [&](const std::vector<int>& silent, const std::string& sentence) {
    ranks.push_back(silent);
    sentences.push_back(sentence);
  };
  const Collective nccl{Joint::gradients, "nccl"};
  const std::chrono::milliseconds look(100);
  DeviceWait wait;
  for (std::uint64_t step = 1; step < 812; ++step) wait.look(nccl, step, {3}, look, tell);
  for (int i = 0; i < 7; ++i) wait.look(nccl, 812, {3}, look, tell);
  EXPECT_TRUE(sentences.empty());
  for (int i = 0; i < 32; ++i) wait.look(nccl, 812, {3}, look, tell);
  EXPECT_EQ(sentences,
            std::vector<std::string>{"rank 3 has not come to all-reduce nccl, step 812 within 0.7 s"});
  wait.look(nccl, 813, {}, look, tell);
  ASSERT_EQ(sentences.size(), 2U);
  EXPECT_EQ(sentences[1], "rank 3 has come to all-reduce nccl, step 812 after 3.9 s");
  EXPECT_EQ(ranks, (std::vector<std::vector<int>>{{3}, {}}));
}

TEST(DeviceWait, TellsNothingWhereAllAnswerOrTheHostAddsOrWaitsForNothing) {
  const TellSlow tell = [](const std::vector<int>&, const std::string& sentence) {
    ADD_FAILURE() << sentence;
  };
  const Collective nccl{Joint::gradients, "nccl"};
  DeviceWait wait;
  for (int i = 0; i < 50; ++i) wait.look(nccl, 812, {}, std::chrono::milliseconds(100), tell);
  for (int i = 0; i < 50; ++i) wait.look({}, 812, {1}, std::chrono::milliseconds(100), tell);
  for (int i = 0; i < 50; ++i) wait.look(nccl, 0, {1}, std::chrono::milliseconds(100), tell);
}

TEST(MissingRank, NobodyIsSlowWhileRankZeroHasNoOrders) {
  Event other_told;
  as_ranks(2, [&](SharedMeeting& meeting) {
    std::vector<int> told;
    const auto orders =
        meeting.group(kOrders, [&](const std::vector<int>& slow, const std::string&) { told = slow; });
    const auto sums =
        meeting.group(kSums, [&](const std::vector<int>&, const std::string&) { other_told.happen(); });
    if (meeting.place().leads()) {
      // Longer than it takes to tell: as long as it takes rank 0 to be told of a slow rank in the other group.
      const std::jthread waiting([&] { come(*sums); });
      other_told.wait();
      orders->send({});
    } else {
      orders->receive();
      EXPECT_TRUE(told.empty());
      come(*sums);
    }
  });
}

TEST(SharedMeeting, IsJoinedOnceByEachRank) {
  const auto meeting = found_meeting(3);
  const auto first = join_meeting(*meeting, 1);
  EXPECT_EQ(first->place(), (Place{1, 3}));
  EXPECT_THROW(join_meeting(*meeting, 1), core::BadInput);
  EXPECT_THROW(join_meeting(*meeting, 0), core::BadInput);
  EXPECT_THROW(join_meeting(*meeting, 3), core::BadInput);
  EXPECT_THROW(join_meeting(meeting->descriptor(), -1), core::BadInput);
  EXPECT_EQ(join_meeting(meeting->descriptor(), 2)->place(), (Place{2, 3}));
}

TEST(SharedMeeting, RefusesAnotherNumberOfRanksThanItHasRoomFor) {
  EXPECT_THROW(found_meeting(0), core::BadInput);
  EXPECT_THROW(found_meeting(65), core::BadInput);
  EXPECT_EQ(found_meeting(64)->place(), (Place{0, 64}));
}

TEST(SharedMeeting, RefusesAnotherVersionOfTheProgram) {
  const auto meeting = found_meeting(2);
  std::string start(4096, '\0');
  ASSERT_EQ(::pread(meeting->descriptor(), start.data(), start.size(), 0), 4096);
  const std::string version = WARPSCOPE_VERSION;
  const std::size_t place = start.find(version);
  ASSERT_NE(place, std::string::npos);
  ASSERT_EQ(::pwrite(meeting->descriptor(), "9", 1, static_cast<off_t>(place)), 1);
  try {
    join_meeting(meeting->descriptor(), 1);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const core::BadInput& error) {
    EXPECT_NE(std::string(error.what()).find("9" + version.substr(1)), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(version), std::string::npos) << error.what();
  }
}

TEST(SharedMeeting, RefusesAFileThatIsNone) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  EXPECT_THROW(join_meeting(pipe[0], 1), core::BadInput);
  EXPECT_THROW(join_meeting(-1, 1), core::BadInput);
  EXPECT_EQ(::close(pipe[0]) + ::close(pipe[1]), 0) << "a file was closed that was somebody else's";
}

}  // namespace
}  // namespace warpscope::ranks::missing_rank_test
