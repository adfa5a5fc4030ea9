#include "gpu/features/map_desk.h"

#include <utility>

namespace warpscope::features {

void MapDesk::start(MapRequest request, FindSubject find) {
  const std::string device = request.subject.device;
  const auto begin = [&](MapState& state) {
    state.busy = true;
    state.method = request.method;
  };
  DeskThread::start(device, begin,
                    [this, request, find = std::move(find)](FeatureMap& maps, std::uint64_t job,
                                                            const classifiers::Watch& watch) mutable {
                      if (find) request.subject = find(watch);
                      const auto moved = [&](const std::shared_ptr<const MapPicture>& map) {
                        change(job, [&](MapState& state) { state.map = map; });
                      };
                      maps.make(request, moved, watch);
                    });
}

}  // namespace warpscope::features
