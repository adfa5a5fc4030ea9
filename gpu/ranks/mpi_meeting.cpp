#include "gpu/ranks/mpi_meeting.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/require.h"
#include "gpu/ranks/mpi_library.h"
#include "gpu/ranks/mpi_session.h"
#include "gpu/ranks/silence.h"

namespace warpscope::ranks {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Rank 0 sends on until so much is under way.
constexpr std::size_t kMostUnderWay = std::size_t{4} << 20;

// Others are asked a little before they are named, so that their answers are here by then.
constexpr milliseconds kAskAfter(750);
constexpr milliseconds kAnswerWithin(250);
constexpr milliseconds kNameAfter = kAskAfter + kAnswerWithin;
constexpr milliseconds kAskAgainAfter(1000);

// How many ranks the launcher has started; 1 where there is none, 0 where it does not say.
int launched_ranks() {
  const auto number = [](const char* name) {
    const char* text = std::getenv(name);
    int value = 0;
    if (text != nullptr) std::from_chars(text, text + std::strlen(text), value);
    return value;
  };
  const auto is_set = [](const char* name) { return std::getenv(name) != nullptr; };
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const int size = number(name); size > 0) return size;
  }
  // Slurm sets its own names in a batch script as well, where nothing joins the ranks.
  if (!is_set("PMI_RANK") && !is_set("PMI_FD") && !(is_set("PMIX_RANK") && is_set("PMIX_NAMESPACE")))
    return 1;
  for (const char* name : {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}) {
    if (const int size = number(name); size > 0) return size;
  }
  return 0;
}

// Which of them this process is; 0 where the launcher does not say.
int launched_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    const char* const text = std::getenv(name);
    int rank = 0;
    if (text != nullptr && std::from_chars(text, text + std::strlen(text), rank).ec == std::errc())
      return rank;
  }
  return 0;
}

// The launcher of MPICH's kin speaks PMI, that of Open MPI its own names or PMIx.
bool launched_by_mpich() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr && std::getenv("PMIX_RANK") == nullptr;
}

// What one call waits for, and what its group tells of it.
class Wait {
 public:
  Wait(const TellSlow& tell, const std::string& purpose) : tell_(tell), purpose_(purpose) {}

  Clock::duration waited() const { return Clock::now() - begin_; }
  bool may_tell() const { return tell_ != nullptr && named_.empty(); }

  void name(const std::vector<int>& ranks) {
    if (ranks.empty() || !may_tell()) return;
    named_ = ranks;
    tell_(ranks, fmt::format("{} {} not come to {} within {:.1f} s", names_of(ranks),
                             ranks.size() == 1 ? "has" : "have", purpose_, seconds()));
  }
  void has_ended() {
    if (!named_.empty())
      tell_({}, fmt::format("all ranks have come to {} after {:.1f} s", purpose_, seconds()));
  }

 private:
  double seconds() const { return std::chrono::duration<double>(waited()).count(); }

  const TellSlow& tell_;
  const std::string& purpose_;
  const Clock::time_point begin_ = Clock::now();
  std::vector<int> named_;
};

class MpiGroup final : public Group {
 public:
  MpiGroup(MpiSession& session, int number, TellSlow tell_slow)
      : Group(session.place()), session_(session), number_(number), tell_slow_(std::move(tell_slow)) {}

  void send(std::span<const std::byte> message) override {
    core::require(place().leads(), "Only rank 0 sends: rank {} receives", place().rank);
    std::vector<std::byte> bytes(sizeof(std::uint64_t) + message.size());
    const std::uint64_t length = message.size();
    std::memcpy(bytes.data(), &length, sizeof length);
    std::ranges::copy(message, bytes.begin() + sizeof length);
    session_.whole([&] {
      session_.send(number_, std::move(bytes));
      wait_for_room();
    });
  }

  std::vector<std::byte> receive() override {
    core::require(!place().leads(), "Rank 0 sends and does not receive");
    std::vector<std::byte> message;
    session_.whole([&] {
      ++received_;
      receive_part(first_);
      std::uint64_t length = 0;
      std::memcpy(&length, first_.data(), sizeof length);
      message.resize(length);
      const std::span<std::byte> whole(message);
      std::size_t here = std::min(message.size(), first_.size() - sizeof length);
      std::copy_n(first_.data() + sizeof length, here, whole.begin());
      for (; here < whole.size(); here += session_.piece()) {
        receive_part(whole.subspan(here, std::min(session_.piece(), whole.size() - here)));
      }
    });
    return message;
  }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    core::require(all.size() == mine.size() * ranks(), "{} bytes of each of {} ranks do not fit into {}",
                  mine.size(), ranks(), all.size());
    exchange(mine.size(), [&](std::size_t begin, std::size_t count) {
      // Where nobody gives anything, a byte still waits for all.
      const std::byte none{};
      const auto part = count == 0 ? std::span(&none, 1) : mine.subspan(begin, count);
      if (count == mine.size() && count > 0) return gather(part, all);
      std::vector<std::byte> parts(part.size() * ranks());
      gather(part, parts);
      for (std::size_t rank = 0; rank < ranks() && count > 0; ++rank) {
        std::memcpy(all.data() + rank * mine.size() + begin, parts.data() + rank * count, count);
      }
    });
  }

  void all_to_all(std::span<const std::byte> to, std::span<std::byte> from) override {
    core::require(to.size() == from.size(), "{} bytes are given and {} taken", to.size(), from.size());
    core::require(to.size() % ranks() == 0, "{} bytes do not divide into blocks for {} ranks", to.size(),
                  ranks());
    const std::size_t block = to.size() / ranks();
    exchange(block, [&](std::size_t begin, std::size_t count) {
      if (count == block && count > 0) return exchange_blocks(to, from);
      const std::size_t size = std::max<std::size_t>(count, 1);
      std::vector<std::byte> given(size * ranks());
      std::vector<std::byte> taken(given.size());
      for (std::size_t rank = 0; rank < ranks() && count > 0; ++rank) {
        std::memcpy(given.data() + rank * count, to.data() + rank * block + begin, count);
      }
      exchange_blocks(given, taken);
      for (std::size_t rank = 0; rank < ranks() && count > 0; ++rank) {
        std::memcpy(from.data() + rank * block + begin, taken.data() + rank * count, count);
      }
    });
  }

  void trade(int a, int b, std::span<const std::byte> mine, std::span<std::byte> theirs) override {
    core::require(mine.size() == theirs.size(), "{} bytes are given and {} taken", mine.size(),
                  theirs.size());
    const int me = place().rank;
    exchange(mine.size(), [&](std::size_t begin, std::size_t count) {
      if (me != a && me != b) return;
      const int other = me == a ? b : a;
      auto [receive, send] = session_.locked([&](Mpi& mpi) {
        const MpiRequest coming = mpi.receive(number_, other, theirs.subspan(begin, count));
        return std::pair(coming, mpi.send(number_, other, mine.subspan(begin, count)));
      });
      wait_for_all(receive);
      wait_for_all(send);
    });
  }

  std::string medium() const override { return "MPI"; }

  void note_purpose(std::string purpose) override { purpose_ = std::move(purpose); }

 private:
  std::size_t ranks() const { return static_cast<std::size_t>(place().size); }

  // An exchange of blocks in parts that MPI can take: part(begin, count).
  template <class Part>
  void exchange(std::size_t block, Part part) {
    session_.whole([&] {
      entered_ = session_.enter(number_);
      const std::size_t most = std::max<std::size_t>(session_.piece() / ranks(), 1);
      std::size_t begin = 0;
      do {
        const std::size_t count = std::min(most, block - begin);
        part(begin, count);
        begin += count;
      } while (begin < block);
    });
  }
  void gather(std::span<const std::byte> mine, std::span<std::byte> all) {
    wait_for_all(session_.locked([&](Mpi& mpi) { return mpi.all_gather(number_, mine, all); }));
  }
  void exchange_blocks(std::span<const std::byte> to, std::span<std::byte> from) {
    wait_for_all(session_.locked([&](Mpi& mpi) { return mpi.all_to_all(number_, to, from); }));
  }

  void wait_for_all(MpiRequest request) {
    Wait wait(tell_slow_, purpose_);
    Clock::duration ask_at = kAskAfter;
    Clock::duration name_at = Clock::duration::max();
    while (!session_.exchanged(request, number_, purpose_)) {
      const auto waited = wait.waited();
      const bool too_long = is_too_long(waited);
      const bool asks = wait.may_tell() || too_long;
      if (asks && waited >= name_at) {
        const std::vector<int> ranks = session_.not_in(number_, entered_);
        if (too_long && !ranks.empty()) throw RankMissing(stood_still(ranks, waited, purpose_), ranks);
        wait.name(ranks);
        name_at = Clock::duration::max();
      }
      if (asks && waited >= ask_at) {
        session_.ask();
        name_at = waited + kAnswerWithin;
        ask_at = waited + kAskAgainAfter;
      }
      rest(waited);
    }
    wait.has_ended();
  }

  bool is_too_long(Clock::duration waited) const {
    const milliseconds patience = patience_in(number_, session_.patience());
    return patience.count() > 0 && waited >= patience;
  }

  void receive_part(std::span<std::byte> part) {
    MpiRequest request = session_.locked([&](Mpi& mpi) { return mpi.receive(number_, 0, part); });
    const Wait wait(tell_slow_, purpose_);
    while (!session_.received(request, number_, received_, purpose_)) rest(wait.waited());
  }

  void wait_for_room() {
    Wait wait(tell_slow_, purpose_);
    for (;;) {
      const auto [bytes, ranks] = session_.under_way(number_);
      if (bytes <= kMostUnderWay) break;
      const auto waited = wait.waited();
      if (waited >= kNameAfter) wait.name(ranks);
      rest(waited);
    }
    wait.has_ended();
  }

  MpiSession& session_;
  const int number_;
  const TellSlow tell_slow_;
  std::string purpose_ = "what all ranks do together";
  std::uint64_t entered_ = 0;   // exchanges
  std::uint64_t received_ = 0;  // messages
  std::array<std::byte, kFirstPart> first_{};
};

class MpiMeeting final : public Meeting {
 public:
  explicit MpiMeeting(MpiSession& session) : session_(session), silence_(session.place().size, {}) {}

  Place place() const override { return session_.place(); }
  // The session itself answers whoever asks.
  void look(milliseconds passed) const override {
    if (!place().leads()) return;
    try {
      session_.ask();
      look_for_the_silent(session_.answers(), passed);
    } catch (const core::Error&) {
      return;  // MPI is of no use any more, as whoever waits for others is told
    }
  }
  std::vector<int> silent() const override { return silence_.silent(); }
  void set_patience(milliseconds patience) override {
    begins_ = false;
    session_.set_patience(patience);
  }
  void set_patience_to_begin(milliseconds patience) override {
    patience_to_begin_ = patience.count();
    begins_ = true;
  }
  void tell_silent(const TellSlow& tell) override { silence_.tell_to(tell); }
  std::unique_ptr<Group> group(int number, TellSlow tell_slow) override {
    core::require(number >= 0 && number < kGroups, "There is no group {}: they are 0 to {}", number,
                  kGroups - 1);
    core::require(!given_.at(static_cast<std::size_t>(number)).exchange(true), "Group {} is in use already",
                  number);
    return std::make_unique<MpiGroup>(session_, number, std::move(tell_slow));
  }

 private:
  void look_for_the_silent(const std::vector<std::uint32_t>& answers, milliseconds passed) const {
    const milliseconds patience(patience_to_begin_);
    std::vector<int> silent;
    milliseconds longest{0};
    for (int rank = 1; rank < place().size; ++rank) {
      const milliseconds since = silence_.note(rank, answers[static_cast<std::size_t>(rank)], passed);
      if (patience.count() == 0 || since < patience) continue;
      silent.push_back(rank);
      longest = std::max(longest, since);
    }
    if (!begins_) return;
    if (!silent.empty()) return session_.give_up_on(silent, longest);
    silence_.tell([](int rank) { return fmt::format("rank {}", rank); }, [](int) { return false; });
  }

  MpiSession& session_;
  std::array<std::atomic<bool>, kGroups> given_{};
  std::atomic<bool> begins_{false};  // ranks begin
  std::atomic<milliseconds::rep> patience_to_begin_{0};
  mutable Silence silence_;  // of the others, as look() hears them
};

}  // namespace

bool started_by_mpi() {
  return launched_ranks() != 1;
}

std::shared_ptr<Meeting> meet_by_mpi(MpiTerms terms) {
  core::require(started_by_mpi(), "No launcher of MPI has started this process: start it by mpirun or srun");
  terms.rank = launched_rank();
  return meet_by(mpi_of_launcher(), std::move(terms));
}

std::unique_ptr<Mpi> mpi_of_launcher() {
  return open_mpi(launched_by_mpich());
}

std::shared_ptr<Meeting> meet_by(std::unique_ptr<Mpi> mpi, MpiTerms terms) {
  static std::atomic<bool> met = false;
  core::require(!met.exchange(true), "This process has met its ranks by MPI already");
  // It lives until the process ends.
  static auto* const session = new MpiSession(std::move(mpi), std::move(terms));
  session->start();
  const int launched = launched_ranks();
  if (launched != 0 && launched != session->place().size) {
    throw core::Error(
        fmt::format("The launcher started {} ranks, but the MPI library that was found sees {}: put the "
                    "folder of the library that belongs to the launcher first in LD_LIBRARY_PATH",
                    launched, session->place().size));
  }
  return std::make_shared<MpiMeeting>(*session);
}

}  // namespace warpscope::ranks
