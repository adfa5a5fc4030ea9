#pragma once
// Looks into a training, as often as they cost little: the observers and when their turn is.

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/engine/engine.h"
#include "gpu/observers/observer.h"
#include "gpu/training/pace.h"
#include "gpu/training/publishing.h"

namespace warpscope::training {

class Watching {
 public:
  /// Holds references to both, of which `engine` looks and `publishing` tells.
  Watching(Engine& engine, Publishing& publishing);

  /// What is asked for from now on.
  void ask(const ObservationRequest& request);
  /// CopyWeights::number.
  void copy_weights(std::uint64_t number);
  /// After something else than a step has changed what is seen.
  void look_anew();
  /// The same, and looks may cost something else from now on.
  void forget_costs();
  /// Looks under way are lost, and nothing that was seen is shown any more.
  void follow_network();
  /// Takes what has arrived and, if `starts`, begins the looks that are due.
  void look_if_due(bool starts);
  /// Observations::aside, which somebody else sees; nullptr: nothing.
  void show_aside(std::shared_ptr<const AsideSeen> aside);
  /// What was seen last of what was asked for.
  const Observations& seen() const { return seen_; }
  /// Device time of something else that was shown.
  void add_seconds(double seconds) { seconds_ += seconds; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kNoStep = ~std::uint64_t{0};

  struct Watch {
    std::unique_ptr<Observer> observer;
    std::uint64_t step = kNoStep;  ///< of its last look, as things are
    Pace pace{};
    bool refused = false;            ///< what is asked for cannot be
    bool of_network_before = false;  ///< it was asked for while another network trained
  };
  void ask_observers();
  void look_if_due(Watch& watch);
  void note_probe();
  void measure();

  Engine& engine_;
  Publishing& publishing_;
  std::vector<Watch> watches_;  ///< one an observer
  ObservationRequest asked_;
  std::uint64_t copied_weights_ = 0;                 ///< CopyWeights::number
  Observations seen_;                                ///< the thread's own
  std::shared_ptr<const FeatureProbe> noted_probe_;  ///< the last that became a point
  double seconds_ = 0;                               ///< device time of looks and pictures since last_share_
  Clock::time_point last_share_{};
};

}  // namespace warpscope::training
