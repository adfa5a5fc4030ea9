#pragma once
// What rank 0 waits for while a GPU adds over ranks: no call of a group waits then that could name who has not come.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu/ranks/collective.h"
#include "gpu/ranks/group.h"

namespace warpscope::ranks {

/// By looks, of which none lasts longer than the caller says. Used by one thread.
class DeviceWait {
 public:
  /// The wait for `step` (0: there is none) in `collective` goes on, `passed` after the last look; `silent` ranks have
  /// not answered for about a second. Tells once where it has lasted as long, and again when it has ended.
  void look(const std::optional<Collective>& collective, std::uint64_t step, const std::vector<int>& silent,
            std::chrono::milliseconds passed, const TellSlow& tell);

 private:
  std::uint64_t step_ = 0;
  std::chrono::milliseconds waited_{0};
  std::vector<int> told_;
  std::string purpose_;
};

}  // namespace warpscope::ranks
