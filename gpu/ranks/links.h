#pragma once
// How fast bytes get from one rank to another.

#include <memory>
#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/ranks/group.h"
#include "gpu/ranks/p2p.h"

namespace warpscope::ranks {

struct LinkTable {
  std::string over;                                ///< what the bytes went over, in words
  std::vector<std::vector<double>> gb_per_second;  ///< [to][from], of 1e9 bytes; 0 from a rank to itself
};

/// One pair of ranks after the other moves 16 MB (1 MB where there are more than 16 ranks) while the others wait; the
/// best of three times counts. Where `peers` is not nullptr on all ranks, each GPU reads the memory of the other by
/// itself; nothing else may use their windows meanwhile. Else the two give each other as much through the host, both
/// ways at once. The same on all ranks, each of which calls it with its own device. Waits.
LinkTable measure_links(Group& group, const std::shared_ptr<core::Device>& device, const P2pLink* peers);

}  // namespace warpscope::ranks
