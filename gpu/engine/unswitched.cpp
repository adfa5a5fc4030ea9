#include "gpu/engine/unswitched.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace warpscope::training {
namespace {

using Pair = std::pair<const OpTimes*, const OpTimes*>;

std::vector<Pair> alike(const std::vector<OpTimes>& before, const std::vector<OpTimes>& now) {
  std::vector<Pair> pairs;
  for (const OpTimes& one : now) {
    if (ops::contract(one.ran.op).adds_over_ranks || one.times.empty()) continue;
    const auto found = std::find_if(before.begin(), before.end(), [&](const OpTimes& other) {
      return !other.times.empty() && run_alike(other.ran, one.ran);
    });
    if (found != before.end()) pairs.emplace_back(&*found, &one);
  }
  return pairs;
}

using Side = const OpTimes* Pair::*;

std::size_t most_steps(const std::vector<Pair>& pairs, Side side) {
  std::size_t most = 0;
  for (const Pair& pair : pairs) most = std::max(most, (pair.*side)->times.size());
  return most;
}

/// All ops together in each of the last steps that all of them have.
Measured together(const std::vector<Pair>& pairs, Side side) {
  std::size_t steps = most_steps(pairs, side);
  for (const Pair& pair : pairs) steps = std::min(steps, (pair.*side)->times.size());
  std::vector<double> sums(steps);
  for (const Pair& pair : pairs) {
    const std::vector<double>& times = (pair.*side)->times;
    for (std::size_t i = 0; i < steps; ++i) sums[i] += times[times.size() - steps + i];
  }
  return measured_of(std::move(sums));
}

}  // namespace

bool run_alike(const RanOp& a, const RanOp& b) {
  if (a.op != b.op || a.layer != b.layer || a.variant != b.variant || a.shape != b.shape) return false;
  if (a.precision == b.precision) return true;
  return ops::contract(a.op).work != ops::Work::products && a.bytes == b.bytes;
}

Control control_of(const std::vector<OpTimes>& before, const std::vector<OpTimes>& now) {
  std::vector<Pair> pairs = alike(before, now);
  for (const Side side : {&Pair::first, &Pair::second}) {
    const std::size_t enough = std::min<std::size_t>(most_steps(pairs, side), kEnoughSamples);
    std::erase_if(pairs, [&](const Pair& pair) { return (pair.*side)->times.size() < enough; });
  }
  if (pairs.empty()) return {};
  const Measured was = together(pairs, &Pair::first), is = together(pairs, &Pair::second);
  return {was.median, is.median, std::min(was.samples, is.samples)};
}

}  // namespace warpscope::training
