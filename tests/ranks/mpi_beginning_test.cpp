// Ranks that mpirun starts and that stand still while they meet or begin. Skipped where mpirun is missing.

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "gpu/core/error.h"
#include "gpu/ranks/looking.h"
#include "gpu/ranks/mpi_library.h"
#include "gpu/ranks/mpi_meeting.h"
#include "tests/support/mpi_ranks.h"

namespace warpscope::ranks::mpi_beginning_test {
namespace {

using MpiBeginning = MpiRanks;

void come_to(Group& group) {
  std::vector<std::byte> all(static_cast<std::size_t>(group.place().size));
  group.all_gather(std::vector<std::byte>(1), all);
}

std::string own_rank_by_launcher() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    if (const char* const rank = std::getenv(name)) return rank;
  }
  return "";
}

// What a rank tells while all meet, with the one that tells it in front.
void write_told(const std::string& sentence) {
  std::printf("by rank %s: %s\n", own_rank_by_launcher().c_str(), sentence.c_str());
  std::fflush(stdout);
}

// The sentences in what all wrote that tell that `rank` does not answer: by itself, or beside others that are slow.
std::vector<std::string> tell_that_it_is_silent(const std::string& text, int rank) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t names = line.find(": ") + 1;
    const bool named = line.find("rank " + std::to_string(rank), names) != std::string::npos;
    if (line.starts_with("by rank ") && named && contains(line, " not answered within "))
      found.push_back(line);
  }
  return found;
}

// Where a rank stops while all meet.
enum class Stop { before_it_greets, before_it_adds_a_channel };

// The same file for all ranks of a job, which tells the process of the one that has stopped.
std::string file_of_the_stopped() {
  return std::string(std::getenv("OMPI_MCA_orte_tmpdir_base")) + "/stopped";
}

// MPI in a process that stops once.
class StoppingMpi final : public Mpi {
 public:
  StoppingMpi(std::unique_ptr<Mpi> mpi, Stop where) : mpi_(std::move(mpi)), where_(where) {}

  Place start() override {
    const Place place = mpi_->start();
    stop_at(Stop::before_it_greets);
    return place;
  }
  MpiRequest add_channel() override {
    stop_at(Stop::before_it_adds_a_channel);
    return mpi_->add_channel();
  }
  MpiRequest send(int channel, int rank, std::span<const std::byte> message) override {
    return mpi_->send(channel, rank, message);
  }
  MpiRequest receive(int channel, int rank, std::span<std::byte> message) override {
    return mpi_->receive(channel, rank, message);
  }
  MpiRequest receive_from_any(int channel, std::span<std::byte> message) override {
    return mpi_->receive_from_any(channel, message);
  }
  MpiRequest all_gather(int channel, std::span<const std::byte> mine, std::span<std::byte> all) override {
    return mpi_->all_gather(channel, mine, all);
  }
  MpiRequest all_to_all(int channel, std::span<const std::byte> to, std::span<std::byte> from) override {
    return mpi_->all_to_all(channel, to, from);
  }
  bool done(MpiRequest& request) override { return mpi_->done(request); }
  void cancel(MpiRequest& request) override { mpi_->cancel(request); }
  void finalize() override { mpi_->finalize(); }
  [[noreturn]] void abort(int code) override {
    mpi_->abort(code);
    std::_Exit(code);
  }

 private:
  void stop_at(Stop where) {
    if (std::exchange(stopped_, stopped_ || where == where_) || where != where_) return;
    std::ofstream(file_of_the_stopped()) << ::getpid() << std::endl;
    ::raise(SIGSTOP);
  }

  std::unique_ptr<Mpi> mpi_;
  Stop where_;
  bool stopped_ = false;
};

// The rank that stops goes on once it is named, or, where it is given up, never.
enum class Then { goes_on, is_given_up };

// Four ranks meet, of which this one stops.
void meet_with_one_that_stops(int stopping, Stop where, Then then) {
  const auto tell = [stopping, then](const std::vector<int>& ranks, const std::string& sentence) {
    write_told(sentence);
    if (then == Then::is_given_up || !holds(ranks, stopping)) return;
    pid_t stopped = 0;  // a slow one may be named before it has stopped
    while (!(std::ifstream(file_of_the_stopped()) >> stopped))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    wait_until_stopped(stopped);
    ::kill(stopped, SIGCONT);
  };
  MpiTerms terms{.tell = tell};
  if (then == Then::is_given_up) terms.patience = std::chrono::seconds(1);
  const bool stops = own_rank_by_launcher() == std::to_string(stopping);
  std::unique_ptr<Mpi> mpi = mpi_of_launcher();
  if (stops) mpi = std::make_unique<StoppingMpi>(std::move(mpi), where);
  const auto meeting = meet_by(std::move(mpi), terms);
  const auto group = meeting->group(kSums, nullptr);
  come_to(*group);
}

TEST_F(MpiBeginning, OneThatDoesNotStartMpiIsWaitedForWithASentenceAndThenAllEnd) {
  if (inside()) {
    if (own_rank_by_launcher() == "2") ::raise(SIGSTOP);
    const auto tell = [](const std::vector<int>&, const std::string& sentence) {
      std::printf("%s\n", sentence.c_str());
      std::fflush(stdout);
    };
    meet_by_mpi({.patience = std::chrono::milliseconds(500),
                 .start_within = std::chrono::milliseconds(10),
                 .tell = tell});
    return;
  }
  Program job(under_mpirun(4));
  EXPECT_EQ(job.wait(), 1) << job.text();
  const std::string& text = job.text();
  EXPECT_TRUE(contains(text, "MPI waits for ranks that have not started it; it does not say which\n"))
      << text;
  EXPECT_TRUE(contains(text, "MPI waits for ranks that have not started it: not all have come within "))
      << text;
}

TEST_F(MpiBeginning, OneThatIsStoppedBeforeItGreetsTheOthersIsNamedAndAllGoOn) {
  if (inside()) return meet_with_one_that_stops(2, Stop::before_it_greets, Then::goes_on);
  Program job(under_mpirun(4));
  EXPECT_EQ(job.wait(), 0) << job.text();
  const std::string& text = job.text();
  const std::vector<std::string> told = tell_that_it_is_silent(text, 2);
  ASSERT_FALSE(told.empty()) << text;
  EXPECT_TRUE(told[0].ends_with("; the others wait for the meeting of all ranks by MPI")) << text;
  EXPECT_TRUE(contains(text, "all ranks answer again")) << text;
}

TEST_F(MpiBeginning, OneThatIsStoppedBeforeItAddsAChannelIsNamedAndAllGoOn) {
  if (inside()) return meet_with_one_that_stops(1, Stop::before_it_adds_a_channel, Then::goes_on);
  Program job(under_mpirun(4));
  EXPECT_EQ(job.wait(), 0) << job.text();
  const std::string& text = job.text();
  EXPECT_FALSE(tell_that_it_is_silent(text, 1).empty()) << text;
  EXPECT_TRUE(contains(text, "all ranks answer again")) << text;
}

TEST_F(MpiBeginning, RankOneNamesRankZeroThatIsStoppedWhileAllMeet) {
  if (inside()) return meet_with_one_that_stops(0, Stop::before_it_greets, Then::goes_on);
  Program job(under_mpirun(4));
  EXPECT_EQ(job.wait(), 0) << job.text();
  const std::string& text = job.text();
  const std::vector<std::string> told = tell_that_it_is_silent(text, 0);
  EXPECT_FALSE(told.empty()) << text;
  for (const std::string& line : told) {
    const bool one_is_silent_too = contains(line, "rank 0, rank 1");
    EXPECT_TRUE(line.starts_with("by rank 1: ") || one_is_silent_too) << "told by several: " << text;
  }
}

TEST_F(MpiBeginning, OneThatStandsStillForTooLongWhileAllMeetEndsThem) {
  if (inside()) return meet_with_one_that_stops(2, Stop::before_it_greets, Then::is_given_up);
  Program job(under_mpirun(4));
  EXPECT_EQ(job.wait(), 1) << job.text();
  const std::string& text = job.text();
  EXPECT_FALSE(tell_that_it_is_silent(text, 2).empty()) << text;
  EXPECT_TRUE(contains(text, "rank 2 stood still for 1.")) << text;
  EXPECT_TRUE(contains(text, "; it was to come to the meeting of all ranks by MPI")) << text;
}

TEST_F(MpiBeginning, OneThatIsStoppedWhileItBeginsIsNamedAndAllGoOn) {
  all_do([](Meeting& meeting) {
    const auto group = meeting.group(kSums, nullptr);
    const auto all = processes(*group);
    const int rank = meeting.place().rank;
    if (rank == 2) ::raise(SIGSTOP);
    if (rank == 0) {
      wait_until_stopped(all[2]);
      std::vector<std::string> told;
      meeting.tell_silent(
          [&](const std::vector<int>&, const std::string& sentence) { told.push_back(sentence); });
      meeting.set_patience_to_begin(std::chrono::hours(1));
      meeting.look({});  // asks them
      while (told.empty()) meeting.look(std::chrono::milliseconds(100));
      ::kill(all[2], SIGCONT);
      while (told.back() != "all ranks answer again") meeting.look({});
      EXPECT_TRUE(std::ranges::any_of(told, [](const std::string& sentence) {
        return contains(sentence, "rank 2") && contains(sentence, "not answered within 0.7 s while");
      })) << told.front();
    }
    come_to(*group);
  });
}

TEST_F(MpiBeginning, OneThatStandsStillForTooLongWhileItBeginsEndsAll) {
  const auto [code, text] = ends_badly([](Meeting& meeting) {
    const auto group = meeting.group(kSums, nullptr);
    const auto all = processes(*group);
    group->note_purpose("the beginning of the training");
    if (meeting.place().rank == 2) ::raise(SIGSTOP);
    std::optional<Looking> looking;
    if (meeting.place().leads()) {
      wait_until_stopped(all[2]);
      meeting.set_patience_to_begin(std::chrono::seconds(1));
      looking.emplace(meeting);
    }
    try {
      come_to(*group);
    } catch (const RankMissing& missing) {
      EXPECT_TRUE(holds(missing.ranks(), 2));
      std::printf("%s\n", missing.what());
      looking.reset();
      std::exit(1);
    }
  });
  if (inside()) return;
  EXPECT_EQ(code, 1) << text;
  EXPECT_TRUE(contains(text, " stood still for 1.")) << text;
  EXPECT_TRUE(contains(text, "to come to the beginning of the training")) << text;
}

}  // namespace
}  // namespace warpscope::ranks::mpi_beginning_test
