#pragma once
// GPUs of several ranks, linked by NCCL: over NVLink, PCIe or the network, whatever it finds. CUDA code only.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "gpu/core/device.h"
#include "gpu/ranks/group.h"

namespace warpscope::ranks {

class NcclLink {
 public:
  virtual ~NcclLink() = default;
  /// Sums that wait for other ranks end, with whatever they have, and none is made any more. From any thread.
  virtual void give_up() noexcept = 0;
  /// Enqueues values[i] = the sum over ranks of weight x values[i], in FP32, for each of `count` spans that do not
  /// overlap, as one collective. All ranks enqueue the same ones in the same order. Throws core::Error.
  struct Span {
    float* values;
    std::size_t count;
  };
  /// How much of the GPU it may take: `little` leaves room for other work.
  enum class Room : std::uint8_t { any, little };
  virtual void sum(const Span* spans, std::size_t count, float weight, core::Stream& stream, Room room) = 0;
};

/// Links the devices of all ranks of `group`, each of which calls this with its own, which is current. nullptr on all
/// where one of them has no NCCL or is no GPU or where two share a GPU; `why` says it. Waits for all.
std::shared_ptr<NcclLink> link_by_nccl(Group& group, const core::Device& device, std::string& why);

}  // namespace warpscope::ranks
