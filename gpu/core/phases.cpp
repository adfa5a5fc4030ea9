#include "gpu/core/phases.h"

#include <algorithm>
#include <utility>

namespace warpscope::core {

void Phases::stop_clock() {
  const auto now = Clock::now();
  if (!phases_.empty()) phases_[current_].seconds += std::chrono::duration<double>(now - since_).count();
  since_ = now;
}

void Phases::begin(std::string_view name) {
  stop_clock();
  const auto known = std::ranges::find_if(phases_, [&](const PhaseTime& each) { return each.phase == name; });
  current_ = static_cast<std::size_t>(known - phases_.begin());
  if (known == phases_.end()) phases_.push_back({std::string(name), 0.0});
}

std::string_view Phases::current() const {
  return phases_.empty() ? std::string_view() : std::string_view(phases_[current_].phase);
}

std::vector<PhaseTime> Phases::end() {
  stop_clock();
  current_ = 0;
  return std::exchange(phases_, {});
}

}  // namespace warpscope::core
