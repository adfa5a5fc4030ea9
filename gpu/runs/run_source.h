#pragma once
// A run folder as a source for the window: finished, or still being written by another process on any machine
// that sees the folder. A thread looks at the files a few times a second (no notification from the file
// system is needed) and publishes snapshots, points and pictures as a trainer does. Nothing is written.
//
// What metrics.jsonl tells comes from there; the rest (state, times of the ops, selection, memory, ...) from
// status.json, and where there is none from run.json as far as that goes. A file that is damaged or half written leaves
// the last good state, with a notice.

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gpu/messages/source.h"
#include "gpu/runs/run_reader.h"
#include "gpu/runs/run_view.h"

namespace warpscope::runs {

class RunSource : public training::Source {
 public:
  /// Throws core::BadInput if `folder` holds no run. Reads what is there in the thread: the first snapshots
  /// may say `preparing`. A source that reads only curves has one subscriber: it keeps only the last of the points that
  /// it has told, since runs are long and many may be looked at.
  explicit RunSource(const std::filesystem::path& folder, Reads reads = Reads::all);
  ~RunSource() override;
  RunSource(const RunSource&) = delete;
  RunSource& operator=(const RunSource&) = delete;

  std::shared_ptr<const training::Snapshot> snapshot() const override;
  /// Everything that the run has, from its start.
  std::shared_ptr<training::Feed> subscribe() override;
  std::shared_ptr<training::ImageExchange> images() const override;
  std::shared_ptr<const training::ImageHistory> history() const override;
  void stop() override;

 protected:
  /// Refused, with a notice: another process trains the run.
  void queue(training::Command command, std::uint64_t number) override;
  /// What became of a command; `told`, if it is a sentence, comes as a notice.
  void answer(std::uint64_t number, bool taken, std::string told = "");

 private:
  void work(const std::stop_token& stop);
  bool read(RunView& view);
  void publish(RunView& view);

  RunFollower follower_;
  Reads reads_;
  bool restarted_ = false;    ///< what is read anew is not told yet; the thread's
  mutable std::mutex mutex_;  ///< of everything below
  std::condition_variable_any wake_;
  std::vector<std::string> to_tell_;
  bool answered_ = false;  ///< a command, since the last snapshot
  training::Answers answers_;
  std::shared_ptr<const training::Snapshot> published_;
  std::shared_ptr<training::ImageExchange> exchange_;
  std::shared_ptr<const training::ImageHistory> image_history_;
  std::vector<std::weak_ptr<training::Feed>> feeds_;
  std::vector<training::FeedItem> history_;  ///< since the last restart, for subscribers that come later
  std::jthread thread_;
};

}  // namespace warpscope::runs
