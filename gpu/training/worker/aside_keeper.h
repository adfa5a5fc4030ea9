#pragma once
// A past step of the training that is looked at while the training goes on: another training, in this process, begins
// at the moment before that step, makes the steps again, and stands still there (Surroundings::aside).

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "gpu/messages/observations.h"
#include "gpu/messages/snapshot.h"
#include "gpu/training/trainer.h"

namespace warpscope::training {

struct TrainingContext;

class AsideKeeper {
 public:
  explicit AsideKeeper(TrainingContext& training) : training_(training) {}

  /// As LookAside: that step in the place of another; 0: none. Throws core::Error, with nothing changed.
  void look(std::uint64_t step);
  /// What is asked for of the training is asked for of that step, too.
  void observe(const ObservationRequest& request);
  /// Once between two steps: takes what has become of it, and lets it go where it is not this training's past any more.
  void turn();
  /// Nobody waits until it has ended.
  void let_go();
  /// It takes the device's time from the training's steps: until it stands still and has seen once what there is to
  /// be seen.
  bool works() const;

 private:
  void refuse(std::uint64_t step) const;
  TrainerOptions options(std::uint64_t step) const;
  void begin();
  void end_trainer();
  void fail(const std::string& why);
  void show(const Snapshot& inside);

  TrainingContext& training_;
  ObservationRequest request_;
  std::optional<TrainerOptions> waiting_;  ///< to begin with
  std::unique_ptr<Trainer> trainer_;
  std::uint64_t generation_ = 0, network_ = 0;         ///< of the training, when the trainer was made
  AsideSeen seen_;                                     ///< shown last
  bool evaluates_ = false;                             ///< held-out images, after its last step
  std::shared_ptr<const LatentMap> latents_, places_;  ///< the map that came last, and what is shown of it
  std::atomic<bool> ends_ = false;                     ///< `ending_` is at it
  std::jthread ending_;                                ///< the trainer from before
};

}  // namespace warpscope::training
