// Ranks as processes. This program, started again with WARPSCOPE_TEST_ROLE, is not the tests but a part of one.

#include "gpu/ranks/launch.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "gpu/ranks/shared_region.h"
#include "tests/support/adopted_orphans.h"

namespace warpscope::ranks::launch_test {
namespace {

constexpr char kRole[] = "WARPSCOPE_TEST_ROLE";

using Pids = std::vector<pid_t>;

void order(Group& group, std::string_view word) {
  group.send(std::as_bytes(std::span(word)));
}

std::string ordered(Group& group) {
  const std::vector<std::byte> bytes = group.receive();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// What each rank says, by rank.
Pids gather(Group& group, pid_t mine) {
  Pids all(group.place().size);
  group.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

void write_to(int descriptor, std::string_view text) {
  if (::write(descriptor, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::_Exit(9);
}

int open_files() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count - 1;  // the directory itself
}

/// A rank that does what it is ordered.
int follow() {
  const int files = open_files();
  const StartedPlace started = place_from_environment().value();
  const auto meeting = join_meeting(started.meeting, started.place.rank);
  const auto orders = meeting->group(kOrders, {});
  const auto sums = meeting->group(kSums, {});
  sums->note_purpose("step 12");
  for (;;) {
    const std::string word = ordered(*orders);
    if (word == "end") return 0;
    if (word == "who") gather(*sums, ::getpid());
    if (word == "files") gather(*sums, files);
    if (word == "kept") gather(*sums, ::fcntl(started.meeting, F_GETFD) == FD_CLOEXEC);
    if (word == "input")
      gather(*sums, static_cast<pid_t>(::read(STDIN_FILENO, std::array<char, 8>{}.data(), 8)));
    if (word == "write") {
      write_to(STDOUT_FILENO, "to standard output\n");
      write_to(STDERR_FILENO, "one line\nand the start of another");
    }
    if (word == "forever") {
      ::signal(SIGTERM, SIG_IGN);
      gather(*sums, 0);
      for (;;) ::pause();
    }
    if (word == "meet") {
      while (gather(*sums, 0)[0] == 0) {
      }
    }
  }
}

/// Rank 0 of four; writes the ids of its ranks to standard output when all are there, and then does nothing.
int lead() {
  const auto meeting = found_meeting(4);
  const StartedRanks ranks(meeting, {}, {std::string(kRole) + "=follow"});
  const auto orders = meeting->group(kOrders, {});
  order(*orders, "who");
  const Pids all = gather(*meeting->group(kSums, {}), ::getpid());
  write_to(STDOUT_FILENO, {reinterpret_cast<const char*>(all.data()), all.size() * sizeof(pid_t)});
  for (;;) ::pause();
}

int play(std::string_view role) {
  try {
    return role == "lead" ? lead() : follow();
  } catch (const std::exception& error) {
    write_to(STDERR_FILENO, std::string(error.what()) + "\n");
    return 3;
  }
}

/// Before main(), which is that of the tests.
const bool kTests = [] {
  if (const char* const role = std::getenv(kRole)) std::_Exit(play(role));
  return true;
}();

/// Ranks of a test that are ordered about by it.
struct Followers {
  explicit Followers(int size, TellSlow tell_slow = {},
                     std::chrono::milliseconds grace = std::chrono::hours(1))
      : meeting(found_meeting(size)),
        ranks(std::make_unique<StartedRanks>(meeting, std::vector<std::string>{},
                                             std::vector{std::string(kRole) + "=follow"}, grace)),
        orders(meeting->group(kOrders, {})),
        sums(meeting->group(kSums, std::move(tell_slow))) {}

  Pids ask(std::string_view word, pid_t mine) const {
    order(*orders, word);
    return gather(*sums, mine);
  }

  std::shared_ptr<SharedMeeting> meeting;
  std::unique_ptr<StartedRanks> ranks;
  std::unique_ptr<Group> orders;
  std::unique_ptr<Group> sums;
};

bool no_child_is_left() {
  return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD;
}

TEST(StartedRanks, JoinAndDoWhatTheyAreTold) {
  ASSERT_TRUE(kTests);
  Followers followers(4);
  Pids expected = followers.ranks->processes();
  expected.insert(expected.begin(), ::getpid());
  EXPECT_EQ(followers.ask("who", ::getpid()), expected);
  order(*followers.orders, "end");
  followers.ranks.reset();
  EXPECT_EQ(followers.meeting->fate(3), "rank 3 ended");
  EXPECT_TRUE(no_child_is_left());
}

TEST(StartedRanks, InheritTheMeetingAndNoOtherFile) {
  const Descriptor leak(::open("/dev/null", O_RDONLY));  // not closed on exec
  Followers followers(3);
  EXPECT_EQ(followers.ask("files", 4), (Pids{4, 4, 4}));
  EXPECT_EQ(followers.ask("kept", 1), (Pids{1, 1, 1})) << "programs that a rank starts inherit the meeting";
  EXPECT_EQ(followers.ask("input", 0), (Pids{0, 0, 0}));
  order(*followers.orders, "end");
}

TEST(StartedRanks, LinesAppearBehindTheRank) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  {
    Followers followers(2);
    order(*followers.orders, "write");
    order(*followers.orders, "end");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "rank 1: one line\nrank 1: and the start of another\n");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST(StartedRanks, EndByThemselvesWhenRankZeroLeaves) {
  testing::internal::CaptureStderr();
  Followers followers(3);
  followers.ask("who", 0);
  followers.ranks.reset();
  EXPECT_TRUE(no_child_is_left());
  EXPECT_EQ(followers.meeting->fate(1), "rank 1 ended with exit code 3") << "it was killed";
  const std::string lines = testing::internal::GetCapturedStderr();
  EXPECT_NE(lines.find("rank 2: rank 0 ended; it was to come to"), std::string::npos) << lines;
}

TEST(StartedRanks, AreKilledWhereTheyDoNotEnd) {
  Followers followers(3, {}, std::chrono::milliseconds(1));
  followers.ask("forever", 0);
  followers.ranks.reset();
  EXPECT_EQ(followers.meeting->fate(1), "rank 1 was killed by SIGKILL");
  EXPECT_TRUE(no_child_is_left());
}

TEST(StartedRanks, OutliveTheThreadThatAskedForThem) {
  std::unique_ptr<Followers> followers;
  std::thread([&] { followers = std::make_unique<Followers>(3); }).join();
  EXPECT_EQ(followers->ask("who", 0).size(), 3U);
  order(*followers->orders, "end");
  followers->ranks.reset();
  EXPECT_EQ(followers->meeting->fate(2), "rank 2 ended");
}

TEST(StartedRanks, LeaveAnInterruptToRankZero) {
  Followers followers(3);
  for (const pid_t process : followers.ranks->processes()) ::kill(process, SIGINT);
  EXPECT_EQ(followers.ask("who", 0).size(), 3U);
  for (const pid_t process : followers.ranks->processes()) ::kill(process, SIGINT);
  EXPECT_EQ(followers.ask("who", 0).size(), 3U);
  order(*followers.orders, "end");
}

TEST(StartedRanks, OneThatStandsStillBeforeItBeginsIsKilled) {
  Followers followers(2);  // nobody looks there
  ::kill(followers.ranks->processes().front(), SIGSTOP);
  followers.meeting->look(std::chrono::hours(1));
  EXPECT_EQ(followers.meeting->missing(), "") << "it was killed, though it may stand still";
  followers.meeting->set_patience_to_begin(std::chrono::hours(1));
  followers.meeting->look(std::chrono::hours(1));
  EXPECT_THROW(followers.ask("who", 0), RankMissing);
  EXPECT_EQ(followers.meeting->fate(1), "rank 1 stood still for 7200.0 s and was killed");
}

TEST(StartedRanks, OneThatIsStoppedWhileItBeginsIsNamedWithItsProcess) {
  const Followers followers(3);  // nobody looks there
  SharedMeeting& meeting = *followers.meeting;
  const Pids processes = followers.ranks->processes();
  std::vector<std::string> told;
  meeting.tell_silent(
      [&](const std::vector<int>&, const std::string& sentence) { told.push_back(sentence); });
  meeting.set_patience_to_begin(std::chrono::hours(1));
  ::kill(processes[1], SIGSTOP);
  siginfo_t stopped{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(processes[1]), &stopped, WSTOPPED | WNOWAIT), 0);
  const auto look = [&](int times) {
    for (int i = 0; i < times; ++i) meeting.look(std::chrono::milliseconds(100));
  };
  look(6);
  EXPECT_TRUE(told.empty());
  look(3);
  EXPECT_EQ(told, std::vector{fmt::format("rank 2 (pid {}) has not answered within 0.7 s while it begins",
                                          processes[1])});
  look(41);  // the system may start the other one as slowly
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[1],
            fmt::format("rank 1 (pid {}), rank 2 (pid {}) have not answered within 5.0 s while they begin",
                        processes[0], processes[1]));
  for (int rank = 1; rank < 3; ++rank) ++meeting.region()->state().ranks[rank].beats;
  look(1);
  EXPECT_EQ(told.back(), "all ranks answer again");
  meeting.set_patience({});
  look(100);
  EXPECT_EQ(told.size(), 3U) << "those that have begun are named where others wait for them";
  ::kill(processes[1], SIGCONT);
  order(*followers.orders, "end");
}

TEST(StartedRanks, OneThatIsKilledIsNamedByAllOthers) {
  testing::internal::CaptureStderr();
  {
    Followers followers(4);
    followers.sums->note_purpose("step 12");
    order(*followers.orders, "meet");
    for (int round = 0; round < 10; ++round) gather(*followers.sums, 0);
    ::kill(followers.ranks->processes()[1], SIGKILL);
    try {
      for (;;) gather(*followers.sums, 0);
    } catch (const RankMissing& error) {
      EXPECT_EQ(error.ranks(), std::vector{2});
      EXPECT_NE(std::string(error.what()).find("; it was to come to step 12"), std::string::npos)
          << error.what();
    }
  }
  const std::string lines = testing::internal::GetCapturedStderr();
  EXPECT_NE(lines.find("rank 1: rank 2 "), std::string::npos) << lines;
  EXPECT_NE(lines.find("rank 3: rank 2 "), std::string::npos) << lines;
  EXPECT_TRUE(no_child_is_left());
}

TEST(StartedRanks, OneThatStandsStillIsToldAndAllGoOnWithIt) {
  std::vector<std::vector<int>> told;
  pid_t stopped = 0;
  const auto tell = [&](const std::vector<int>& slow, const std::string&) {
    told.push_back(slow);
    if (std::ranges::count(slow, 2) == 1) ::kill(stopped, SIGCONT);
  };
  testing::internal::CaptureStderr();
  {
    Followers followers(3, tell);
    stopped = followers.ranks->processes()[1];
    order(*followers.orders, "meet");
    gather(*followers.sums, 0);
    ::kill(stopped, SIGSTOP);
    while (std::ranges::none_of(told, [](const auto& slow) { return std::ranges::count(slow, 2) == 1; })) {
      gather(*followers.sums, 0);
    }
    gather(*followers.sums, 1);
    EXPECT_EQ(followers.ask("who", 0).size(), 3U);
    order(*followers.orders, "end");
  }
  EXPECT_TRUE(told.back().empty());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(StartedRanks, ThatCannotStartAreAnErrorAndLeaveNothing) {
  const auto meeting = found_meeting(3);
  const std::vector<std::string> too_long{std::string(1 << 20, 'x')};
  try {
    const StartedRanks ranks(meeting, too_long);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const core::Error& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("cannot start rank 1: ")) << error.what();
  }
  EXPECT_TRUE(no_child_is_left());
}

/// A process of its own that leads ranks; what it writes comes out of `output`.
struct Leader {
  Leader() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    output = Descriptor(ends[0]);
    const Descriptor input(ends[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, input.number(), STDOUT_FILENO);
    std::string name = "leader";
    std::string role = std::string(kRole) + "=lead";
    const std::array<char*, 2> arguments{name.data(), nullptr};
    std::vector<char*> environment{role.data()};
    for (char** variable = environ; *variable != nullptr; ++variable) environment.push_back(*variable);
    environment.push_back(nullptr);
    if (::posix_spawn(&process, "/proc/self/exe", &actions, nullptr, arguments.data(), environment.data()) !=
        0) {
      throw std::runtime_error("no process");
    }
    ::posix_spawn_file_actions_destroy(&actions);
  }

  pid_t process = 0;
  Descriptor output;
};

/// Kills the leader, and waits for it and for all that it has left behind, which come to this process. Waits for ever
/// where one of them does not end.
void kill_and_wait_for_all(const Leader& leader) {
  ::kill(leader.process, SIGKILL);
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
}

TEST(RankProcesses, EndWithTheirLeaderWhenItIsKilled) {
  const tests::AdoptedOrphans orphans;
  const Leader leader;
  std::array<pid_t, 4> processes{};
  ASSERT_EQ(::read(leader.output.number(), processes.data(), sizeof(processes)), ssize_t{sizeof(processes)});
  EXPECT_EQ(processes[0], leader.process);
  ::kill(processes[2], SIGSTOP);
  kill_and_wait_for_all(leader);
  for (const pid_t process : processes) EXPECT_EQ(::kill(process, 0), -1) << process << " is still there";
}

TEST(RankProcesses, EndWithTheirLeaderWheneverItIsKilled) {
  const tests::AdoptedOrphans orphans;
  for (int attempt = 0; attempt < 30; ++attempt) {
    const Leader leader;
    std::this_thread::sleep_for(
        std::chrono::microseconds(500 * attempt));  // any moment of starting its ranks
    kill_and_wait_for_all(leader);
  }
}

class PlaceFromEnvironment : public testing::Test {
 protected:
  void TearDown() override { set(nullptr, nullptr, nullptr); }

  static void set(const char* rank, const char* ranks, const char* meeting) {
    const auto one = [](const char* name, const char* value) {
      value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
    };
    one("WARPSCOPE_RANK", rank);
    one("WARPSCOPE_RANKS", ranks);
    one("WARPSCOPE_MEETING", meeting);
  }
};

TEST_F(PlaceFromEnvironment, IsNoneWhereNothingIsSet) {
  EXPECT_FALSE(place_from_environment().has_value());
}

TEST_F(PlaceFromEnvironment, IsWhatWasSet) {
  const Descriptor file(::open("/dev/null", O_RDONLY));
  set("1", "2", ("fd:" + std::to_string(file.number())).c_str());
  const auto started = place_from_environment();
  ASSERT_TRUE(started.has_value());
  EXPECT_EQ(started->place, (Place{1, 2}));
  EXPECT_EQ(started->meeting, file.number());
}

TEST_F(PlaceFromEnvironment, RefusesWhatIsNoPlace) {
  const Descriptor file(::open("/dev/null", O_RDONLY));
  const std::string good = "fd:" + std::to_string(file.number());
  const auto refused = [](const char* rank, const char* ranks, const char* meeting) {
    set(rank, ranks, meeting);
    EXPECT_THROW(place_from_environment(), core::BadInput)
        << (rank ? rank : "") << ", " << (meeting ? meeting : "");
  };
  refused("1", "2", nullptr);
  refused(nullptr, nullptr, good.c_str());
  for (const char* rank : {"0", "2", "-1", "", "1x", "99999999999"}) refused(rank, "2", good.c_str());
  for (const char* ranks : {"1", "65", "two", ""}) refused("1", ranks, good.c_str());
  for (const char* meeting : {"", "3", "fd:", "fd:x", "fd:0", "fd:2", "fd:-1", "fd:9999", "tcp:3"}) {
    refused("1", "2", meeting);
  }
  EXPECT_GE(::fcntl(file.number(), F_GETFD), 0) << "a file was closed that was somebody else's";
}

}  // namespace
}  // namespace warpscope::ranks::launch_test
