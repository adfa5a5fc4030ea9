#pragma once
// The memory that ranks of one host share: who is there, how far each rank has come in each group, and the bytes that
// they give each other. It has no name, so that two trainings on a host cannot meet and nothing of it stays behind:
// who has its file descriptor can open it.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/ranks/descriptor.h"
#include "gpu/ranks/group.h"

namespace warpscope::ranks {

/// Ranks by number, a bit each.
using RankSet = std::uint64_t;
inline constexpr int kMostSharing = 64;  ///< ranks of one region

constexpr RankSet only(int rank) {
  return RankSet{1} << rank;
}
/// Numbers in a set, lowest first.
std::vector<int> numbers(RankSet ranks);
/// "rank 2", "ranks 1 and 3", "ranks 1, 2 and 3".
std::string names(const std::vector<int>& ranks);

inline constexpr std::size_t kSlotBytes = std::size_t{1} << 20;  ///< what a rank can give at once
inline constexpr std::size_t kRingBytes = std::size_t{4} << 20;  ///< messages that have not been received

/// 32 bits that processes wait on until they change.
using Changes = std::atomic<std::uint32_t>;
/// Counts one more change and wakes all who wait for one.
void tell_change(Changes& changes);
/// Returns when `changes` is no longer `before`, after `most`, or earlier. Does not use the processor.
void wait_for_change(const Changes& changes, std::uint32_t before, std::chrono::nanoseconds most);

enum class Presence : std::uint32_t { absent, here, left, ended };

struct alignas(64) SharedRank {
  std::atomic<Presence> presence{Presence::absent};
  std::atomic<std::int32_t> process{0};  ///< its id; 0: not known
  std::atomic<std::int32_t> status{0};   ///< as waitpid() gives it, where presence is ended
  std::atomic<std::uint32_t> beats{0};   ///< grows several times a second as long as its process runs
  std::atomic<std::uint32_t> still{0};   ///< milliseconds after which rank 0 killed it; 0: it did not
};

/// How far one rank has come in one group.
struct SharedProgress {
  alignas(64) std::atomic<std::uint32_t> arrived{0};   ///< meetings that it has come to
  std::array<std::uint64_t, 2> call{};                 ///< what it gave, by the parity of the meeting
  alignas(64) std::atomic<std::uint64_t> received{0};  ///< bytes that it has read from the ring
};

struct SharedGroupState {
  alignas(64) Changes arrivals{0};     ///< when a rank has arrived
  alignas(64) Changes sendings{0};     ///< when `sent` has grown
  std::atomic<std::uint64_t> sent{0};  ///< bytes that rank 0 has put into the ring
  alignas(64) Changes receivings{0};   ///< when a `received` has grown
  std::array<SharedProgress, kMostSharing> ranks;
};

/// What is known without mapping it.
struct SharedHeader {
  std::uint64_t magic = 0;
  std::uint64_t bytes = 0;  ///< of the whole region
  std::int32_t ranks = 0;
  std::array<char, 44> version{};
};

struct SharedState {
  SharedHeader header;
  std::array<SharedRank, kMostSharing> ranks;
  std::array<SharedGroupState, Meeting::kGroups> groups;
};

class Region {
 public:
  /// For 1 to kMostSharing ranks. Throws BadInput for other numbers, Error where memory cannot be had.
  static std::shared_ptr<Region> make(int ranks);
  /// That of `descriptor`, which stays open and is closed on exec from now on. Throws BadInput where it is no region,
  /// or one of another version of the program; then nothing has changed.
  static std::shared_ptr<Region> open(int descriptor);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  int ranks() const { return state_->header.ranks; }
  SharedState& state() { return *state_; }
  /// What `rank` gives in meetings of this parity: kSlotBytes.
  std::byte* slot(int group, int rank, unsigned parity);
  /// The messages of rank 0: kRingBytes.
  std::byte* ring(int group);
  int descriptor() const { return descriptor_.number(); }  ///< of the process that made it; -1 in others

  /// Ranks that are known to have ended.
  RankSet ended() const;
  /// Those of them that have not ended for want of others; all, where nobody else is left.
  RankSet lost() const;
  /// Ranks whose process is no more, as the system tells.
  RankSet gone() const;
  /// Makes it known that `rank` has ended, and wakes all who wait for anything. `presence` is left or ended.
  void end(int rank, Presence presence, int status);
  /// How long this process waits for others until it kills them; zero: for ever. From any thread.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience.count(); }
  std::chrono::milliseconds patience() const { return std::chrono::milliseconds(patience_); }
  /// Kills the process of a rank, if it is another than this. `still`: it has let others wait for so long.
  void kill(int rank, std::chrono::milliseconds still = {});
  /// "rank 2 was killed by SIGKILL", "rank 2 ended with exit code 3", "rank 2 ended", "rank 2 stood still for 30.0 s
  /// and was killed".
  std::string fate(int rank) const;

 private:
  Region(void* address, std::size_t bytes, Descriptor descriptor);

  SharedState* state_;
  std::size_t bytes_;
  Descriptor descriptor_;
  std::atomic<std::chrono::milliseconds::rep> patience_{0};
};

}  // namespace warpscope::ranks
