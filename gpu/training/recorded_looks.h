#pragma once
// What views show at earlier steps, for the run that is recorded: what windows have asked to see, and looks that nobody
// has asked for, at steps even on a logarithm and for a small part of the time.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gpu/engine/engine.h"
#include "gpu/messages/kept_view.h"
#include "gpu/messages/view_lanes.h"
#include "gpu/observers/observer.h"
#include "gpu/training/publishing.h"

namespace warpscope::training {

/// How much looks may take that nobody has asked for: one begins while those so far and the next take no more than a
/// share of the time that was trained.
class LookBudget {
 public:
  using Clock = std::chrono::steady_clock;

  explicit LookBudget(double share) : share_(share) {}

  /// Once between two steps; `trains`: the time until the next call counts as training.
  void pass(Clock::time_point now, bool trains) {
    if (since_) trained_ += std::chrono::duration<double>(now - *since_).count();
    since_ = trains ? std::optional(now) : std::nullopt;
  }
  /// `cost`: seconds of the next look.
  bool allows(double cost) const { return spent_ + cost <= share_ * trained_; }
  void spend(double seconds) { spent_ += seconds; }

 private:
  double share_, trained_ = 0, spent_ = 0;
  std::optional<Clock::time_point> since_;
};

/// All calls come from the trainer's thread. What is to be recorded goes to the feeds as KeptView.
class RecordedLooks {
 public:
  /// Holds the references. `share`: of the time.
  RecordedLooks(Engine& engine, Publishing& publishing, double share);
  ~RecordedLooks();
  RecordedLooks(const RecordedLooks&) = delete;
  RecordedLooks& operator=(const RecordedLooks&) = delete;

  /// Once between two steps. `seen`: what windows have asked for; `trains`: looks may begin.
  void turn(const Observations& seen, bool trains);
  /// After the last step: all kinds once more, which nobody waits for any more. Waits for the device.
  void finish(const Observations& seen);
  /// Looks under way are lost.
  void follow_network();

 private:
  using Clock = LookBudget::Clock;
  /// What is looked at unasked.
  struct Subject {
    ViewKey key;
    std::size_t observer = 0;  ///< of observers_
  };
  struct Look {
    std::unique_ptr<Observer> observer;
    double cost;           ///< seconds of one, as far as is known
    double host = 0;       ///< of the present one, in this thread
    bool refused = false;  ///< this network or device cannot have it
  };

  bool records() const;
  void follow_training();
  void note(const Observations& seen, Observations& before, bool last);
  void note_view(bool last);
  void note(KeptView::Seen seen, bool last);
  void point_at(std::int64_t image);
  std::vector<Subject> subjects() const;
  std::optional<Subject> next() const;
  bool begin(const Subject& subject);
  bool begin_last(const Subject& subject);
  bool take(bool last);
  void stop();

  Engine& engine_;
  Publishing& publishing_;
  LookBudget budget_;
  std::int64_t test_images_;
  std::vector<Look> looks_;
  std::optional<Subject> under_way_;
  Clock::time_point next_turn_{};
  bool used_ = false;  ///< an observer has looked
  Observations own_;   ///< what nobody has asked for
  std::vector<std::int64_t>
      images_;  ///< whose activations are recorded; the one that was pointed at last is the first
  ViewLanes<std::monostate> lanes_;  ///< the steps that were told
  std::string folder_;               ///< of the run
  std::uint64_t generation_ = 0;
  std::shared_ptr<const models::Model> network_;
  std::uint64_t network_number_ = 0;  ///< number_of() it
  // What was noted last.
  Observations noted_;
  std::shared_ptr<const Evaluation> noted_evaluation_;
  std::uint64_t noted_step_ = 0;
};

}  // namespace warpscope::training
