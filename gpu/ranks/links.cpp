#include "gpu/ranks/links.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>

#include "gpu/ranks/clocks.h"

namespace warpscope::ranks {
namespace {

constexpr int kTimes = 3;
constexpr int kManyRanks = 16;

std::size_t bytes_between(const Place& place) {
  return (place.size > kManyRanks ? std::size_t{1} : std::size_t{16}) << 20;
}

void wait_for_all(Group& group) {
  gathered(group, char{0});
}

/// Bytes over the shortest of some times, in GB/s.
double best_rate(std::size_t bytes, const std::function<double()>& nanoseconds) {
  double best = 0;
  for (int i = 0; i < kTimes; ++i) {
    best = std::max(best, static_cast<double>(bytes) / std::max(nanoseconds(), 1.0));
  }
  return best;
}

/// Into this rank, from each.
std::vector<double> rates_through_host(Group& group) {
  const auto [rank, size] = group.place();
  std::vector<double> rates(static_cast<std::size_t>(size));
  const std::vector<std::byte> mine(bytes_between(group.place()));
  std::vector<std::byte> taken(mine.size());
  for (int a = 0; a < size; ++a) {
    for (int b = a + 1; b < size; ++b) {
      const double rate = best_rate(mine.size(), [&] {
        wait_for_all(group);
        const std::int64_t begin = steady_nanoseconds();
        group.trade(a, b, mine, taken);
        return static_cast<double>(steady_nanoseconds() - begin);
      });
      if (rank == a) rates[static_cast<std::size_t>(b)] = rate;
      if (rank == b) rates[static_cast<std::size_t>(a)] = rate;
    }
  }
  return rates;
}

/// The same, read by this GPU.
std::vector<double> rates_between_gpus(Group& group, core::Device& device, const P2pWindows& windows) {
  const Place place = group.place();
  std::vector<double> rates(static_cast<std::size_t>(place.size));
  const std::size_t bytes = std::min(bytes_between(place), kP2pFloats * sizeof(float));
  const auto stream = device.make_stream();
  const auto begin = device.make_event(true), end = device.make_event(true);
  for (int to = 0; to < place.size; ++to) {
    for (int from = 0; from < place.size; ++from) {
      wait_for_all(group);
      if (to != place.rank || from == to) continue;
      rates[static_cast<std::size_t>(from)] = best_rate(bytes, [&] {
        stream->record(*begin);
        stream->copy(windows.out[to], windows.in[from], bytes);
        stream->record(*end);
        end->synchronize();
        return 1e3 * end->microseconds_since(*begin);
      });
    }
  }
  wait_for_all(group);
  return rates;
}

}  // namespace

LinkTable measure_links(Group& group, const std::shared_ptr<core::Device>& device, const P2pLink* peers) {
  group.note_purpose("the measurement of links");
  const std::vector<double> mine =
      peers == nullptr ? rates_through_host(group) : rates_between_gpus(group, *device, peers->windows());
  std::vector<double> all(mine.size() * mine.size());
  group.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
  LinkTable table;
  table.over = peers == nullptr ? group.medium() : "the links between GPUs";
  for (auto row = all.begin(); row != all.end(); row += static_cast<std::ptrdiff_t>(mine.size())) {
    table.gb_per_second.emplace_back(row, row + static_cast<std::ptrdiff_t>(mine.size()));
  }
  return table;
}

}  // namespace warpscope::ranks
