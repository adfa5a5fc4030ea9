#pragma once
// The runs of a folder with their key figures, looked at again and again at little cost. Reads files: not for
// the GUI's thread.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "gpu/runs/run_reader.h"
#include "gpu/runs/summary.h"

namespace warpscope::ui {

/// What is wrong with a run, in one sentence: what is damaged or why it failed; "" if nothing is.
std::string problem_of(const runs::RunSummary& run);

class RunListing {
 public:
  /// The runs in `folder`, newest first, without the one at `leave_out`. What has not changed since the last
  /// call is not read again; of a run that is being written only what it has gained. Ends early, with what
  /// there is, once `stop` is requested. A folder that does not exist holds none. Throws
  /// core::BadInput if the folder cannot be read.
  std::vector<runs::RunSummary> look(const std::filesystem::path& folder,
                                     const std::filesystem::path& leave_out, const std::stop_token& stop);

 private:
  struct Stamp {
    std::uintmax_t bytes = 0;
    std::filesystem::file_time_type time;
    bool operator==(const Stamp&) const = default;
  };
  struct Known {
    Stamp head, metrics;
    runs::RunSummary summary;
    std::unique_ptr<runs::RunFollower> follower;  ///< of a run that is being written
  };

  static Stamp stamp_of(const std::filesystem::path& file);
  static void look_at(const std::filesystem::path& folder, const std::stop_token& stop, Known& known);

  std::map<std::filesystem::path, Known> known_;
};

}  // namespace warpscope::ui
