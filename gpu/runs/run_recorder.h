#pragma once
// Writes a run while it happens: every point and marker to metrics.jsonl, the configuration and at the end
// the results to run.json. Works on a thread of its own, so that a slow disk never slows the training.
//
// metrics.jsonl holds one object a line: a step {step, epoch, loss, learning_rate, images_per_second,
// seconds, gradient_norm, update_ratio; loss_scale, skipped in fp16; accuracy with labels; head_loss, head_accuracy
// with a head}, an evaluation {step, epoch, test_loss, psnr or accuracy, seconds, split where it is "validation"}, or a
// marker {step, seconds, marker; anew where earlier weights came back}. The marker "reset" at step 0 begins
// another training; one that goes on where an earlier one was left begins so too, with the lines of that one once
// more.
//
// For other processes that show the run it writes status.json and images/ too (run_status.h), and what views show at
// earlier steps (run_views.h).

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "gpu/messages/feed.h"
#include "gpu/runs/run_figures.h"
#include "gpu/runs/run_folder.h"
#include "gpu/runs/run_status.h"
#include "gpu/runs/run_views.h"

namespace warpscope::training {

/// The time in UTC, as run.json has it: "2026-01-31T23:59:59Z".
std::string utc_now();

class RunRecorder {
 public:
  /// Writes run.json with `head`, the time ("started") if that has none, and status "running". Throws core::Error.
  /// `before` has the points of a run that is gone on with.
  RunRecorder(RunFolder folder, std::shared_ptr<Feed> feed, nlohmann::json head, FigureTally before = {});
  /// Writes what has come, without results.
  ~RunRecorder();
  RunRecorder(const RunRecorder&) = delete;
  RunRecorder& operator=(const RunRecorder&) = delete;

  /// Writes the points that have come now, and waits for that: what follows them in time may be relied on.
  void write();

  /// Sets a key of run.json, which is written a moment later.
  void set(const std::string& key, nlohmann::json value);

  /// Writes everything that has come and the results, with `status` ("finished" or "failed") and `error` if
  /// not empty. Throws core::Error if something could not be written.
  void finish(const std::string& status, const std::string& error);

  /// The first write that failed, in one sentence; "" if none. Never waits for the disk.
  std::string error() const;

  /// What the snapshots and pictures that other processes see are made of. Never waits for the disk.
  RunStatus& status() { return status_; }
  /// Where the feed's kept views go. Never waits for the disk.
  RunViews& views() { return views_; }

  /// The figures of all points that have been taken so far.
  RunFigures figures() const;

 private:
  void work(const std::stop_token& stop);
  void write_points();
  void note(const FeedItem& item, std::string& lines);
  void note(const Point& point, std::string& lines);
  void note(const Return& back, std::string& lines);

  RunFolder folder_;
  RunStatus status_;
  RunViews views_;
  std::shared_ptr<Feed> feed_;
  nlohmann::json head_;
  std::atomic<bool> failed_ = false;  ///< error_ says why
  mutable std::mutex mutex_;          ///< of everything below, and of the folder
  std::condition_variable_any wake_;
  std::string error_;
  bool head_changed_ = false;
  FigureTally tally_;
  std::jthread thread_;
};

}  // namespace warpscope::training
