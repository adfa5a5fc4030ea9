#pragma once
// MPI in this process, from its start to the end of the process: all calls of it, by whichever thread, are made here,
// under one lock. None of them waits, so the lock is held for microseconds.
//
// MPI moves bytes only while somebody calls it, so a thread does that where the groups do not. The same thread answers
// other ranks that ask how far this one is. So a rank that has stopped, or has not come, is known by name, and nothing
// is spent on that while all is well.
//
// At the end of the process its exit code decides. With 0 it waits for all others and ends MPI in order; else, or after
// a call that failed, it ends all ranks with that code, so that nobody waits for a rank that is gone.

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "gpu/core/host_memory.h"
#include "gpu/ranks/group.h"
#include "gpu/ranks/mpi_library.h"
#include "gpu/ranks/mpi_meeting.h"
#include "gpu/ranks/silence.h"

namespace warpscope::ranks {

/// Sleeps for an eighth of what has been waited already, at most 0.2 ms, which grows to 10 ms within five seconds; at
/// first it only lets others have the processor. So waiting costs little time and little processor.
void rest(std::chrono::steady_clock::duration waited);

/// "rank 2", "ranks 2 and 3", "ranks 2, 3 and 5".
std::string names_of(const std::vector<int>& ranks);

/// A message comes in parts, of which the first has at most this many bytes.
inline constexpr std::size_t kFirstPart = 4096;

class MpiSession {
 public:
  MpiSession(std::unique_ptr<Mpi> mpi, MpiTerms terms);
  /// Starts MPI and meets all ranks. From then on the session must live until the process ends. RankMissing where one
  /// does not answer for as long as the terms say; MPI's own start, which comes first, waits for ever.
  void start();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  const Place& place() const { return place_; }
  std::size_t piece() const { return terms_.piece; }

  /// How long this rank waits for others in an exchange; zero: for ever. From any thread.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience.count(); }
  std::chrono::milliseconds patience() const { return std::chrono::milliseconds(patience_); }

  /// All that a group's call does, which must be done as a whole: where it fails, nobody calls MPI any more, since it
  /// may hold memory of the call, and every later call fails with the same sentence.
  template <class Work>
  void whole(Work work) {
    ++calls_;
    try {
      work();
    } catch (const std::exception& error) {
      break_off(core::sentence_of(error));
      --calls_;
      throw;
    }
    --calls_;
  }

  /// One or a few calls of MPI, under the lock.
  template <class Work>
  auto locked(Work work) {
    const std::lock_guard lock(mutex_);
    require_whole();
    return work(*mpi_);
  }

  /// Another exchange of the group begins. Returns its number, from 1.
  std::uint64_t enter(int group);
  /// Whether the exchange has been done. RankMissing where a rank has ended before it: `purpose` is what it was for.
  bool exchanged(MpiRequest& request, int group, const std::string& purpose);
  /// Whether the message has come, `number` of this group from 1. RankMissing where rank 0 has ended without it.
  bool received(MpiRequest& request, int group, std::uint64_t number, const std::string& purpose);

  /// Sends a message to all other ranks: kFirstPart bytes, then the rest in pieces. It is kept until all have it.
  void send(int group, std::vector<std::byte> message);
  /// The bytes of the group that are under way, and to whom.
  std::pair<std::size_t, std::vector<int>> under_way(int group);

  /// From now on who waits for `missing` gets RankMissing: they have not answered for so long. From any thread.
  void give_up_on(std::vector<int> missing, std::chrono::milliseconds silent);

  /// Asks all other ranks how far they are.
  void ask();
  /// How often each rank has answered, or asked itself.
  std::vector<std::uint32_t> answers();
  /// The ranks that have not answered since, or are not in this exchange.
  std::vector<int> not_in(int group, std::uint64_t exchange);

 private:
  // What a rank tells another of itself.
  struct Word {
    enum Kind : std::uint64_t { kAsk, kAnswer, kEnd };
    std::uint64_t kind = kAsk;
    std::uint64_t rank = 0;
    std::array<std::uint64_t, Meeting::kGroups> entered{};  // exchanges
    std::array<std::uint64_t, Meeting::kGroups> sent{};     // messages
  };
  static constexpr int kWords = Mpi::kFirstChannel;

  struct Outgoing {
    int channel = 0;
    std::vector<std::byte> bytes;
    std::vector<std::pair<int, MpiRequest>> under_way;  // to which rank
  };

  static void leave(int code, void* of);

  // Called under the lock, or where there is one thread only.
  void require_whole() const;
  void tell(const std::vector<int>& ranks, Word::Kind kind);
  void post(int channel, const std::vector<int>& ranks, std::vector<std::byte> bytes);
  void listen();
  void drop_sent();
  std::vector<int> others() const;
  void begin();
  void greet();
  void add_channels();
  void wait_to_begin(const std::function<bool()>& there);
  void look_for_the_silent(Silence& silence, std::chrono::milliseconds passed);
  void throw_if_given_up(const std::string& purpose) const;
  std::vector<int> to_ask();

  void break_off(const std::string& sentence);
  void tend();
  void stop_tending();
  std::optional<std::string> part_in_order();

  const std::unique_ptr<Mpi> mpi_;
  const MpiTerms terms_;
  const pid_t process_;
  std::string shared_file_;
  Place place_;

  std::mutex mutex_;
  std::optional<std::string> broken_;
  Word own_;
  std::vector<Word> heard_;       // the newest word of each rank
  std::vector<char> unanswered_;  // ranks that have been asked
  std::vector<std::uint32_t> answers_;
  std::vector<int> given_up_;
  std::chrono::milliseconds silent_for_{0};  // those
  Word incoming_;
  MpiRequest listening_;
  std::list<Outgoing> outgoing_;
  std::chrono::steady_clock::time_point last_send_;
  std::atomic<int> calls_ = 0;
  std::atomic<std::chrono::milliseconds::rep> patience_ = 0;

  bool stop_ = false;
  std::condition_variable wake_;
  std::thread tender_;
};

}  // namespace warpscope::ranks
