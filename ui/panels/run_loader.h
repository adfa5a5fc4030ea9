#pragma once
// Reads earlier runs on a thread of its own, so that no disk or network makes a frame wait.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "gpu/runs/settings.h"
#include "gpu/runs/summary.h"
#include "ui/panels/run_curves.h"
#include "ui/panels/run_listing.h"

namespace warpscope::ui {

/// A run whose curves are wanted. A run that is removed and shown again gets a new `id`.
struct WantedRun {
  std::filesystem::path folder;
  std::uint64_t id = 0;
  bool operator==(const WantedRun&) const = default;
};

/// What the window needs.
struct RunRequest {
  std::filesystem::path folder;      ///< that holds runs
  std::filesystem::path present;     ///< the run of this window; "" if it writes none
  bool list = false;                 ///< the list of runs is on the screen
  std::vector<WantedRun> shown;      ///< runs whose curves are wanted
  std::vector<CurveChoice> choices;  ///< of each plot
  std::uint64_t serial = 0;          ///< changes when all curves are to be read again
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
};

/// What was read of one run's curves.
struct RunUpdate {
  std::uint64_t id = 0;  ///< WantedRun::id
  std::uint64_t serial = 0;
  NewPoints points;
  std::string error;  ///< why there are no curves; "" if nothing is wrong
};

class RunLoader {
 public:
  RunLoader();
  /// Waits for the piece of a file that is being read.
  ~RunLoader() = default;
  RunLoader(const RunLoader&) = delete;
  RunLoader& operator=(const RunLoader&) = delete;

  void request(RunRequest request);
  /// nullptr until the folder has been looked at.
  std::shared_ptr<const RunList> list() const;
  std::shared_ptr<const RunSettings> settings() const;
  /// What was read of curves since the last call, in order.
  std::vector<RunUpdate> take();
  /// Grows with everything new.
  std::uint64_t version() const { return version_; }

 private:
  void work(const std::stop_token& stop);
  RunRequest wait_for_request(std::unique_lock<std::mutex>& lock, const std::stop_token& stop, bool hurry);
  void look_at_list(const RunRequest& request, const std::stop_token& stop);
  bool advance_curves(const RunRequest& request, const std::stop_token& stop);
  bool advance(const RunRequest& request, const WantedRun& run);
  void compare_settings(const RunRequest& request);
  void publish(RunUpdate update);

  mutable std::mutex mutex_;  ///< of what follows
  std::condition_variable_any wake_;
  RunRequest request_;
  bool changed_ = false;
  std::vector<RunUpdate> updates_;
  std::shared_ptr<const RunList> list_;
  std::shared_ptr<const RunSettings> settings_ = std::make_shared<RunSettings>();
  std::atomic<std::uint64_t> version_ = 0;

  // Of the thread.
  RunListing listing_;
  struct Reader {
    std::unique_ptr<RunCurveReader> curves;  ///< nullptr: the folder holds no run
    std::uint64_t serial = 0;
  };
  std::map<std::uint64_t, Reader> readers_;  ///< by WantedRun::id

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace warpscope::ui
