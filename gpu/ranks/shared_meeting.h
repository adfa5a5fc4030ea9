#pragma once
// Ranks of one host meet in memory that they share.

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "gpu/ranks/group.h"
#include "gpu/ranks/silence.h"

namespace warpscope::ranks {

class Region;
class Seat;

/// Groups over shared memory. A rank counts as ended when its meeting and its groups are gone, when mark_ended() says
/// so or when its process is no more. Who waits for it then gets RankMissing, and a group of which a call has thrown
/// throws the same again.
class SharedMeeting final : public Meeting {
 public:
  SharedMeeting(std::shared_ptr<Region> region, int rank);
  ~SharedMeeting() override;

  Place place() const override;
  std::string missing() const override;
  std::vector<int> lost() const override;
  void leave_after_others() override;
  void look(std::chrono::milliseconds passed) const override;
  std::vector<int> silent() const override { return silence_.silent(); }
  void set_patience(std::chrono::milliseconds patience) override;
  void set_patience_to_begin(std::chrono::milliseconds patience) override;
  void tell_silent(const TellSlow& tell) override;
  void end_others() override;
  /// Throws BadInput for a number that there is not, or that has been given before.
  std::unique_ptr<Group> group(int number, TellSlow tell_slow) override;

  /// What children inherit to join; closed on exec. -1 where this meeting was joined.
  int descriptor() const;
  /// Says which process will join as a rank: it can be ended before it has.
  void note_process(int rank, int process);
  /// Says how the process of a rank ended, as waitpid() tells it, and wakes who waits for it. From any thread.
  void mark_ended(int rank, int status);
  /// Lets the others know that this rank is about to end: they get the messages that were sent, then RankMissing.
  void leave();
  /// Ranks that have ended. From any thread.
  std::vector<int> ended() const;
  /// "rank 2 was killed by SIGKILL", "rank 2 ended with exit code 3", "rank 2 ended": of one that has ended.
  std::string fate(int rank) const;

  /// What another rank of the same process joins.
  const std::shared_ptr<Region>& region() const { return region_; }

 private:
  std::shared_ptr<Region> region_;
  std::shared_ptr<Seat> seat_;
  std::array<std::atomic<bool>, kGroups> given_{};
  std::atomic<std::chrono::milliseconds::rep> patience_to_begin_{0};
  std::atomic<bool> begins_{false};  ///< ranks begin
  mutable Silence silence_;          ///< of the others, as look() sees them
};

/// The meeting of 1 to 64 ranks, as rank 0. Throws BadInput for other numbers, Error where memory cannot be had.
std::shared_ptr<SharedMeeting> found_meeting(int ranks);
/// The meeting that `descriptor` leads to, as `rank`. The descriptor stays open, closed on exec from now on. Throws
/// BadInput where it leads to none, rank 0 is another version of the program, or there is no such rank or twice.
std::shared_ptr<SharedMeeting> join_meeting(int descriptor, int rank);
/// The same for a rank that is a thread of this process. Throws BadInput where there is no such rank or twice.
std::shared_ptr<SharedMeeting> join_meeting(const SharedMeeting& founded, int rank);

}  // namespace warpscope::ranks
