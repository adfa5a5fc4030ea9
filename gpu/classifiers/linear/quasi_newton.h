#pragma once
// Steps of the linear solver where the losses bend so often along a Newton direction that its quadratic model tells
// little: directions by the limited memory of Broyden, Fletcher, Goldfarb and Shanno, lengths by the root of the
// slope along them. Each costs two products with the features. Written once for a block of threads and a single one.
//
// Source: J. Nocedal, "Updating quasi-Newton matrices with limited storage" (1980).

#include <cstdint>

#include "gpu/classifiers/linear/newton_rows.h"
#include "gpu/classifiers/linear/newton_state.h"

namespace warpscope::classifiers::linear {

/// The dot product of two vectors of a group's weights.
template <class Team>
WARPSCOPE_BOTH double group_dot(const Team& team, const NewtonState& state, int group, const double* a,
                                const double* b) {
  const std::int64_t count = state.group_elements(), first = group * count;
  double sums[1] = {};
  for (std::int64_t i = first + team.rank(); i < first + count; i += team.size()) sums[0] += a[i] * b[i];
  team.sum(sums);
  return sums[0];
}

/// a += factor b for the weights of a group.
template <class Team>
WARPSCOPE_BOTH void group_add(const Team& team, const NewtonState& state, int group, double* a, double factor,
                              const double* b) {
  const std::int64_t count = state.group_elements(), first = group * count;
  for (std::int64_t i = first + team.rank(); i < first + count; i += team.size()) a[i] += factor * b[i];
}

/// The pair that lies `back` before the newest.
WARPSCOPE_BOTH inline std::int64_t pair_offset(const NewtonState& state, int pairs, int back) {
  return static_cast<std::int64_t>((pairs - 1 - back) % kPairs) * state.problems * state.width();
}

/// Remembers the last step and how it turned the gradient, if the slope rose along it. Returns the pairs that there
/// are.
template <class Team>
WARPSCOPE_BOTH int remember_pair(const Team& team, const NewtonState& state, int group) {
  const GroupState& result = state.states[group];
  const int pairs = result.pairs;
  const double step = result.step;
  const std::int64_t count = state.group_elements(), first = group * count;
  if (result.started == 0 || step <= 0) return pairs;
  double sums[2] = {};
  for (std::int64_t i = first + team.rank(); i < first + count; i += team.size()) {
    const double moved = step * state.direction[i];
    sums[0] += moved * (state.gradient[i] - state.gradient_before[i]);
    sums[1] += moved * moved;
  }
  team.sum(sums);
  // The objective's curvature is at least 1 everywhere: less is rounding.
  if (!(sums[1] > 0 && sums[0] >= 0.5 * sums[1])) return pairs;
  const std::int64_t at = pair_offset(state, pairs + 1, 0);
  for (std::int64_t i = first + team.rank(); i < first + count; i += team.size()) {
    state.moved[at + i] = step * state.direction[i];
    state.turned[at + i] = state.gradient[i] - state.gradient_before[i];
  }
  return pairs + 1;
}

/// direction = -(the inverse Hessian that the pairs tell of) gradient; 0 for a group that is done.
template <class Team>
WARPSCOPE_BOTH void follow(const Team& team, const NewtonState& state, int group) {
  GroupState& result = state.states[group];
  const bool active = result.active != 0;
  const double curvature = result.curvature;
  const int pairs = remember_pair(team, state, group);
  const int known = pairs < kPairs ? pairs : kPairs;
  const std::int64_t count = state.group_elements(), first = group * count;
  for (std::int64_t i = first + team.rank(); i < first + count; i += team.size()) {
    state.gradient_before[i] = state.gradient[i];
    state.direction[i] = active ? -state.gradient[i] : 0.0;
  }
  team.wait();
  double factors[kPairs] = {}, rises[kPairs] = {};
  for (int back = 0; back < known && active; ++back) {
    const double* const moved = state.moved + pair_offset(state, pairs, back);
    const double* const turned = state.turned + pair_offset(state, pairs, back);
    rises[back] = group_dot(team, state, group, moved, turned);
    factors[back] = group_dot(team, state, group, moved, state.direction) / rises[back];
    group_add(team, state, group, state.direction, -factors[back], turned);
    team.wait();
  }
  double scale = 1;
  if (known > 0 && active) {
    const double* const turned = state.turned + pair_offset(state, pairs, 0);
    double sums[1] = {};
    for (std::int64_t i = first + team.rank(); i < first + count; i += team.size()) {
      sums[0] += turned[i] * preconditioned(state, curvature, i, turned[i]);
    }
    team.sum(sums);
    scale = rises[0] / sums[0];
  }
  for (std::int64_t i = first + team.rank(); i < first + count; i += team.size()) {
    state.direction[i] = scale * preconditioned(state, curvature, i, state.direction[i]);
  }
  team.wait();
  for (int back = known - 1; back >= 0 && active; --back) {
    const double* const moved = state.moved + pair_offset(state, pairs, back);
    const double* const turned = state.turned + pair_offset(state, pairs, back);
    const double factor = group_dot(team, state, group, turned, state.direction) / rises[back];
    group_add(team, state, group, state.direction, factors[back] - factor, moved);
    team.wait();
  }
  const double slope = group_dot(team, state, group, state.direction, state.gradient);
  const double length2 = group_dot(team, state, group, state.direction, state.direction);
  const double along = group_dot(team, state, group, state.direction, state.weights);
  if (team.rank() != 0) return;
  result.pairs = pairs < 2 * kPairs ? pairs : pairs - kPairs;  // the same places, and no number grows
  result.started = active ? 1 : 0;
  result.slope = result.low_slope = slope;
  result.length2 = length2;
  result.weights_along = along;
  result.low = result.high = result.high_slope = 0;
}

/// The n-th length that `probe` tries: 1/32 to 4 at first, then evenly between the two that hold the root.
WARPSCOPE_BOTH inline double probe_length(const GroupState& group, int n) {
  if (group.high <= 0) return ldexp(4.0, n - (kSteps - 1));
  return group.low + (group.high - group.low) * (n + 1) / (kSteps + 1);
}

/// Sums over rows of the slope of the losses along the direction, at each length.
template <class Team>
WARPSCOPE_BOTH void probe_margin(const Team& team, const NewtonState& state, int block, int problem) {
  double sums[kSteps] = {};
  const GroupState& group = state.states[problem];
  if (group.active != 0) {
    each_row(team, state, block, [&](std::int64_t row) {
      const std::int64_t i = row * state.problems + problem;
      const bool own = state.labels[row] == problem;
      const double multiplier = state.multipliers == nullptr ? 0.0 : state.multipliers[i];
      for (int n = 0; n < kSteps; ++n) {
        const double score = state.scores[i] + probe_length(group, n) * state.moves[i];
        sums[n] += margin_terms(state.loss, score, own, multiplier).slope * state.moves[i];
      }
    });
  }
  keep_sums(team, state, problem, block, sums);
}

/// Two lengths between which the slope along the direction becomes 0.
template <class Team>
WARPSCOPE_BOTH void narrow(const Team& team, const NewtonState& state, int group) {
  double slopes[kSteps];
  add_row_blocks(team, state, group, slopes);
  if (team.rank() != 0) return;
  GroupState& result = state.states[group];
  double low = result.low, low_slope = result.low_slope, high = result.high, high_slope = result.high_slope;
  for (int n = 0; n < kSteps; ++n) {
    const double length = probe_length(result, n);
    const double slope = result.weights_along + length * result.length2 + slopes[n];
    if (slope >= 0) {
      high = length;
      high_slope = slope;
      break;
    }
    low = length;
    low_slope = slope;
  }
  result.low = low;
  result.low_slope = low_slope;
  result.high = high > 0 ? high : 8 * low;  // its slope is not known yet
  result.high_slope = high_slope;
}

/// The length at which the slope is 0 if it is straight between the two; weights += length direction.
template <class Team>
WARPSCOPE_BOTH void take(const Team& team, const NewtonState& state, int group) {
  GroupState& result = state.states[group];
  double length = result.low;
  if (result.high_slope > 0 && result.low_slope < 0) {
    length += (result.high - result.low) * result.low_slope / (result.low_slope - result.high_slope);
  }
  if (result.active == 0) length = 0;
  team.wait();  // all have read what changes now
  group_add(team, state, group, state.weights, length, state.direction);
  if (team.rank() != 0) return;
  result.step = length;
}

}  // namespace warpscope::classifiers::linear
