#include "gpu/classifiers/rbf_svm/cuda_distances.h"

#include <algorithm>
#include <array>
#include <memory>

namespace warpscope::classifiers::rbf {

void find_all_distances(const Place& place, const DistanceCall& call,
                        const std::function<void(double)>& told) {
  const std::int64_t all = distance_blocks(call);
  // 132 blocks of 256 slabs take some 0.2 ms.
  const std::int64_t part = std::max<std::int64_t>(1440, std::int64_t{13000} * 256 / std::max(call.slabs, 1));
  std::array<std::unique_ptr<core::Event>, 2> events{place.device->make_event(false),
                                                     place.device->make_event(false)};
  int turn = 0;
  for (std::int64_t first = 0; first < all; first += part) {
    find_distances(*place.stream, call, first, std::min(part, all - first));
    place.stream->record(*events[static_cast<std::size_t>(turn)]);
    turn = 1 - turn;
    // One part runs while the next one is enqueued.
    if (first > 0) events[static_cast<std::size_t>(turn)]->synchronize();
    told(static_cast<double>(first) / static_cast<double>(all));
  }
  place.stream->synchronize();
}

}  // namespace warpscope::classifiers::rbf
