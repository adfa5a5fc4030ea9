#include "gpu/ranks/device_wait.h"

#include <fmt/format.h>

#include "gpu/ranks/shared_region.h"
#include "gpu/ranks/silence.h"

namespace warpscope::ranks {

void DeviceWait::look(const std::optional<Collective>& collective, std::uint64_t step,
                      const std::vector<int>& silent, std::chrono::milliseconds passed,
                      const TellSlow& tell) {
  const auto seconds = [this] { return std::chrono::duration<double>(waited_).count(); };
  waited_ += passed;
  if (step != step_ || step == 0 || !collective) {
    if (!told_.empty()) {
      tell({}, fmt::format("{} {} come to {} after {:.1f} s", names(told_),
                           told_.size() == 1 ? "has" : "have", purpose_, seconds()));
    }
    told_.clear();
    step_ = collective ? step : 0;
    waited_ = {};
    return;
  }
  if (!told_.empty() || silent.empty() || waited_ < kSilent) return;
  told_ = silent;
  purpose_ = told(*collective, step);
  tell(told_, fmt::format("{} {} not come to {} within {:.1f} s", names(told_),
                          told_.size() == 1 ? "has" : "have", purpose_, seconds()));
}

}  // namespace warpscope::ranks
