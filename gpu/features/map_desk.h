#pragma once
// The thread that maps features beside a training, one map at a time.

#include <memory>
#include <string>

#include "gpu/features/desk_thread.h"
#include "gpu/features/feature_map.h"

namespace warpscope::features {

/// What the desk has done so far: complete and immutable, the newest replaces the one before.
struct MapState : DeskProgress {
  bool busy = false;   ///< a map is under way
  std::string method;  ///< of the last job
  std::shared_ptr<const MapPicture>
      map;  ///< as it is now; after a cancel as far as it came; nullptr before the first

  void rest() { busy = false; }
};

class MapDesk : public DeskThread<MapState, FeatureMap> {
 public:
  using DeskThread::DeskThread;
  /// Returns at once. What is under way is cancelled and replaced.
  /// `find`: as FeatureDesk takes it.
  void start(MapRequest request, FindSubject find = {});
};

}  // namespace warpscope::features
