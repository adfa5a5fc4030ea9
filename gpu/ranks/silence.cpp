#include "gpu/ranks/silence.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace warpscope::ranks {

std::chrono::milliseconds Silence::note(int rank, std::uint32_t answers, std::chrono::milliseconds passed) {
  Seen& seen = seen_[static_cast<std::size_t>(rank)];
  seen = answers != seen.answers ? Seen{answers, {}} : Seen{answers, seen.since + passed};
  return seen.since;
}

std::vector<int> Silence::silent() const {
  std::vector<int> ranks;
  for (int rank = 0; std::cmp_less(rank, seen_.size()); ++rank) {
    const Seen& seen = seen_[static_cast<std::size_t>(rank)];
    if (seen.answers > 0 && seen.since >= kSilent) ranks.push_back(rank);
  }
  return ranks;
}

void Silence::tell(const std::function<std::string(int rank)>& name_of,
                   const std::function<bool(int rank)>& stopped) {
  if (!tell_) return;
  std::vector<int> silent;
  std::string names;
  std::chrono::milliseconds longest{0};
  for (int rank = 0; std::cmp_less(rank, seen_.size()); ++rank) {
    const Seen& seen = seen_[static_cast<std::size_t>(rank)];
    if (seen.since < kSilent) continue;
    if (seen.answers == 0 && seen.since < first_within_ && !stopped(rank)) continue;
    silent.push_back(rank);
    names += (names.empty() ? "" : ", ") + name_of(rank);
    longest = std::max(longest, seen.since);
  }
  if (silent == told_) return;
  if (silent.empty()) return end();
  told_ = silent;
  const bool one = silent.size() == 1;
  tell_(silent, fmt::format("{} {} not answered within {:.1f} s while {}{}", names, one ? "has" : "have",
                            std::chrono::duration<double>(longest).count(), one ? "it begins" : "they begin",
                            awaited_.empty() ? "" : "; the others wait for " + awaited_));
}

void Silence::end() {
  if (told_.empty()) return;
  told_.clear();
  tell_({}, "all ranks answer again");
}

}  // namespace warpscope::ranks
