#include "gpu/ranks/clocks.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <iterator>

#include "gpu/core/error.h"
#include "gpu/core/require.h"

namespace warpscope::ranks {
namespace {

constexpr std::size_t kEncounters = 6;
constexpr std::size_t kLettersOfBoot = 40;

/// What a rank tells the others of its clock.
struct ClockReadings {
  std::array<char, kLettersOfBoot>
      boot{};  ///< names the machine since it was started; empty if it is not known
  std::array<Encounter, kEncounters> encounters{};
};

std::int64_t round_trip(const Encounter& mine, const Encounter& other) {
  return std::max<std::int64_t>((mine.left - mine.came) + (other.left - other.came), 0);
}

void note_boot(std::array<char, kLettersOfBoot>& to) {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  file.read(to.data(), static_cast<std::streamsize>(to.size() - 1));
}

bool share_a_clock(const ClockReadings& a, const ClockReadings& b, const ClockOffset& offset) {
  // Containers may have set their clocks apart.
  return a.boot.front() != '\0' && a.boot == b.boot && std::abs(offset.microseconds) <= offset.uncertainty;
}

}  // namespace

ClockOffset offset_between(std::span<const Encounter> mine, std::span<const Encounter> other) {
  core::require(!mine.empty() && mine.size() == other.size(), "clocks need the same exchanges to compare");
  std::size_t best = 0;
  for (std::size_t i = 1; i < mine.size(); ++i) {
    if (round_trip(mine[i], other[i]) < round_trip(mine[best], other[best])) best = i;
  }
  const std::int64_t there = other[best].left - mine[best].came;
  const std::int64_t back = other[best].came - mine[best].left;
  return {1e-3 * (static_cast<double>(there) + static_cast<double>(back)) / 2,
          1e-3 * static_cast<double>(round_trip(mine[best], other[best])) / 2};
}

std::int64_t steady_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::vector<ClockOffset> align_clocks(Group& group, const std::function<std::int64_t()>& now) {
  ClockReadings mine;
  note_boot(mine.boot);
  for (Encounter& each : mine.encounters) {
    each.came = now();
    gathered(group, char{0});
    each.left = now();
  }
  std::vector<ClockOffset> offsets;
  const std::vector<ClockReadings> all = gathered(group, mine);
  for (const ClockReadings& other : all) {
    ClockOffset offset;  // rank 0's own
    if (!offsets.empty()) offset = offset_between(all.front().encounters, other.encounters);
    if (share_a_clock(all.front(), other, offset)) offset.microseconds = 0;
    offsets.push_back(offset);
  }
  return offsets;
}

}  // namespace warpscope::ranks
