#pragma once
// Other programs: a compiler, or this one again for a trial. They have an empty standard input, inherit no open file
// but the one that is named, are the head of a process group of their own, and are killed with it when their time is
// over.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "gpu/ranks/descriptor.h"

namespace warpscope::user_kernels {

/// How a process has ended.
struct End {
  int code = 0;         ///< exit code, where no signal ended it
  int signal = 0;       ///< that ended it; 0: none
  bool killed = false;  ///< by this process, since `go_on` said no
};

class Process {
 public:
  /// Which process the system ends where memory runs out.
  enum class Worth { less, same };

  /// `errors` becomes its standard output and its standard error, `given` its descriptor 3; -1: neither. `program` is
  /// looked up on the PATH unless it has a slash. Beside the process that starts it, it is worth less where the system
  /// has to end one. Throws core::Error where it cannot be started.
  Process(const std::string& program, const std::vector<std::string>& arguments, int errors, int given = -1,
          Worth worth = Worth::less);
  /// Kills its group where it has not ended.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return id_; }
  /// Waits for its end, and kills it and its group as soon as `go_on`, which is asked every few milliseconds, says no.
  End wait(const std::function<bool()>& go_on);

 private:
  pid_t id_ = -1;
};

/// CPU time that a process has used; 0 where it is not known.
std::chrono::duration<double> cpu_time_of(pid_t process);

/// Whether its first thread runs, or would if it were given a processor: it does not sleep.
bool is_busy(pid_t process);

/// A file in memory that other processes can be given. Throws core::Error.
ranks::Descriptor memory_file(const char* name);

/// What such a file holds, as far as `most` bytes.
std::string contents_of(const ranks::Descriptor& file, std::size_t most);

}  // namespace warpscope::user_kernels
