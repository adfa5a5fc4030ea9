#pragma once
// The program starts its own ranks: rank 0 starts this program again for each other one.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

#include "gpu/ranks/descriptor.h"
#include "gpu/ranks/shared_meeting.h"

namespace warpscope::ranks {

/// What a process that was started as a rank is told.
struct StartedPlace {
  Place place;
  int meeting = -1;  ///< the file descriptor for join_meeting()
};

/// From the environment: nothing where this process was started by somebody else. Throws BadInput where the variables
/// contradict each other. Call it first of all in main().
std::optional<StartedPlace> place_from_environment();

/// Ranks 1 to N - 1 of a meeting as processes. They run this program with arguments of their own, have an empty
/// standard input and no standard output, ignore SIGINT, inherit no other open file than the meeting, and are killed by
/// the system when this process ends, whatever ends it. Each line that they write to standard error appears on this
/// process's, behind "rank 2: ". One that ends is marked as ended in the meeting.
class StartedRanks {
 public:
  /// `arguments` without the program's name; `environment` as "NAME=value", beside what this process has. All are
  /// running this program when it returns. Throws Error where that fails; then none is left.
  StartedRanks(std::shared_ptr<SharedMeeting> meeting, const std::vector<std::string>& arguments,
               const std::vector<std::string>& environment = {},
               std::chrono::milliseconds grace = std::chrono::seconds(2));
  /// This rank leaves the meeting. Those who have not ended by themselves `grace` later are killed.
  ~StartedRanks();
  StartedRanks(const StartedRanks&) = delete;
  StartedRanks& operator=(const StartedRanks&) = delete;

  /// Those of ranks 1, 2, and so on.
  const std::vector<pid_t>& processes() const { return processes_; }

 private:
  std::shared_ptr<SharedMeeting> meeting_;
  Descriptor stop_;  ///< an event that ends the thread
  std::vector<pid_t> processes_;
  std::thread
      keeper_;  ///< has started the processes, so that they live as long as it does; waits for their end
};

}  // namespace warpscope::ranks
