#pragma once
// What others see of a training: snapshots, feeds, pictures and looks inside.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gpu/messages/feed.h"
#include "gpu/messages/image_exchange.h"
#include "gpu/messages/observations.h"
#include "gpu/messages/snapshot.h"
#include "gpu/runs/run_figures.h"
#include "gpu/training/thinned_points.h"
#include "gpu/training/trainer.h"

namespace warpscope::training {

class Publishing {
 public:
  // Calls of any thread; none waits for the device.
  std::shared_ptr<const Snapshot> snapshot() const;
  /// The first gets all from the beginning, as long as that is no more than 100,000 items.
  std::shared_ptr<Feed> subscribe();
  /// The same; whoever subscribes next still counts as the first.
  std::shared_ptr<Feed> subscribe_recorder();
  std::shared_ptr<ImageExchange> images() const;
  Observations observations() const;
  Ending ending() const;
  /// True if `condition` holds for a snapshot before `seconds` have passed. It is asked without any lock.
  bool wait_until(const std::function<bool(const Snapshot&)>& condition, double seconds) const;

  /// For those who have subscribed, not for who records: it has these already.
  void tell_again(const std::vector<FeedItem>& items);
  /// For what cannot wait until the trainer's thread publishes: it may stand still.
  void log_at_once(LogLevel level, const std::string& text);
  /// Snapshot::awaited, likewise at once.
  void set_awaited(const std::string& text);

  // Calls of the trainer's thread.
  /// What the next snapshot will say.
  Snapshot view;
  /// Those of `view`, which has the only ones.
  const TrainingSettings& settings() const { return *view.settings; }
  template <class Edit>
  void edit_settings(Edit edit) {
    auto next = std::make_shared<TrainingSettings>(settings());
    edit(*next);
    view.settings = std::move(next);
  }
  void notice(const std::string& text);
  void log(LogLevel level, const std::string& text);
  /// Tells `text` as a notice and in the log.
  void tell(const std::string& text, LogLevel level = LogLevel::warning);
  /// A marker of the curve, which the log tells by `logged`.
  void mark(std::uint64_t step, const std::string& text, const std::string& logged, bool anew = false);
  void emit(FeedItem item);
  /// What was emitted goes to the feeds; the snapshot stays.
  void send();
  bool has_unsent() const { return !unsent_.empty(); }
  /// The recorder gets what was emitted; the others do when it is sent.
  void send_to_recorder();
  /// What was emitted is told to nobody else.
  void drop_unsent();
  /// Points are kept from now on for a training that nobody records.
  void keep_points() { kept_ = std::make_unique<ThinnedPoints>(); }
  const ThinnedPoints* kept_points() const { return kept_.get(); }
  FigureTally& tally() { return tally_; }
  /// True 16 ms after the last one.
  bool due(std::chrono::steady_clock::time_point now) const;
  /// `view` becomes the snapshot, and what was emitted goes to the feeds.
  void publish(std::chrono::steady_clock::time_point now);
  void show(Observations seen);
  void offer(std::shared_ptr<ImageExchange> images);
  void end_with(std::vector<float> parameters);
  void end_with(std::vector<core::PhaseTime> phases);
  void end_with(std::shared_ptr<const HandOver> hand_over);
  /// What has been told already, of which only the figures and the points that are kept shall know.
  void note(const FeedItem& item);

 private:
  void send_unsent();
  std::vector<FeedItem> unrecorded() const;
  std::shared_ptr<Feed> add_feed();

  std::vector<FeedItem> unsent_;
  std::size_t recorded_ = 0;             ///< of these: the recorder has them
  FigureTally tally_;                    ///< of the points so far
  std::unique_ptr<ThinnedPoints> kept_;  ///< nullptr where the run is recorded
  std::chrono::steady_clock::time_point last_{};

  mutable std::mutex mutex_;  ///< of everything below
  mutable std::condition_variable newer_;
  std::shared_ptr<const Snapshot> published_ = std::make_shared<Snapshot>();
  std::string awaited_;
  std::shared_ptr<ImageExchange> images_;
  Observations seen_;
  Ending ending_;
  std::vector<std::weak_ptr<Feed>> feeds_;
  std::weak_ptr<Feed> recorder_;  ///< one of them
  /// What has come since the beginning, until somebody has subscribed: who comes a moment later misses nothing. Those
  /// after the first get what was emitted before the first step.
  std::vector<FeedItem> history_;
  bool subscribed_ = false;
};

}  // namespace warpscope::training
