#pragma once
// Groups over TCP, once the ranks have met: each rank has a connection to each other one.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gpu/ranks/descriptor.h"
#include "gpu/ranks/group.h"
#include "gpu/ranks/shared_region.h"
#include "gpu/ranks/silence.h"
#include "gpu/ranks/tcp_frames.h"

namespace warpscope::ranks {

/// Sockets to other ranks, by rank; none to this one.
using Sockets = std::vector<Descriptor>;

/// A rank's place in a meeting while its meeting or one of its groups is there; then the others see that it has ended.
class TcpSeat {
 public:
  /// `presence` carry no bytes but those of answer() and leave_after_others().
  TcpSeat(Place place, Sockets presence)
      : place_(place), presence_(std::move(presence)), answers_(presence_.size()) {}

  const Place& place() const { return place_; }
  /// Ranks that have ended or whose host does not answer any more, as far as the system knows. From any thread.
  std::vector<int> gone() const;
  /// Where a group has seen that a rank is gone before its system told it here. From any thread.
  void note_gone(int rank) { noted_.fetch_or(only(rank)); }
  /// Lets rank 0 know that this rank lives.
  void answer() const;
  /// How often a rank has done so. From any thread.
  std::uint32_t answers(int rank) const;
  /// This rank is about to end since others are missing.
  void leave_after_others() const;
  /// Those of `gone` that have not said that they end since others are missing. From any thread.
  std::vector<int> first_of(const std::vector<int>& gone) const;
  /// "rank 2 ended", "rank 2 cannot be reached any more".
  std::string fate(int rank) const;
  /// How long this rank waits in a call of `group`; zero: for ever. From any thread.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience.count(); }
  std::chrono::milliseconds patience(int group) const {
    return patience_in(group, std::chrono::milliseconds(patience_));
  }
  /// From now on who waits for these gets RankMissing: they have not answered for so long. From any thread.
  void give_up_on(RankSet ranks, std::chrono::milliseconds silent) {
    silent_for_ = silent.count();
    given_up_ = ranks;
  }
  RankSet given_up() const { return given_up_; }
  std::chrono::milliseconds silent_for() const { return std::chrono::milliseconds(silent_for_); }

 private:
  short events(int rank) const;
  void hear(int rank) const;
  void say(int rank, char word) const;

  Place place_;
  Sockets presence_;
  mutable std::mutex hearing_;                  ///< of the next two
  mutable std::vector<std::uint32_t> answers_;  ///< by rank
  mutable RankSet left_after_others_ = 0;       ///< who has said so
  std::atomic<RankSet> noted_{0};
  std::atomic<RankSet> given_up_{0};
  std::atomic<std::chrono::milliseconds::rep> silent_for_{0};  ///< those
  std::atomic<std::chrono::milliseconds::rep> patience_{0};
};

/// Each pair of ranks gives each other bytes by a connection of its own. A rank counts as ended when its connection
/// ends, or when it has let rank 0 wait for longer than its patience; its bytes from before still arrive. Who waits for
/// it then gets RankMissing, and a group of which a call has thrown throws the same again.
class TcpMeeting final : public Meeting {
 public:
  /// `sockets` of each link.
  TcpMeeting(Place place, std::array<Sockets, kTcpLinks> sockets);

  Place place() const override { return seat_->place(); }
  /// Ranks that have ended for want of others are told only where these are not known a moment later.
  std::string missing() const override;
  void leave_after_others() override { seat_->leave_after_others(); }
  void look(std::chrono::milliseconds passed) const override;
  std::vector<int> silent() const override { return silence_.silent(); }
  void set_patience(std::chrono::milliseconds patience) override;
  void set_patience_to_begin(std::chrono::milliseconds patience) override;
  void tell_silent(const TellSlow& tell) override { silence_.tell_to(tell); }
  /// Throws BadInput for a number that there is not, or that has been given before.
  std::unique_ptr<Group> group(int number, TellSlow tell_slow) override;

 private:
  std::shared_ptr<TcpSeat> seat_;
  std::array<Sockets, kGroups> sockets_;
  std::array<std::atomic<bool>, kGroups> given_{};
  mutable std::atomic<std::chrono::steady_clock::rep> first_unknown_since_{0};
  std::atomic<bool> begins_{false};  ///< ranks begin
  std::atomic<std::chrono::milliseconds::rep> patience_to_begin_{0};
  mutable Silence silence_;  ///< of the others, as look() hears them
};

}  // namespace warpscope::ranks
