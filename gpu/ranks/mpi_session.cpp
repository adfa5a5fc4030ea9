#include "gpu/ranks/mpi_session.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <stop_token>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/core/host_memory.h"

namespace warpscope::ranks {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// How long bytes that all should have taken may stay here once all others have ended.
constexpr seconds kLastBytes(2);

// How long a launcher may take to read a rank's last words.
constexpr milliseconds kMpiLastWords(100);

// How often those that begin are asked whether they live.
constexpr milliseconds kLookInterval(150);

constexpr char kMeet[] = "the meeting of all ranks by MPI";

// How often MPI is called where no group calls it.
constexpr Clock::duration kTend = milliseconds(10);

// The file of the memory by which Open MPI shares bytes with ranks of this host; empty where there is none.
std::string file_of_shared_memory() {
  const char* place_on_host = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK");
  if (place_on_host == nullptr) return {};
  const std::string end = std::string(".") + place_on_host;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t begin = line.find("/dev/shm/");
    const bool is_mpi = line.find("/vader_segment.") != line.npos || line.find("/sm_segment.") != line.npos;
    if (begin != line.npos && is_mpi && line.ends_with(end)) return line.substr(begin);
  }
  return {};
}

// While it lives, MPI starts, which waits for all ranks without a time-out and does not say for which. Rank 0 tells
// that it waits. In the end a process can only end, which the launcher sees: first rank 0, the others a little later.
class StartWatch {
 public:
  explicit StartWatch(const MpiTerms& terms)
      : thread_([&terms](const std::stop_token& stop) {
          std::mutex mutex;
          std::condition_variable_any ends;
          std::unique_lock lock(mutex);
          const auto started_within = [&](milliseconds most) {
            return ends.wait_for(lock, stop, most, [&stop] { return stop.stop_requested(); });
          };
          const bool tells = terms.rank == 0 && terms.tell;
          if (tells && started_within(terms.start_within)) return;
          if (tells) terms.tell({}, fmt::format("{}; it does not say which", kStarts));
          const milliseconds told_after = tells ? terms.start_within : milliseconds(0);
          const milliseconds left = std::max(terms.patience - told_after, milliseconds(0));
          if (terms.patience.count() == 0 || started_within(left + terms.rank * kTurn)) return;
          std::fprintf(stderr, "%s: not all have come within %.0f s, so all ranks end.\n", kStarts,
                       std::chrono::duration<double>(terms.patience).count());
          std::fflush(nullptr);
          _exit(1);
        }) {}

 private:
  static constexpr char kStarts[] = "MPI waits for ranks that have not started it";
  static constexpr milliseconds kTurn{500};
  std::jthread thread_;
};

}  // namespace

void rest(Clock::duration waited) {
  if (waited < microseconds(50)) return std::this_thread::yield();
  const auto soon = std::min<Clock::duration>(waited / 8, microseconds(200));
  const auto later = std::min<Clock::duration>(waited / 500, milliseconds(10));
  std::this_thread::sleep_for(std::max(soon, later));
}

std::string names_of(const std::vector<int>& ranks) {
  std::string names = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) names += i + 1 == ranks.size() ? " and " : ", ";
    names += std::to_string(ranks[i]);
  }
  return names;
}

MpiSession::MpiSession(std::unique_ptr<Mpi> mpi, MpiTerms terms)
    : mpi_(std::move(mpi)), terms_(std::move(terms)), process_(getpid()), last_send_(Clock::now()) {}

void MpiSession::start() {
  whole([this] {
    begin();
    greet();
    add_channels();
  });
  // Nobody opens it any more, and a launcher that is killed would leave it behind.
  shared_file_ = file_of_shared_memory();
  if (!shared_file_.empty()) ::unlink(shared_file_.c_str());
  tender_ = std::thread([this] { tend(); });
}

void MpiSession::begin() {
  {
    const StartWatch watch(terms_);
    place_ = mpi_->start();
  }
  // From here on the others must hear how this process ends.
  if (on_exit(leave, this) != 0) throw core::Error("This process cannot tell the other ranks when it ends");
  own_.rank = static_cast<std::uint64_t>(place_.rank);
  heard_.resize(static_cast<std::size_t>(place_.size));
  unanswered_.resize(static_cast<std::size_t>(place_.size), false);
  answers_.resize(static_cast<std::size_t>(place_.size));
  listening_ = mpi_->receive_from_any(kWords, std::as_writable_bytes(std::span(&incoming_, 1)));
}

std::uint64_t MpiSession::enter(int group) {
  const std::lock_guard lock(mutex_);
  return ++own_.entered[static_cast<std::size_t>(group)];
}

bool MpiSession::exchanged(MpiRequest& request, int group, const std::string& purpose) {
  return locked([&](Mpi& mpi) {
    if (mpi.done(request)) return true;
    listen();
    throw_if_given_up(purpose);
    const auto number = static_cast<std::size_t>(group);
    std::vector<int> missing;
    for (const int rank : others()) {
      const Word& word = heard_[static_cast<std::size_t>(rank)];
      if (word.kind == Word::kEnd && word.entered[number] < own_.entered[number]) missing.push_back(rank);
    }
    if (missing.empty()) return false;
    throw RankMissing(fmt::format("{} {} ended before {}: start all ranks anew", names_of(missing),
                                  missing.size() == 1 ? "has" : "have", purpose),
                      missing);
  });
}

bool MpiSession::received(MpiRequest& request, int group, std::uint64_t number, const std::string& purpose) {
  return locked([&](Mpi& mpi) {
    if (mpi.done(request)) return true;
    listen();
    const Word& word = heard_.front();
    if (word.kind != Word::kEnd || word.sent[static_cast<std::size_t>(group)] >= number) return false;
    throw RankMissing(fmt::format("rank 0 has ended before {}: start all ranks anew", purpose), {0});
  });
}

void MpiSession::send(int group, std::vector<std::byte> message) {
  locked([&](Mpi&) {
    drop_sent();
    ++own_.sent[static_cast<std::size_t>(group)];
    post(group, others(), std::move(message));
    drop_sent();
    last_send_ = Clock::now();
  });
  // It moves on what has not gone at once.
  wake_.notify_one();
}

std::pair<std::size_t, std::vector<int>> MpiSession::under_way(int group) {
  return locked([&](Mpi&) {
    listen();
    drop_sent();
    std::size_t bytes = 0;
    std::vector<int> ranks;
    for (const Outgoing& message : outgoing_) {
      if (message.channel != group) continue;
      bytes += message.bytes.size();
      for (const auto& [rank, request] : message.under_way) ranks.push_back(rank);
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return std::pair(bytes, ranks);
  });
}

void MpiSession::ask() {
  locked([&](Mpi&) { tell(to_ask(), Word::kAsk); });
}

std::vector<std::uint32_t> MpiSession::answers() {
  return locked([&](Mpi&) {
    listen();
    return answers_;
  });
}

void MpiSession::give_up_on(std::vector<int> missing, std::chrono::milliseconds silent) {
  const std::lock_guard lock(mutex_);
  given_up_ = std::move(missing);
  silent_for_ = silent;
}

void MpiSession::throw_if_given_up(const std::string& purpose) const {
  if (!given_up_.empty()) throw RankMissing(stood_still(given_up_, silent_for_, purpose), given_up_);
}

std::vector<int> MpiSession::not_in(int group, std::uint64_t exchange) {
  return locked([&](Mpi&) {
    std::vector<int> ranks;
    for (const int rank : others()) {
      const auto index = static_cast<std::size_t>(rank);
      const bool there = heard_[index].entered[static_cast<std::size_t>(group)] >= exchange;
      if (unanswered_[index] || !there) ranks.push_back(rank);
    }
    return ranks;
  });
}

void MpiSession::require_whole() const {
  if (broken_) throw core::Error(*broken_);
}

std::vector<int> MpiSession::others() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < place_.size; ++rank) {
    if (rank != place_.rank) ranks.push_back(rank);
  }
  return ranks;
}

void MpiSession::tell(const std::vector<int>& ranks, Word::Kind kind) {
  Word word = own_;
  word.kind = kind;
  const auto bytes = std::as_bytes(std::span(&word, 1));
  post(kWords, ranks, {bytes.begin(), bytes.end()});
}

void MpiSession::post(int channel, const std::vector<int>& ranks, std::vector<std::byte> bytes) {
  if (ranks.empty()) return;
  Outgoing& message = outgoing_.emplace_back();
  message.channel = channel;
  message.bytes = std::move(bytes);
  std::span<const std::byte> later(message.bytes);
  std::size_t most = kFirstPart;
  while (!later.empty()) {
    const auto part = later.first(std::min(most, later.size()));
    for (const int rank : ranks) message.under_way.emplace_back(rank, mpi_->send(channel, rank, part));
    later = later.subspan(part.size());
    most = piece();
  }
}

void MpiSession::drop_sent() {
  // To a rank for which something is under way, nothing that came later is looked at: there may be much of it.
  std::vector<char> busy(static_cast<std::size_t>(place_.size), false);
  for (Outgoing& message : outgoing_) {
    std::erase_if(message.under_way, [&](auto& part) {
      char& waits = busy[static_cast<std::size_t>(part.first)];
      if (!waits && !mpi_->done(part.second)) waits = true;
      return !waits;
    });
  }
  outgoing_.remove_if([](const Outgoing& message) { return message.under_way.empty(); });
}

void MpiSession::listen() {
  while (mpi_->done(listening_)) {
    const Word word = incoming_;
    listening_ = mpi_->receive_from_any(kWords, std::as_writable_bytes(std::span(&incoming_, 1)));
    const auto rank = static_cast<std::size_t>(word.rank);
    heard_.at(rank) = word;
    if (word.kind != Word::kAsk) unanswered_[rank] = false;
    ++answers_[rank];
    // Who has said its last word says no more: the others may be gone.
    const bool answers = word.kind == Word::kAsk && own_.kind != Word::kEnd;
    if (answers) tell({static_cast<int>(word.rank)}, Word::kAnswer);
  }
}

// Every rank speaks with every other, so that later none is the first to open a way between them.
void MpiSession::greet() {
  std::fill(unanswered_.begin(), unanswered_.end(), true);
  unanswered_[static_cast<std::size_t>(place_.rank)] = false;
  tell(others(), Word::kAnswer);
  wait_to_begin([this] { return std::ranges::find(unanswered_, true) == unanswered_.end(); });
}

void MpiSession::add_channels() {
  for (int channel = 0; channel < Meeting::kGroups; ++channel) {
    MpiRequest request = mpi_->add_channel();
    wait_to_begin([&] { return mpi_->done(request); });
  }
}

void MpiSession::wait_to_begin(const std::function<bool()>& there) {
  Silence silence(place_.size, milliseconds(0), kMeet);
  silence.tell_to(terms_.tell);
  const auto begin = Clock::now();
  for (auto looked = begin; !there(); rest(Clock::now() - begin)) {
    listen();
    drop_sent();
    const auto passed = std::chrono::duration_cast<milliseconds>(Clock::now() - looked);
    if (passed < kLookInterval) continue;
    looked += passed;
    // A process that was stopped itself must not blame the others for that time.
    look_for_the_silent(silence, std::min(passed, 2 * kLookInterval));
  }
  silence.end();
}

// The lowest of those that answer tells of the others, and gives them up.
void MpiSession::look_for_the_silent(Silence& silence, milliseconds passed) {
  std::vector<int> silent;
  milliseconds longest{0};
  bool tells = true;
  for (const int rank : others()) {
    const milliseconds since = silence.note(rank, answers_[static_cast<std::size_t>(rank)], passed);
    if (rank < place_.rank && since < kSilent) tells = false;
    if (terms_.patience.count() == 0 || since < terms_.patience) continue;
    silent.push_back(rank);
    longest = std::max(longest, since);
  }
  if (tells && !silent.empty()) throw RankMissing(stood_still(silent, longest, kMeet), silent);
  if (tells) silence.tell([](int rank) { return fmt::format("rank {}", rank); }, [](int) { return false; });
  tell(to_ask(), Word::kAsk);
}

// One that has not answered yet, or has said its last, needs no second question.
std::vector<int> MpiSession::to_ask() {
  std::vector<int> asked;
  for (const int rank : others()) {
    char& unanswered = unanswered_[static_cast<std::size_t>(rank)];
    if (unanswered || heard_[static_cast<std::size_t>(rank)].kind == Word::kEnd) continue;
    unanswered = true;
    asked.push_back(rank);
  }
  return asked;
}

void MpiSession::break_off(const std::string& sentence) {
  const std::lock_guard lock(mutex_);
  if (!broken_) broken_ = sentence;
}

void MpiSession::tend() {
  std::unique_lock lock(mutex_);
  while (!stop_ && !broken_) {
    try {
      listen();
      drop_sent();
    } catch (const std::exception& error) {
      broken_ = core::sentence_of(error);
    }
    const Clock::duration soon = (Clock::now() - last_send_) / 8;
    wake_.wait_for(lock,
                   outgoing_.empty() ? kTend : std::clamp<Clock::duration>(soon, microseconds(500), kTend));
  }
}

void MpiSession::stop_tending() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (tender_.joinable()) tender_.join();
}

std::optional<std::string> MpiSession::part_in_order() {
  if (calls_ > 0) break_off("This rank ended in the middle of what all ranks do");
  stop_tending();
  const std::lock_guard lock(mutex_);
  if (broken_) return broken_;
  try {
    tell(others(), Word::kEnd);
    own_.kind = Word::kEnd;
    const auto begin = Clock::now();
    auto all_ended = begin;
    for (;;) {
      listen();
      drop_sent();
      const bool waits = std::ranges::any_of(
          others(), [this](int rank) { return heard_[static_cast<std::size_t>(rank)].kind != Word::kEnd; });
      const auto now = Clock::now();
      if (waits) all_ended = now;
      if (!waits && outgoing_.empty()) break;
      if (now - all_ended > kLastBytes) return "Other ranks ended without the last message of this one";
      rest(now - begin);
    }
    mpi_->cancel(listening_);
    // Open MPI removes it now, and complains where it cannot.
    if (!shared_file_.empty()) ::close(::open(shared_file_.c_str(), O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR));
    mpi_->finalize();
    broken_ = "MPI has ended";
  } catch (const std::exception& error) {
    return core::sentence_of(error);
  }
  return {};
}

// Runs when the process exits, by exit() or from main().
void MpiSession::leave(int code, void* of) {
  auto& session = *static_cast<MpiSession*>(of);
  if (getpid() != session.process_) return;  // a child that was forked
  // The program is over: what would have told it to stop ends it now.
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  // MPI's way to end all ranks drops what has not been written yet.
  std::cout.flush();
  std::fflush(nullptr);

  if (code == 0) {
    const auto why = session.part_in_order();
    if (!why) return;
    code = 1;
    std::fprintf(stderr, "%s.\n", why->c_str());
  }
  // Other threads may be in the middle of a call; none is let in any more.
  const auto begin = Clock::now();
  while (!session.mutex_.try_lock() && Clock::now() - begin < seconds(1)) rest(Clock::now() - begin);
  std::fprintf(stderr, "Rank %d of %d ended with code %d, so all ranks end.\n", session.place_.rank,
               session.place_.size, code);
  // Some launchers drop what they have not read yet when they end all.
  std::this_thread::sleep_for(kMpiLastWords);
  session.mpi_->abort(code);
}

}  // namespace warpscope::ranks
