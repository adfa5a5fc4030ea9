#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/ranks/meeting_place.h"
#include "gpu/ranks/tcp_meeting.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/group_bytes.h"

namespace warpscope::ranks::tcp_test {
namespace {

constexpr char kToken[] = "what all ranks know";
constexpr std::size_t kMoreThanSocketsHold = std::size_t{12} << 20;

TcpTerms terms(int rank, int ranks = 0) {
  return {rank, ranks, kToken};
}

std::shared_ptr<Meeting> join(std::uint16_t port, const TcpTerms& terms) {
  const MeetingPoint point{{"127.0.0.1"}, port, terms.token, ""};
  return join_by_tcp([&] { return point; }, terms);
}

using Meet = std::function<std::shared_ptr<Meeting>()>;

/// Calls `body` as a rank. What is thrown fails the test.
void as_rank(const Meet& meet, const std::function<void(Meeting&)>& body) {
  try {
    const auto meeting = meet();
    body(*meeting);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
}

/// Calls `body` as each of `size` ranks that meet at a port of the system's choice, and waits for all.
void as_tcp_ranks(int size, const std::function<void(Meeting&)>& body) {
  TcpFounding founding("127.0.0.1", 0, terms(0, size));
  std::vector<std::jthread> threads;
  for (int rank = 1; rank < size; ++rank) {
    threads.emplace_back([&, rank] { as_rank([&] { return join(founding.port(), terms(rank)); }, body); });
  }
  as_rank([&] { return founding.meet(); }, body);
}

void come(Group& group) {
  std::vector<std::byte> all(group.place().size);
  group.all_gather(std::vector<std::byte>(1), all);
}

template <class Thrown>
Thrown thrown_by(const std::function<void()>& call) {
  try {
    call();
  } catch (const Thrown& error) {
    return error;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another error: " << error.what();
  }
  throw core::Error("the call has not thrown what it should");
}

std::string refusal(const std::function<void()>& call) {
  return thrown_by<core::BadInput>(call).what();
}

class TcpGroupOf : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, TcpGroupOf, testing::Values(1, 2, 5));

TEST_P(TcpGroupOf, MakesCallsOfAllKindsInAnyOrder) {
  as_tcp_ranks(GetParam(), make_calls_of_all_kinds);
}

TEST(TcpGroup, TakesMoreThanConnectionsHoldFromAllAtOnce) {
  as_tcp_ranks(2, [](Meeting& meeting) {
    const auto group = meeting.group(kSums, {});
    exchange(*group, 1, kMoreThanSocketsHold);
    const Bytes message = bytes_of(0, 2, kMoreThanSocketsHold);
    if (meeting.place().leads()) {
      group->send(message);
    } else {
      EXPECT_EQ(group->receive(), message);
    }
  });
}

TEST(TcpGroup, TwoRanksSwapWhileAThirdComesAlong) {
  as_tcp_ranks(3, [](Meeting& meeting) {
    const auto group = meeting.group(kSums, {});
    trade_while_a_third_comes_along(*group, kMoreThanSocketsHold);
    gather(*group, 0, 100);
  });
}

TEST(TcpGroup, GroupsDoNotDisturbEachOther) {
  as_tcp_ranks(3, [](Meeting& meeting) {
    const auto orders = meeting.group(kOrders, {});
    const auto sums = meeting.group(kSums, {});
    const std::jthread other([&] {
      for (int round = 0; round < 100; ++round) gather(*sums, round, 5000);
    });
    for (int round = 0; round < 100; ++round) exchange(*orders, round, 3000);
  });
}

TEST(TcpGroup, SaysWhoComesWithOtherBytesThanThis) {
  as_tcp_ranks(2, [](Meeting& meeting) {
    const auto group = meeting.group(kSums, {});
    group->note_purpose("the gradients of step 12");
    const Bytes mine(meeting.place().leads() ? 8 : kMoreThanSocketsHold);
    Bytes all(2 * mine.size());
    const std::string sentence = thrown_by<core::Error>([&] { group->all_gather(mine, all); }).what();
    const std::string other = meeting.place().leads() ? "rank 1" : "rank 0";
    EXPECT_TRUE(sentence.starts_with(other + " came to the gradients of step 12")) << sentence;
    EXPECT_THROW(group->all_gather(mine, all), core::Error);
  });
}

TEST(TcpGroup, OneThatHasEndedIsNamedWithWhatItWasToComeTo) {
  as_tcp_ranks(4, [](Meeting& meeting) {
    const auto group = meeting.group(kSums, {});
    come(*group);
    if (meeting.place().rank == 2) return;
    group->note_purpose("the gradients of step 12");
    for (int i = 0; i < 2; ++i) {  // it says so from then on
      const auto error = thrown_by<RankMissing>([&] { come(*group); });
      EXPECT_EQ(error.ranks(), std::vector{2});
      EXPECT_STREQ(error.what(), "rank 2 ended; it was to come to the gradients of step 12");
    }
    EXPECT_NE(meeting.missing().find("rank 2 ended"), std::string::npos) << meeting.missing();
  });
}

TEST(TcpGroup, ThoseThatEndForWantOfAnotherAreNotNamed) {
  std::latch other_ends(1);
  as_tcp_ranks(3, [&](Meeting& meeting) {
    const auto group = meeting.group(kSums, {});
    come(*group);
    if (meeting.place().rank == 2) return other_ends.count_down();
    if (meeting.place().rank == 1) {
      meeting.look({});
      meeting.leave_after_others();
      return other_ends.wait();
    }
    group->note_purpose("the gradients of step 12");
    const auto error = thrown_by<RankMissing>([&] { come(*group); });
    EXPECT_EQ(error.ranks(), std::vector{2});
    EXPECT_STREQ(error.what(), "rank 2 ended; it was to come to the gradients of step 12");
    EXPECT_EQ(meeting.missing(), "rank 2 ended");
  });
}

TEST(TcpGroup, WhatItGaveBeforeItEndedStillArrives) {
  as_tcp_ranks(3, [](Meeting& meeting) {
    const auto group = meeting.group(kOrders, {});
    come(*group);
    if (meeting.place().leads()) {
      group->send(std::vector<std::byte>(1000));
      return;
    }
    EXPECT_EQ(group->receive().size(), 1000U);
    EXPECT_EQ(thrown_by<RankMissing>([&] { group->receive(); }).ranks(), std::vector{0});
  });
}

TEST(TcpGroup, OneThatIsSlowIsToldAndAgainWhenItComes) {
  std::latch told_once(1);
  as_tcp_ranks(2, [&](Meeting& meeting) {
    std::vector<std::string> sentences;
    const auto group = meeting.group(kSums, [&](const std::vector<int>&, const std::string& sentence) {
      if (sentences.empty()) told_once.count_down();
      sentences.push_back(sentence);
    });
    group->note_purpose("the gradients of step 12");
    if (!meeting.place().leads()) told_once.wait();
    come(*group);
    if (!meeting.place().leads()) return;
    ASSERT_EQ(sentences.size(), 2U);
    EXPECT_TRUE(sentences[0].starts_with("rank 1 has not come to the gradients of step 12 within "))
        << sentences[0];
    EXPECT_TRUE(sentences[1].starts_with("rank 1 has come to the gradients of step 12 after "))
        << sentences[1];
  });
}

TEST(TcpMeeting, OneThatDoesNotAnswerWhileItBeginsIsNamed) {
  std::latch named(1), all_answer(1);
  as_tcp_ranks(2, [&](Meeting& meeting) {
    if (!meeting.place().leads()) {
      named.wait();
      meeting.look({});
      return all_answer.wait();
    }
    std::vector<std::string> told;
    meeting.tell_silent(
        [&](const std::vector<int>&, const std::string& sentence) { told.push_back(sentence); });
    meeting.set_patience_to_begin(std::chrono::hours(1));
    for (int i = 0; i < 20; ++i) meeting.look(std::chrono::milliseconds(100));
    named.count_down();
    while (told.size() == 1) meeting.look({});
    all_answer.count_down();
    EXPECT_EQ(told, (std::vector<std::string>{"rank 1 has not answered within 2.0 s while it begins",
                                              "all ranks answer again"}));
  });
}

TEST(TcpMeeting, OneThatStandsStillForTooLongWhileItBeginsIsMissing) {
  std::latch given_up(1);
  as_tcp_ranks(2, [&](Meeting& meeting) {
    const auto group = meeting.group(kOrders, {});
    if (!meeting.place().leads()) return given_up.wait();
    group->note_purpose("the beginning of the training");
    meeting.set_patience_to_begin(std::chrono::seconds(30));
    meeting.look(std::chrono::seconds(20));
    meeting.look(std::chrono::seconds(10));
    const auto error = thrown_by<RankMissing>([&] { come(*group); });
    given_up.count_down();
    EXPECT_EQ(error.ranks(), std::vector{1});
    EXPECT_STREQ(error.what(),
                 "rank 1 stood still for 30.0 s; it was to come to the beginning of the training");
  });
}

TEST(TcpGroup, OneThatStandsStillForLongerThanItsPatienceIsMissing) {
  std::latch given_up(1);
  as_tcp_ranks(2, [&](Meeting& meeting) {
    const auto group = meeting.group(kSums, {});
    if (!meeting.place().leads()) return given_up.wait();
    group->note_purpose("the gradients of step 12");
    meeting.set_patience(std::chrono::milliseconds(1));
    const auto error = thrown_by<RankMissing>([&] { come(*group); });
    given_up.count_down();
    EXPECT_EQ(error.ranks(), std::vector{1});
    const std::string told = error.what();
    EXPECT_TRUE(told.starts_with("rank 1 stood still for ")) << told;
    EXPECT_TRUE(told.ends_with("; it was to come to the gradients of step 12")) << told;
  });
}

TEST(TcpMeeting, RefusesOthersOnBothSidesAndWaitsOn) {
  std::vector<std::string> told;
  TcpTerms leading = terms(0, 2);
  leading.tell = [&](const std::string& sentence) { told.push_back(sentence); };
  TcpFounding founding("127.0.0.1", 0, leading);
  const std::jthread others([&] {
    TcpTerms stranger = terms(1);
    stranger.token = "what strangers guess";
    const std::string by_token = refusal([&] { join(founding.port(), stranger); });
    EXPECT_NE(by_token.find("its token is not that of rank 0"), std::string::npos) << by_token;
    EXPECT_EQ(by_token.find("what"), std::string::npos) << by_token;
    TcpTerms old = terms(1);
    old.version = "0.0.9";
    const std::string by_version = refusal([&] { join(founding.port(), old); });
    EXPECT_NE(by_version.find("version 0.0.9"), std::string::npos) << by_version;
    EXPECT_NE(by_version.find("version " WARPSCOPE_VERSION), std::string::npos) << by_version;
    EXPECT_NE(refusal([&] { join(founding.port(), terms(2)); }).find("no rank 2"), std::string::npos);
    EXPECT_NE(refusal([&] { join(founding.port(), terms(1, 3)); }).find("3 ranks"), std::string::npos);
    EXPECT_EQ(join(founding.port(), terms(1))->place(), (Place{1, 2}));
  });
  EXPECT_EQ(founding.meet()->place(), (Place{0, 2}));
  ASSERT_EQ(told.size(), 4U);
  EXPECT_TRUE(told[0].starts_with("rank 1 at 127.0.0.1 was refused: its token")) << told[0];
  for (const std::string& sentence : told) EXPECT_EQ(sentence.find("what"), std::string::npos) << sentence;
}

TEST(TcpMeeting, IsJoinedOnceByEachRank) {
  TcpFounding founding("127.0.0.1", 0, terms(0, 3));
  std::atomic<int> joined = 0;
  std::latch refused(1);
  std::vector<std::jthread> others;
  for (int i = 0; i < 2; ++i) {
    others.emplace_back([&] {
      try {
        joined += join(founding.port(), terms(1))->place() == Place{1, 3} ? 1 : 0;
      } catch (const core::BadInput& error) {
        EXPECT_NE(std::string(error.what()).find("rank 1 is there already"), std::string::npos);
        refused.count_down();
      }
    });
  }
  others.emplace_back([&] {
    refused.wait();
    joined += join(founding.port(), terms(2))->place() == Place{2, 3} ? 1 : 0;
  });
  founding.meet();
  others.clear();
  EXPECT_EQ(joined, 2);
}

TEST(TcpMeeting, NamesThoseWhoHaveNotCome) {
  TcpTerms leading = terms(0, 3);
  leading.patience = std::chrono::milliseconds(1);
  const auto error = thrown_by<RankMissing>([&] { TcpFounding("127.0.0.1", 0, leading).meet(); });
  EXPECT_EQ(error.ranks(), (std::vector{1, 2}));
  EXPECT_TRUE(std::string(error.what()).starts_with("ranks 1 and 2 have not come within 0.001 s"))
      << error.what();
}

TEST(TcpMeeting, RefusesPortsAndHostsThatCannotBe) {
  std::uint16_t port = 0;
  {
    const TcpFounding founding("127.0.0.1", 0, terms(0, 2));
    port = founding.port();
    const std::string used = refusal([&] { TcpFounding("127.0.0.1", port, terms(0, 2)); });
    EXPECT_NE(used.find("in use"), std::string::npos) << used;
  }
  TcpTerms hasty = terms(1);
  hasty.patience = std::chrono::milliseconds(0);
  const std::string nobody = refusal([&] { join(port, hasty); });
  EXPECT_NE(nobody.find("127.0.0.1:" + std::to_string(port)), std::string::npos) << nobody;
  const std::string elsewhere = refusal([&] { TcpFounding("192.0.2.1", 0, terms(0, 2)); });
  EXPECT_NE(elsewhere.find("no address of this host"), std::string::npos) << elsewhere;
  for (const char* where : {"nowhere", "host:", "host:0", "host:65536", ":5000", "::1:5000"}) {
    EXPECT_NE(refusal([&] { meet_at(where, terms(1)); }).find("neither"), std::string::npos) << where;
  }
}

TEST(TcpMeeting, AFolderTellsWhereWhileRankZeroWaits) {
  const tests::TemporaryFolder temporary;
  const std::string folder = temporary.path().string();
  const std::filesystem::path file = temporary / kMeetingFile;
  // What a process has left that was killed: nobody listens there.
  std::ofstream(file) << "warpscope meeting\n1\nold\n127.0.0.1\n";
  {
    const std::jthread follower([&] { EXPECT_EQ(meet_at(folder, {1})->place(), (Place{1, 3})); });
    std::jthread leader([&] { EXPECT_EQ(meet_at(folder, {0, 3})->place(), (Place{0, 3})); });
    struct stat seen {};
    while (::stat(file.c_str(), &seen) != 0 || seen.st_size < 50) std::this_thread::yield();
    EXPECT_EQ(seen.st_mode & 0777U, 0600U);
    EXPECT_EQ(meet_at(folder, {2})->place(), (Place{2, 3}));
  }
  EXPECT_FALSE(std::filesystem::exists(file));
}

/// Waits until rank 0 has told where it is in `folder`.
void wait_for_file_in(const std::filesystem::path& folder) {
  while (!std::filesystem::exists(folder / kMeetingFile)) std::this_thread::yield();
}

TEST(TcpMeeting, ASecondTrainingInAFolderIsRefusedAndToldOfTheFirst) {
  const tests::TemporaryFolder temporary;
  const std::string folder = temporary.path().string();
  std::vector<std::string> told;
  {
    const std::jthread leader([&] {
      TcpTerms terms{0, 2};
      terms.tell = [&](const std::string& sentence) { told.push_back(sentence); };
      EXPECT_EQ(meet_at(folder, terms)->place(), (Place{0, 2}));
    });
    wait_for_file_in(folder);
    const std::string why = refusal([&] { meet_at(folder, {0, 2}); });
    EXPECT_TRUE(why.starts_with("another training waits for its ranks in " + folder + " (")) << why;
    EXPECT_NE(why.find(fmt::format(", process {}, since 20", ::getpid())), std::string::npos) << why;
    EXPECT_EQ(meet_at(folder, {1})->place(), (Place{1, 2})) << "the first one goes on waiting";
  }
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told[0].find("it leads another training"), std::string::npos) << told[0];
}

TEST(TcpMeeting, OneOfSeveralTrainingsTakesOverAFolderOfOneThatHasEnded) {
  const tests::TemporaryFolder temporary;
  const std::string folder = temporary.path().string();
  std::uint16_t port = 0;
  { port = TcpFounding("127.0.0.1", 0, terms(0, 2)).port(); }
  std::ofstream(temporary / kMeetingFile) << "warpscope meeting\n" << port << "\nold\n127.0.0.1\n";
  std::atomic<int> met = 0, refused = 0;
  std::latch others_refused(3);
  std::vector<std::jthread> leaders;
  for (int i = 0; i < 4; ++i) {
    leaders.emplace_back([&] {
      try {
        meet_at(folder, {0, 2});
        ++met;
      } catch (const core::BadInput& error) {
        EXPECT_TRUE(std::string(error.what()).starts_with("another training waits")) << error.what();
        ++refused;
        others_refused.count_down();
      }
    });
  }
  others_refused.wait();
  EXPECT_EQ(meet_at(folder, {1})->place(), (Place{1, 2}));
  leaders.clear();
  EXPECT_EQ(met, 1);
  EXPECT_EQ(refused, 3);
  EXPECT_TRUE(std::filesystem::is_empty(folder)) << "nothing is left behind";
}

TEST(TcpMeeting, WhoCannotTellWhetherTheOtherTrainingHasEndedLeavesItsFile) {
  const tests::TemporaryFolder temporary;
  const std::filesystem::path file = temporary / kMeetingFile;
  std::ofstream(file) << "warpscope meeting\n5000\nold\nby node1, process 7, since then\nno host.invalid\n";
  const std::string why = refusal([&] { meet_at(temporary.path().string(), {0, 2}); });
  EXPECT_NE(why.find("(node1, process 7, since then), which does not answer here"), std::string::npos) << why;
  EXPECT_NE(why.find("remove " + file.string()), std::string::npos) << why;
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST(TcpMeeting, RanksOfAnotherJobOrWithAnotherTokenDoNotMeetInItsFolder) {
  const tests::TemporaryFolder temporary;
  const std::string folder = temporary.path().string();
  TcpTerms leading = terms(0, 2);
  leading.job = "step 0 of the Slurm job 7";
  const std::jthread leader([&] { EXPECT_EQ(meet_at(folder, leading)->place(), (Place{0, 2})); });
  wait_for_file_in(folder);
  TcpTerms other{1};
  other.job = "step 0 of the Slurm job 8";
  other.patience = std::chrono::milliseconds(0);
  const std::string by_job = refusal([&] { meet_at(folder, other); });
  EXPECT_NE(by_job.find("the ranks of step 0 of the Slurm job 7 meet in " + folder), std::string::npos)
      << by_job;
  const std::string by_token = refusal([&] { meet_at(folder, {1, 0, "another"}); });
  EXPECT_NE(by_token.find("its token is not that of rank 0"), std::string::npos) << by_token;
  TcpTerms own{1};
  own.job = leading.job;
  EXPECT_EQ(meet_at(folder, own)->place(), (Place{1, 2}));
}

}  // namespace
}  // namespace warpscope::ranks::tcp_test
