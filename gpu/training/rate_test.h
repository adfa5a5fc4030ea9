#pragma once
// The learning-rate range test of a training. Its steps change the weights, and the weights come back.

#include "gpu/engine/engine.h"
#include "gpu/settings/rate_finder.h"
#include "gpu/training/publishing.h"

namespace warpscope::training {

/// While there is one, the engine's steps are its own. What it finds is in Snapshot::rate_search.
class RateTest {
 public:
  /// Begins with the weights as they are; all steps before have come. Holds the references. Throws core::BadInput as
  /// check(options) does.
  RateTest(Engine& engine, Publishing& publishing, const RateFinderOptions& options);

  /// A step. Waits. False if it was the last one.
  bool advance();
  /// The engine's state is that from before.
  void end(bool cancelled);
  /// The ranks that made the steps are gone: what end() would have brought back.
  EngineState give_up();

 private:
  void tell(bool running, double progress, RateFinderResult result);

  Engine& engine_;
  Publishing& publishing_;
  RateFinder finder_;
  EngineState before_;
};

}  // namespace warpscope::training
