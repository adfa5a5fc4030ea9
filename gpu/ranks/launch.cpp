#include "gpu/ranks/launch.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <future>
#include <string_view>

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "gpu/core/require.h"
#include "gpu/ranks/rank_process.h"
#include "gpu/ranks/shared_region.h"

namespace warpscope::ranks {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kLastWords(1000);  // for standard error to take what ranks wrote at last
constexpr std::chrono::milliseconds kEndCheck(50);     // where the system tells nobody that a process ends
constexpr std::size_t kWaitingLines = 256;             // that standard error has not taken

/// Passes lines on to standard error, a piece at a time that it takes without waiting.
class Speaker {
 public:
  void add(std::vector<std::string> lines) {
    for (std::string& line : lines) waiting_.push_back(std::move(line));
  }
  bool silent() const { return waiting_.empty(); }
  bool full() const { return waiting_.size() >= kWaitingLines; }
  /// Only where standard error is ready.
  void speak() {
    std::string& line = waiting_.front();
    const ssize_t count = ::write(STDERR_FILENO, line.data(), line.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    line.erase(0, count < 0 ? line.size() : static_cast<std::size_t>(count));
    if (line.empty()) waiting_.pop_front();
  }

 private:
  std::deque<std::string> waiting_;
};

/// What the thread does that has started ranks.
class Keeper {
 public:
  Keeper(SharedMeeting& meeting, int stop, std::chrono::milliseconds grace)
      : meeting_(meeting), stop_(stop), grace_(grace) {}

  void start(RankCommand command, std::vector<pid_t>& processes);
  void keep();

 private:
  bool all_ended() const;
  std::chrono::milliseconds patience() const;
  void look();
  void end();

  SharedMeeting& meeting_;
  int stop_;
  std::chrono::milliseconds grace_;
  std::vector<RankProcess> ranks_;
  Speaker speaker_;
  bool stopping_ = false;
  Clock::time_point deadline_;
};

void Keeper::start(RankCommand command, std::vector<pid_t>& processes) {
  try {
    for (int rank = 1; rank < command.place.size; ++rank) {
      command.place.rank = rank;
      processes.push_back(ranks_.emplace_back(command).id());
      meeting_.note_process(rank, processes.back());
    }
  } catch (...) {
    end();
    throw;
  }
}

bool Keeper::all_ended() const {
  for (const RankProcess& rank : ranks_) {
    if (!rank.ended()) return false;
  }
  return true;
}

std::chrono::milliseconds Keeper::patience() const {
  using std::chrono::milliseconds;
  milliseconds result = milliseconds::max();
  for (const RankProcess& rank : ranks_) {
    if (!rank.ended() && rank.end() < 0) result = kEndCheck;
  }
  if (!stopping_) return result;
  return std::clamp(std::chrono::ceil<milliseconds>(deadline_ - Clock::now()), milliseconds(0), result);
}

/// Waits for the next thing to happen, and does what follows from it.
void Keeper::look() {
  std::vector<pollfd> entries;
  if (!stopping_) entries.push_back({stop_, POLLIN, 0});
  if (!speaker_.silent()) entries.push_back({STDERR_FILENO, POLLOUT, 0});
  for (const RankProcess& rank : ranks_) {
    entries.push_back({rank.end(), POLLIN, 0});
    // Ranks that write faster than standard error takes it wait, as they would if they wrote to it themselves.
    if (!speaker_.full()) entries.push_back({rank.errors(), POLLIN, 0});
  }
  const auto most = patience();
  ::poll(entries.data(), entries.size(), most == most.max() ? -1 : static_cast<int>(most.count()));

  for (const pollfd& entry : entries) {
    if (entry.revents == 0) continue;
    if (entry.fd == stop_) {
      stopping_ = true;
      deadline_ = Clock::now() + grace_;
    } else if (entry.fd == STDERR_FILENO) {
      speaker_.speak();
    }
  }
  for (RankProcess& rank : ranks_) {
    if (const auto status = rank.reap()) meeting_.mark_ended(rank.rank(), *status);
    if (!speaker_.full() && rank.errors() >= 0) speaker_.add(rank.lines(rank.ended()));
  }
}

void Keeper::keep() {
  while (!stopping_ || (!all_ended() && Clock::now() < deadline_)) look();
  end();
}

/// Kills those that are left and passes on what all of them wrote.
void Keeper::end() {
  for (const RankProcess& rank : ranks_) rank.kill();
  for (RankProcess& rank : ranks_) {
    if (const auto status = rank.reap(true)) meeting_.mark_ended(rank.rank(), *status);
    if (rank.errors() >= 0) speaker_.add(rank.lines(true));
  }
  const auto deadline = Clock::now() + kLastWords;
  while (!speaker_.silent() && Clock::now() < deadline) {
    pollfd entry{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&entry, 1, static_cast<int>(kEndCheck.count())) == 1) speaker_.speak();
  }
}

/// Signals of the process are for its other threads while this lives: what starts in it inherits that.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<StartedPlace> place_from_environment() {
  const char* const rank = std::getenv(kRankVariable);
  const char* const ranks = std::getenv(kRanksVariable);
  const char* const meeting = std::getenv(kMeetingVariable);
  if (rank == nullptr && ranks == nullptr && meeting == nullptr) return std::nullopt;
  const auto valid = [](bool is) {
    core::require(
        is, "what {}, {} and {} hold is not from this program, which sets them for its ranks; unset them",
        kRankVariable, kRanksVariable, kMeetingVariable);
  };
  valid(rank != nullptr && ranks != nullptr && meeting != nullptr);
  std::string_view number = meeting;
  valid(number.starts_with(kDescriptorPrefix));
  number.remove_prefix(std::string_view(kDescriptorPrefix).size());
  const auto own = whole_number(rank);
  const auto size = whole_number(ranks);
  const auto descriptor = whole_number(number);
  valid(own && size && descriptor);
  valid(*size <= kMostSharing && *own >= 1 && *own < *size);
  valid(*descriptor > STDERR_FILENO && ::fcntl(*descriptor, F_GETFD) >= 0);
  return StartedPlace{{*own, *size}, *descriptor};
}

StartedRanks::StartedRanks(std::shared_ptr<SharedMeeting> meeting, const std::vector<std::string>& arguments,
                           const std::vector<std::string>& environment, std::chrono::milliseconds grace)
    : meeting_(std::move(meeting)), stop_(past_standard_ones(Descriptor(::eventfd(0, EFD_CLOEXEC)))) {
  core::require(meeting_->descriptor() >= 0, "only rank 0 starts ranks");
  if (!stop_.open())
    throw core::Error(fmt::format("cannot start ranks: {}; close files", std::strerror(errno)));
  std::promise<void> promise;
  std::future<void> started = promise.get_future();
  const SignalsBlocked blocked;
  keeper_ = std::thread([&, grace, promise = std::move(promise)]() mutable {
    // What the constructor's frame holds is used only before the promise is kept.
    Keeper keeper(*meeting_, stop_.number(), grace);
    try {
      keeper.start({meeting_->place(), meeting_->descriptor(), arguments, environment}, processes_);
    } catch (...) {
      promise.set_exception(std::current_exception());
      return;
    }
    promise.set_value();
    keeper.keep();
  });
  try {
    started.get();
  } catch (...) {
    keeper_.join();
    throw;
  }
}

StartedRanks::~StartedRanks() {
  meeting_->leave();
  const std::uint64_t once = 1;
  [[maybe_unused]] const ssize_t written = ::write(stop_.number(), &once, sizeof(once));
  keeper_.join();
}

}  // namespace warpscope::ranks
