#pragma once
// GPUs of ranks on one host that reach each other's memory, over NVLink or PCIe: each rank has a window in its own
// memory, which all others read and write. CUDA code only.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "gpu/core/both.h"
#include "gpu/core/device.h"
#include "gpu/ranks/group.h"

namespace warpscope::ranks {

inline constexpr int kMostPeers = 8;
inline constexpr int kP2pBlocks = 64;
inline constexpr std::int64_t kP2pFloats = 4 << 20;

// What one rank sends to another without being asked lies in places of the other, each of which says whether something
// has come: this NaN is none that a GPU computes.
inline constexpr std::uint32_t kEmptyPlace = 0xFFFFFFFF;
inline constexpr int kParcelBlocks = 264;  ///< of a kernel that sends: two for each multiprocessor of an H100
/// Two sets of places, which take turns; in each, places for every other rank.
inline constexpr std::int64_t kParcelFloats = 2 * kP2pFloats;
/// Those of one other rank of `size` in one set, a multiple of 4.
WARPSCOPE_BOTH constexpr std::int64_t parcel_floats(int size) {
  return kP2pFloats / (size > 1 ? size - 1 : 1) / 4 * 4;
}

/// The windows of all ranks, as a kernel takes them.
struct P2pWindows {
  int rank = 0;
  int size = 1;
  float* in[kMostPeers] = {};   ///< kP2pFloats floats of each rank: what it gives
  float* out[kMostPeers] = {};  ///< and what all made of it
  std::uint32_t* arrived[kMostPeers] =
      {};                           ///< (2, kMostPeers, kP2pBlocks): how often a block of a rank has come
  std::uint32_t* calls = nullptr;   ///< (kP2pBlocks): calls that this rank's blocks have made
  float* parcels[kMostPeers] = {};  ///< kParcelFloats places of each rank: (2, other ranks, parcel_floats())
  std::uint32_t* parcel_calls = nullptr;  ///< (kParcelBlocks): calls of this rank's blocks that have sent
  const std::uint32_t* give_up =
      nullptr;  ///< not 0: somebody is missing, and nobody waits any more; host memory
};

class P2pLink {
 public:
  virtual ~P2pLink() = default;
  virtual const P2pWindows& windows() const = 0;
  /// Kernels that wait end, with whatever they have. From any thread.
  virtual void give_up() noexcept = 0;
};

/// Opens the windows of all ranks of `group`, each of which calls this with its device, which is current. nullptr on
/// all where GPUs do not reach each other's memory; `why` says it. Waits for all.
std::shared_ptr<P2pLink> link_by_p2p(Group& group, const std::shared_ptr<core::Device>& device,
                                     std::string& why);

}  // namespace warpscope::ranks
