#pragma once
// One process that runs this program as a rank.

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "gpu/ranks/descriptor.h"
#include "gpu/ranks/group.h"

namespace warpscope::ranks {

/// What rank processes are told by.
inline constexpr char kRankVariable[] = "WARPSCOPE_RANK";
inline constexpr char kRanksVariable[] = "WARPSCOPE_RANKS";
inline constexpr char kMeetingVariable[] = "WARPSCOPE_MEETING";
inline constexpr char kDescriptorPrefix[] = "fd:";  ///< of the meeting: a number of a file descriptor follows

/// What a rank is to be started with.
struct RankCommand {
  Place place;
  int meeting = -1;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  ///< additions
};

/// Starts with the constructor, is to be waited for with reap(). Lives no longer than the thread that has started it.
class RankProcess {
 public:
  /// Throws Error where it cannot be started; then it is gone.
  explicit RankProcess(const RankCommand& command);

  int rank() const { return rank_; }
  pid_t id() const { return id_; }
  int end() const { return end_.number(); }        ///< readable when the process ends; -1 on systems without
  int errors() const { return errors_.number(); }  ///< its standard error; reading does not wait
  bool ended() const { return status_.has_value(); }

  /// Its status as waitpid() tells it, once: where it has ended since. `wait`: returns when it has.
  std::optional<int> reap(bool wait = false);
  /// Kills it, unless it has ended.
  void kill() const;
  /// What it has written to standard error since: whole lines, and parts of very long ones, all with "rank 2: "
  /// before them. `rest`: what there is of a last line too.
  std::vector<std::string> lines(bool rest);

 private:
  int rank_;
  pid_t id_ = -1;
  Descriptor end_;
  Descriptor errors_;
  std::optional<int> status_;
  std::string line_;  ///< that has not ended
};

}  // namespace warpscope::ranks
