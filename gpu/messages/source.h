#pragma once
// What a window reads a training from: the trainer of its own process, or the folder of a run that another
// process trains or has trained (gpu/runs/run_source.h). No call waits for a device or a disk.

#include <cstdint>
#include <memory>
#include <utility>

#include "gpu/messages/commands.h"
#include "gpu/messages/feed.h"
#include "gpu/messages/image_exchange.h"
#include "gpu/messages/image_history.h"
#include "gpu/messages/observations.h"
#include "gpu/messages/snapshot.h"

namespace warpscope::jobs {
class Jobs;
}

namespace warpscope::training {

class Source {
 public:
  virtual ~Source() = default;

  /// Queues a command; it takes effect at the next step boundary. Where it cannot steer
  /// (Snapshot::can) every command is refused: with a notice, and nothing else happens. Snapshot::answers tells by
  /// `number` what became of it: the sender counts its commands from 1; 0 asks for no answer.
  void send(Command command, std::uint64_t number = 0) { queue(std::move(command), number); }
  /// The newest complete snapshot; never nullptr.
  virtual std::shared_ptr<const Snapshot> snapshot() const = 0;
  /// A queue of everything from now on (from the start if called before the first step; of a run folder
  /// always from the start).
  virtual std::shared_ptr<Feed> subscribe() = 0;
  /// The image batches; nullptr while preparing and if none are shown.
  virtual std::shared_ptr<ImageExchange> images() const = 0;
  /// How the pictures came about; nullptr where there are no pictures.
  virtual std::shared_ptr<const ImageHistory> history() const { return nullptr; }
  /// What was last seen of what Observe asked for. The run folders of other processes hold nothing of it.
  virtual Observations observations() const { return {}; }
  /// Work beside the training, as long as the source is there; nullptr where none can be done.
  virtual jobs::Jobs* jobs() { return nullptr; }
  /// Nobody looks any more. Who lets several sources go calls it of all first, so that their threads end together.
  virtual void stop() {}

 private:
  virtual void queue(Command command, std::uint64_t number) = 0;
};

}  // namespace warpscope::training
