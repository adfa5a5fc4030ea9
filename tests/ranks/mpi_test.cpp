// Ranks that mpirun starts. A test starts itself again under mpirun, and what all ranks do is its body. Skipped where
// mpirun is missing.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/core/error.h"
#include "gpu/ranks/mpi_meeting.h"
#include "gpu/ranks/slurm.h"
#include "tests/support/adopted_orphans.h"
#include "tests/support/mpi_ranks.h"

namespace warpscope::ranks::mpi_test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes pattern(std::size_t size, int seed) {
  Bytes bytes(size);
  std::uint32_t value = static_cast<std::uint32_t>(seed) * 2654435761U + 1;
  for (std::byte& byte : bytes) {
    value = value * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(value >> 24U);
  }
  return bytes;
}

// Rank `from` gives this to rank `to`.
Bytes block(std::size_t size, int from, int to) {
  return pattern(size, from * 100 + to);
}

void append(Bytes& bytes, const Bytes& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

void messages_come(Group& group, const std::vector<std::size_t>& sizes) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Bytes message = pattern(sizes[i], static_cast<int>(i));
    if (group.place().leads()) {
      group.send(message);
    } else {
      EXPECT_TRUE(group.receive() == message) << "message " << i << " of " << sizes[i] << " bytes";
    }
  }
}

void bytes_are_exchanged(Group& group, const std::vector<std::size_t>& sizes) {
  const auto [rank, ranks] = group.place();
  for (const std::size_t size : sizes) {
    Bytes gathered;
    Bytes to;
    Bytes from;
    for (int other = 0; other < ranks; ++other) {
      append(gathered, block(size, other, other));
      append(to, block(size, rank, other));
      append(from, block(size, other, rank));
    }
    Bytes all(gathered.size());
    group.all_gather(block(size, rank, rank), all);
    EXPECT_TRUE(all == gathered) << size;
    Bytes taken(from.size());
    group.all_to_all(to, taken);
    EXPECT_TRUE(taken == from) << size;
    Bytes theirs(size);  // of two of the four
    group.trade(1, 3, block(size, rank, rank), theirs);
    EXPECT_TRUE(theirs == (rank % 2 == 1 ? block(size, 4 - rank, 4 - rank) : Bytes(size))) << size;
  }
}

// Memory that it shares with others has no name that could be left behind.
void expect_no_shared_files(pid_t process) {
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    EXPECT_TRUE(!contains(line, "/dev/shm/") || line.ends_with("(deleted)")) << line;
  }
}

TEST_F(MpiRanks, MessagesComeInOrderAndWhole) {
  all_do([](Meeting& meeting) {
    const auto group = meeting.group(kOrders, nullptr);
    messages_come(*group, {0, 1, 4087, 4088, 4089, 0, 100003, 5000001, 7, std::size_t{20} << 20, 3});
    messages_come(*group, std::vector<std::size_t>(500, 11));
  });
}

TEST_F(MpiRanks, MessagesComeInPieces) {
  all_do(
      [](Meeting& meeting) {
        messages_come(*meeting.group(kOrders, nullptr), {0, 1, 5089, 5095, 5096, 5097, 9000});
      },
      1000);
}

TEST_F(MpiRanks, BlocksOfAnySizeAreExchanged) {
  all_do([](Meeting& meeting) {
    bytes_are_exchanged(*meeting.group(kSums, nullptr), {0, 1, 3, 1021, 4097, 300007, 3000001});
  });
}

TEST_F(MpiRanks, BlocksAreExchangedInPieces) {
  all_do(
      [](Meeting& meeting) {
        bytes_are_exchanged(*meeting.group(kSums, nullptr), {0, 1, 249, 250, 251, 3333});
      },
      1000);
}

TEST_F(MpiRanks, GroupsDoNotMixWhenTwoThreadsUseThem) {
  all_do([](Meeting& meeting) {
    const auto orders = meeting.group(kOrders, nullptr);
    const auto sums = meeting.group(kSums, nullptr);
    std::thread other([&] {
      for (int i = 0; i < 20; ++i) bytes_are_exchanged(*sums, {17, 30001});
    });
    for (int i = 0; i < 20; ++i) {
      messages_come(*orders, {5, 70001});
      bytes_are_exchanged(*orders, {1, 20011});
    }
    other.join();
  });
}

TEST_F(MpiRanks, WhatCannotBeIsRefusedAndTheGroupGoesOn) {
  all_do([](Meeting& meeting) {
    EXPECT_THROW(meet_by_mpi(), core::BadInput);
    EXPECT_THROW(meeting.group(2, nullptr), core::BadInput);
    EXPECT_THROW(meeting.group(-1, nullptr), core::BadInput);
    const auto group = meeting.group(kSums, nullptr);
    EXPECT_THROW(meeting.group(kSums, nullptr), core::BadInput);
    Bytes seven(7);
    Bytes eight(8);
    EXPECT_THROW(group->all_gather(seven, seven), core::BadInput);
    EXPECT_THROW(group->all_to_all(seven, seven), core::BadInput);
    EXPECT_THROW(group->all_to_all(seven, eight), core::BadInput);
    if (group->place().leads()) {
      EXPECT_THROW(group->receive(), core::BadInput);
    } else {
      EXPECT_THROW(group->send(seven), core::BadInput);
    }
    bytes_are_exchanged(*group, {5});
  });
}

TEST_F(MpiRanks, ARankThatIsStoppedIsNamedAndAllGoOn) {
  all_do([](Meeting& meeting) {
    std::vector<pid_t> all;
    std::vector<std::vector<int>> told;
    std::vector<std::string> sentences;
    TellSlow tell = [&](const std::vector<int>& ranks, const std::string& sentence) {
      told.push_back(ranks);
      sentences.push_back(sentence);
      if (holds(ranks, 2)) ::kill(all.at(2), SIGCONT);
    };
    const auto group = meeting.group(kSums, meeting.place().leads() ? tell : nullptr);
    all = processes(*group);
    group->note_purpose("the gradients of step 12");
    const auto [rank, ranks] = group->place();
    if (rank == 2) ::raise(SIGSTOP);
    bytes_are_exchanged(*group, {1000, 100000});
    if (rank != 0) return;
    ASSERT_EQ(told.size(), 2U);
    EXPECT_TRUE(holds(told[0], 2)) << sentences[0];
    EXPECT_TRUE(contains(sentences[0], "not come to the gradients of step 12 within")) << sentences[0];
    EXPECT_TRUE(told[1].empty()) << sentences[1];
    EXPECT_TRUE(contains(sentences[1], "all ranks have come to the gradients of step 12")) << sentences[1];
  });
}

TEST_F(MpiRanks, ARankThatIsBusyElsewhereIsNamed) {
  all_do([](Meeting& meeting) {
    const auto orders = meeting.group(kOrders, nullptr);
    bool named = false;
    // Rank 3 comes when it is told that it has been named.
    TellSlow tell = [&](const std::vector<int>& ranks, const std::string& sentence) {
      if (!holds(ranks, 3)) return;
      named = true;
      EXPECT_TRUE(contains(sentence, "not come to the sums within")) << sentence;
      orders->send(Bytes(3));
    };
    const auto sums = meeting.group(kSums, meeting.place().leads() ? tell : nullptr);
    sums->note_purpose("the sums");
    const int rank = meeting.place().rank;
    if (rank == 3) {
      EXPECT_EQ(orders->receive().size(), 3U);
    }
    bytes_are_exchanged(*sums, {10});
    EXPECT_EQ(named, rank == 0);
    if (rank == 1 || rank == 2) {
      EXPECT_EQ(orders->receive().size(), 3U);
    }
  });
}

TEST_F(MpiRanks, AStoppedRankDoesNotHoldMessagesToOthers) {
  all_do([](Meeting& meeting) {
    const auto sums = meeting.group(kSums, nullptr);
    const auto orders = meeting.group(kOrders, nullptr);
    const auto all = processes(*sums);
    const int rank = meeting.place().rank;
    if (rank == 1) ::raise(SIGSTOP);
    if (rank == 0) wait_until_stopped(all[1]);
    messages_come(*orders, {100, 1000000, 10, 1000000});
    if (rank == 3) ::kill(all[1], SIGCONT);
    bytes_are_exchanged(*sums, {10});
  });
}

TEST_F(MpiRanks, ARankThatExitsEarlyEndsAll) {
  const auto [code, text] = ends_badly([](Meeting& meeting) {
    const auto orders = meeting.group(kOrders, nullptr);
    const auto sums = meeting.group(kSums, nullptr);
    bytes_are_exchanged(*sums, {10});
    const int rank = meeting.place().rank;
    if (rank == 1) {
      std::printf("the last words");
      std::exit(3);
    }
    if (rank == 3) orders->receive();
    bytes_are_exchanged(*sums, {10});
  });
  if (inside()) return;
  EXPECT_EQ(code, 3) << text;
  EXPECT_TRUE(contains(text, "Rank 1 of 4 ended with code 3, so all ranks end.")) << text;
  EXPECT_TRUE(contains(text, "the last words")) << text;
}

TEST_F(MpiRanks, ARankThatIsDoneEarlyIsMissed) {
  const auto [code, text] = ends_badly([](Meeting& meeting) {
    const auto group = meeting.group(kSums, nullptr);
    bytes_are_exchanged(*group, {10});
    group->note_purpose("the gradients of step 12");
    if (meeting.place().rank == 1) return;
    try {
      bytes_are_exchanged(*group, {1000});
    } catch (const RankMissing& missing) {
      std::printf("%s\n", missing.what());
      EXPECT_EQ(missing.ranks(), std::vector<int>{1});
      // Nothing more can be done with it, and an exit code of 0 does not hide that.
      EXPECT_THROW(bytes_are_exchanged(*group, {10}), core::Error);
      std::exit(0);
    }
  });
  if (inside()) return;
  EXPECT_EQ(code, 1) << text;
  EXPECT_TRUE(contains(text, "rank 1 has ended before the gradients of step 12")) << text;
}

TEST_F(MpiRanks, ALeaderThatIsDoneEarlyIsMissed) {
  const auto [code, text] = ends_badly([](Meeting& meeting) {
    const auto group = meeting.group(kOrders, nullptr);
    group->note_purpose("the next order");
    if (meeting.place().leads()) return group->send(Bytes(10000));
    EXPECT_EQ(group->receive().size(), 10000U);
    try {
      group->receive();
    } catch (const RankMissing& missing) {
      std::printf("%s\n", missing.what());
      std::exit(5);
    }
  });
  if (inside()) return;
  EXPECT_EQ(code, 5) << text;
  EXPECT_TRUE(contains(text, "rank 0 has ended before the next order")) << text;
}

TEST_F(MpiRanks, ARankThatIsKilledEndsAll) {
  ends_badly([](Meeting& meeting) {
    const auto group = meeting.group(kSums, nullptr);
    bytes_are_exchanged(*group, {10});
    if (meeting.place().rank == 2) ::raise(SIGKILL);
    bytes_are_exchanged(*group, {10});
  });
}

TEST_F(MpiRanks, ARankThatStandsStillForTooLongEndsAll) {
  const auto [code, text] = ends_badly([](Meeting& meeting) {
    const auto group = meeting.group(kSums, nullptr);
    group->note_purpose("the gradients of step 12");
    if (meeting.place().leads()) meeting.set_patience(std::chrono::milliseconds(1));
    if (meeting.place().rank == 2) ::raise(SIGSTOP);
    try {
      bytes_are_exchanged(*group, {10});
    } catch (const RankMissing& missing) {
      EXPECT_TRUE(holds(missing.ranks(), 2));
      std::printf("%s\n", missing.what());
      std::exit(1);
    }
  });
  if (inside()) return;
  EXPECT_EQ(code, 1) << text;
  EXPECT_TRUE(contains(text, " stood still for ")) << text;
  EXPECT_TRUE(contains(text, "to come to the gradients of step 12")) << text;
}

TEST_F(MpiRanks, RanksEndWhenTheLauncherIsKilled) {
  if (inside()) {
    const auto group = meet_by_mpi()->group(kOrders, nullptr);
    const auto all = processes(*group);
    if (!group->place().leads()) {
      group->receive();
      return;
    }
    std::printf("\nranks:");
    for (const pid_t process : all) std::printf(" %d", process);
    std::printf("\n");
    std::fflush(stdout);
    for (;;) ::pause();
  }
  // Its own files, which a killed launcher cannot remove, are removed here.
  std::string folder = testing::TempDir() + "mpi_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  ::setenv("OMPI_MCA_orte_tmpdir_base", folder.c_str(), 1);
  Program job(under_mpirun(4));
  ::unsetenv("OMPI_MCA_orte_tmpdir_base");
  std::string line;
  while (job.read_line(line) && !line.starts_with("ranks: ")) {
  }
  std::istringstream numbers(line.substr(std::min<std::size_t>(line.size(), 7)));
  std::vector<pid_t> all;
  for (pid_t process = 0; numbers >> process;) all.push_back(process);
  ASSERT_EQ(all.size(), 4U) << job.text();
  for (const pid_t process : all) expect_no_shared_files(process);
  const tests::AdoptedOrphans orphans;  // what the launcher started becomes a child of this process
  ::kill(job.process(), SIGKILL);
  job.wait();
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
  for (const pid_t process : all) EXPECT_TRUE(::kill(process, 0) != 0 && errno == ESRCH) << process;
  std::filesystem::remove_all(folder);
}

TEST_F(MpiRanks, TwoJobsDoNotMeet) {
  if (inside()) {
    const auto group = meet_by_mpi()->group(kSums, nullptr);
    const pid_t launcher = ::getppid();
    for (int i = 0; i < 200; ++i) {
      std::vector<pid_t> all(static_cast<std::size_t>(group->place().size));
      group->all_gather(std::as_bytes(std::span(&launcher, 1)), std::as_writable_bytes(std::span(all)));
      ASSERT_EQ(all, std::vector<pid_t>(3, launcher));
    }
    return;
  }
  Program first(under_mpirun(3));
  Program second(under_mpirun(3));
  EXPECT_EQ(first.wait(), 0) << first.text();
  EXPECT_EQ(second.wait(), 0) << second.text();
}

// What is said where a launcher has set these and nothing else of its kind.
bool started_with(const std::vector<std::pair<const char*, const char*>>& values) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMI_FD", "PMIX_RANK",
                           "PMIX_NAMESPACE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_PROCID"}) {
    ::unsetenv(name);
  }
  for (const auto& [name, value] : values) ::setenv(name, value, 1);
  return started_by_mpi();
}

TEST(MpiLauncher, IsKnownByWhatItSets) {
  EXPECT_FALSE(started_with({}));
  EXPECT_TRUE(started_with({{"OMPI_COMM_WORLD_SIZE", "4"}}));
  EXPECT_TRUE(started_with({{"PMI_SIZE", "2"}, {"PMI_RANK", "0"}}));
  EXPECT_TRUE(started_with({{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "slurm.pmix.7.0"}}));
  EXPECT_TRUE(started_with({{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "a"}, {"SLURM_NTASKS", "8"}}));
}

TEST(MpiLauncher, IsNotSeenWhereOneRankIsAllOrNothingJoinsThem) {
  EXPECT_FALSE(started_with({{"OMPI_COMM_WORLD_SIZE", "1"}}));
  EXPECT_FALSE(started_with({{"PMI_SIZE", "1"}}));
  EXPECT_FALSE(started_with({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}}));
  EXPECT_FALSE(started_with({{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "a"}, {"SLURM_STEP_NUM_TASKS", "1"}}));
  EXPECT_FALSE(started_with({}));
  EXPECT_THROW(meet_by_mpi(), core::BadInput);
}

TEST(SlurmStep, SaysWhichOfSeveralProcessesThisIs) {
  EXPECT_FALSE(started_with({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "2"}}));
  EXPECT_EQ(place_in_slurm_step(), (Place{2, 4}));
  started_with({{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}});
  EXPECT_EQ(place_in_slurm_step(), std::nullopt);
  started_with({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}});  // a batch script
  EXPECT_EQ(place_in_slurm_step(), std::nullopt);
}

}  // namespace
}  // namespace warpscope::ranks::mpi_test
