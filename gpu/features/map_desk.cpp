#include "gpu/features/map_desk.h"

#include <utility>

namespace warpscope::features {

MapDesk::MapDesk() : MapDesk([](const std::string& id) { return core::open_device(id); }) {}
MapDesk::MapDesk(OpenDevice open) : worker_(std::make_unique<Worker>(std::move(open))) {}
MapDesk::~MapDesk() = default;

void MapDesk::start(MapRequest request, FindSubject find) {
  const std::string device = request.subject.device;
  const auto begin = [&](MapState& state) {
    state.busy = true;
    state.method = request.method;
  };
  worker_->start(device, begin,
                 [worker = worker_.get(), request, find = std::move(find)](
                     FeatureMap& maps, std::uint64_t job, const classifiers::Watch& watch) mutable {
                   if (find) request.subject = find(watch);
                   const auto moved = [&](const std::shared_ptr<const MapPicture>& map) {
                     worker->change(job, [&](MapState& state) { state.map = map; });
                   };
                   maps.make(request, moved, watch);
                 });
}

void MapDesk::cancel() {
  worker_->cancel();
}

std::shared_ptr<const MapState> MapDesk::state() const {
  return worker_->state();
}

}  // namespace warpscope::features
