#pragma once
// A group over memory that ranks share.

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "gpu/ranks/group.h"
#include "gpu/ranks/shared_region.h"

namespace warpscope::ranks {

/// A rank's place in a region while it is there: that of its meeting and of its groups.
class Seat {
 public:
  /// Throws BadInput where there is no such rank or it is there already.
  Seat(std::shared_ptr<Region> region, int rank);
  /// Lets the others know that this rank has ended.
  ~Seat();
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

  Region& region() { return *region_; }
  Place place() const { return {rank_, region_->ranks()}; }

 private:
  std::shared_ptr<Region> region_;
  int rank_;
};

/// Meetings: each rank writes what it gives into its slot and says that it has arrived; when all have, each reads.
/// Slots alternate, so a rank that is ahead by one meeting does not write over what others still read.
class SharedGroup final : public Group {
 public:
  SharedGroup(std::shared_ptr<Seat> seat, int number, TellSlow tell_slow);

  void send(std::span<const std::byte> message) override;
  std::vector<std::byte> receive() override;
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  void all_to_all(std::span<const std::byte> to, std::span<std::byte> from) override;
  void trade(int a, int b, std::span<const std::byte> mine, std::span<std::byte> theirs) override;
  std::string medium() const override { return "shared memory"; }
  void note_purpose(std::string purpose) override { purpose_ = std::move(purpose); }

 private:
  using Clock = std::chrono::steady_clock;
  /// Those who have not done what the others wait for.
  using Absent = std::function<RankSet()>;
  enum class Patience { busy, telling, endless };  ///< spins, then tells who is slow; tells; neither

  void wait_for(const Absent& absent, const Changes& changes, Patience patience);
  bool spin(const Absent& absent) const;
  void sleep_for(const Absent& absent, const Changes& changes, bool tells);
  void give_up_on(RankSet missing, Clock::duration waited) const;
  [[noreturn]] void miss(RankSet ranks);
  void still_whole() const;

  void meet(std::uint64_t call);
  void check_calls(std::uint64_t call);
  void put(std::span<const std::byte> bytes, bool publish);
  void take(std::span<std::byte> bytes);

  std::shared_ptr<Seat> seat_;
  Region& region_;
  SharedGroupState& state_;
  SharedProgress& mine_;
  int number_;
  bool spins_;
  TellSlow tell_slow_;
  std::string purpose_ = "the next exchange";
  std::uint32_t meetings_ = 0;    ///< that are over
  std::uint64_t ring_bytes_ = 0;  ///< put into the ring or taken from it, by this rank
  std::exception_ptr broken_;     ///< why this group is of no use any more
};

}  // namespace warpscope::ranks
