#pragma once
// Looks at the runs of a folder on a thread of its own, so that no disk or network makes a frame wait.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "gpu/runs/settings.h"
#include "gpu/runs/summary.h"
#include "ui/panels/runs/run_listing.h"

namespace warpscope::ui {

/// What the list of runs shows.
struct RunRequest {
  std::filesystem::path folder;              ///< that holds runs
  std::filesystem::path present;             ///< the run of this window; "" if it writes none
  std::vector<std::filesystem::path> shown;  ///< their settings are compared with those of the present one
  std::filesystem::path also = {};           ///< another folder that holds runs; "" for none
  bool operator==(const RunRequest&) const = default;
};

/// The runs of the folder; immutable once made.
struct RunList {
  std::vector<runs::RunSummary> runs;       ///< newest first, without the present one
  std::string error;                        ///< why there are none; "" if nothing is wrong
  std::optional<runs::RunSummary> present;  ///< runs::summarize_settings(), if it writes a run
};

/// Where the settings of the runs shown differ; immutable once made.
struct RunSettings {
  std::vector<std::filesystem::path> runs;  ///< the present one first, if it writes a run
  std::vector<runs::SettingDifference> differences;
  bool operator==(const RunSettings&) const = default;
};

/// The folder whose runs are listed: that of the present run, "runs" without one, or if it is recorded among the user's
/// data.
std::filesystem::path folder_of_runs(const std::string& run_dir);
/// That of the user's data, which are listed too; "" where it is unknown.
std::filesystem::path folder_of_user_runs();

class RunLoader {
 public:
  RunLoader() = default;
  /// Waits for the piece of a file that is being read.
  ~RunLoader() = default;
  RunLoader(const RunLoader&) = delete;
  RunLoader& operator=(const RunLoader&) = delete;

  /// std::nullopt: nobody looks, and the folder is left alone. The thread begins with the first request.
  void request(std::optional<RunRequest> request);
  /// nullptr until the folder has been looked at.
  std::shared_ptr<const RunList> list() const;
  std::shared_ptr<const RunSettings> settings() const;
  /// Grows with everything new.
  std::uint64_t version() const { return version_; }

 private:
  void work(const std::stop_token& stop);
  void look_at_list(const RunRequest& request, const std::stop_token& stop);
  void compare_settings(const RunRequest& request);

  mutable std::mutex mutex_;  ///< of what follows
  std::condition_variable_any wake_;
  std::optional<RunRequest> request_;
  bool changed_ = false;
  std::shared_ptr<const RunList> list_;
  std::shared_ptr<const RunSettings> settings_ = std::make_shared<RunSettings>();
  std::atomic<std::uint64_t> version_ = 0;

  RunListing listing_, also_;  ///< the thread's

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace warpscope::ui
