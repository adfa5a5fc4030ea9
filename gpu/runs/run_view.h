#pragma once
// How a run folder looks to a window at one moment after the other: what RunSource publishes. For one thread.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gpu/messages/feed.h"
#include "gpu/messages/image_exchange.h"
#include "gpu/messages/image_history.h"
#include "gpu/messages/snapshot.h"
#include "gpu/runs/run_figures.h"
#include "gpu/runs/run_images.h"
#include "gpu/runs/run_predictions.h"
#include "gpu/runs/run_reader.h"
#include "gpu/runs/view_file.h"

namespace warpscope::runs {

/// The points and markers of a run as feed items, each once.
class PointFeed {
 public:
  /// What has come since the last call. Where points were dropped (`restarted`) those that stayed as they
  /// were are not sent again, but for the last one if nothing has come after it: a reader knows from a step that is not
  /// after the last one that the training went back. A training that was reset begins with a Restart.
  std::vector<training::FeedItem> take(const RunPoints& points, bool restarted);
  /// RunPoints::keep_last() has been called, or will be before the next take().
  void keep_last();

 private:
  struct Sent {
    std::uint64_t step = 0;
    double value = 0;
  };
  static std::size_t kept(const std::vector<Sent>& sent, const PointTable& table);
  static void note(std::vector<Sent>& sent, const PointTable& table, std::size_t first);

  std::vector<Sent> steps_;
  std::vector<Sent> tests_;
  std::size_t markers_ = 0;
  std::uint64_t generation_ = 0;
};

/// Whether somebody writes the run. Changes of its files say so; where nothing changes, the lock does.
class Liveness {
 public:
  using Clock = std::chrono::steady_clock;
  /// `changed`: a file of the run has changed since the last call. The first call asks the lock, and
  /// the one that finds a run gone on with.
  bool alive(const std::filesystem::path& folder, bool changed, Clock::time_point now);

 private:
  bool alive_ = false;
  bool asked_ = false;
  bool locks_seen_ = false;  ///< the file system tells of other processes' locks
  Clock::time_point last_change_{};
  Clock::time_point last_asked_{};
};

/// What is read of a run folder.
enum class Reads : std::uint8_t {
  all,
  curves  ///< points, and what is wrong with them
};

class RunView {
 public:
  explicit RunView(std::filesystem::path folder, Reads reads = Reads::all);

  /// Looks at status.json, the pictures and the predictions, and at what `follower` has read in `update`.
  /// True if anything has changed.
  bool look(const Run& run, const RunUpdate& update, Liveness::Clock::time_point now);

  const training::Snapshot& snapshot() const { return snapshot_; }
  /// The items since the last call.
  std::vector<training::FeedItem> take_items();
  const std::shared_ptr<training::ImageExchange>& images() const { return exchange_; }
  /// All pictures that the run keeps; nullptr before the first. It may be read while this one looks on.
  const std::shared_ptr<training::ImageHistory>& history() const { return image_history_; }
  /// A sentence for the person.
  void notice(const std::string& text);

 private:
  bool look_at_curves(const Run& run);
  bool read_status();
  bool read_images();
  bool read_predictions();
  void read_views();
  void show(const training::ShownImages& images);
  void add_to_history(const training::ImageIndex& index);
  void describe(const Run& run);
  void describe_network(const nlohmann::json& head);
  void describe_by_points(const RunPoints& points);
  void describe_predictions(const nlohmann::json& head);
  void set_state(const Run& run);
  void forbid(std::string what);
  void complain(std::string& last, const std::string& text);

  std::filesystem::path folder_;
  Reads reads_;
  std::string name_;  ///< of the folder, printable
  PointFeed points_;
  training::FigureTally tally_;
  Liveness liveness_;
  bool alive_ = false;
  bool described_ = false;

  std::string status_text_, bad_status_text_, status_objection_;
  std::optional<training::Snapshot> status_;  ///< the last good one
  std::string index_text_, bad_index_text_, images_objection_;
  std::shared_ptr<training::ImageExchange> exchange_;
  std::unique_ptr<core::Stream> stream_;  ///< of the exchange's device
  std::shared_ptr<training::ImageHistory> image_history_;
  std::uint64_t history_generation_ = 0;

  ViewReader views_;
  std::string views_objection_;

  std::string predictions_text_, bad_predictions_text_, predictions_objection_;
  std::shared_ptr<const training::Predictions> predictions_;  ///< the last good ones
  std::shared_ptr<const training::Predictions> shown_;  ///< of which the snapshot holds evaluation and images
  std::shared_ptr<const training::Evaluation> shown_evaluation_;
  std::shared_ptr<const training::DataView> shown_data_;
  std::shared_ptr<const training::DataView> named_data_;  ///< the names of the classes without images

  std::string network_text_;  ///< of run.json
  std::shared_ptr<const models::Model> network_;
  std::uint64_t networks_ = 0;        ///< changes since the first
  std::uint64_t network_number_ = 0;  ///< training::number_of() `network_`

  training::Snapshot snapshot_;
  std::vector<training::FeedItem> items_;
  std::string notice_;
  std::uint64_t notices_ = 0;
  std::uint64_t run_notice_id_ = 0;  ///< the newest of the trainer's notices that was shown
  std::size_t notes_ = 0;            ///< of the run's notes, told so far
  bool error_told_ = false;
};

}  // namespace warpscope::runs
