#pragma once
// What looks into a training while it runs: the contract of all observers.

#include "gpu/engine/scene.h"
#include "gpu/messages/observations.h"

namespace warpscope::training {

/// Sees one kind of thing between two steps, again and again. All calls come from the trainer's thread, and
/// none of them waits for the device or takes long: there are steps to enqueue. Work for the host is done by a
/// thread of the observer's own.
class Observer {
 public:
  virtual ~Observer() = default;
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  /// What is asked for from now on. True if that differs from before in what concerns this observer.
  virtual bool ask(const ObservationRequest& request) = 0;
  /// True while something is asked for.
  virtual bool wanted() const = 0;
  /// Enqueues a look on the scene's stream, without waiting. Returns false while the one before has not been
  /// taken, or while it waits for another step. Throws core::BadInput and core::OutOfMemory with a sentence; then
  /// nothing is enqueued.
  virtual bool start(const Scene& scene) = 0;
  /// Puts what has arrived into its field of `seen`; false if nothing has. What is no longer asked for is dropped.
  virtual bool take(Observations& seen) = 0;
  /// Frees what looks need and empties its field of `seen`; a look under way is waited for and lost.
  virtual void end(Observations& seen) = 0;
  /// Another network trains from now on: as end(), and nothing seen so far is shown again. What is asked for stays.
  virtual void restart(Observations& seen) { end(seen); }
  /// Device time of the last look that was taken, in seconds; 0 before the first.
  virtual double seconds() const = 0;
  /// The part of the time that its looks may take.
  virtual double share() const { return 1.0 / 60; }
  /// False for what sees the same as long as the weights are the same: then it looks once a step at most.
  virtual bool goes_on() const { return false; }
};

}  // namespace warpscope::training
