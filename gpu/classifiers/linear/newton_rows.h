#pragma once
// The Newton solver's steps over rows, written once for a block of threads and for a single one. A block of rows is
// kBlockRows of them.

#include <cstdint>

#include "gpu/classifiers/linear/newton_state.h"

namespace warpscope::classifiers::linear {

inline constexpr std::int64_t kBlockRows = 1024;

inline int count_row_blocks(std::int64_t rows) {
  return static_cast<int>((rows + kBlockRows - 1) / kBlockRows);
}

/// Calls body(row) for the rows of a block that are this thread's.
template <class Team, class Body>
WARPSCOPE_BOTH void each_row(const Team& team, const NewtonState& state, int block, const Body& body) {
  const std::int64_t first = block * kBlockRows;
  const std::int64_t end = first + kBlockRows < state.rows ? first + kBlockRows : state.rows;
  for (std::int64_t row = first + team.rank(); row < end; row += team.size()) body(row);
}

template <int N, class Team>
WARPSCOPE_BOTH void keep_sums(const Team& team, const NewtonState& state, int group, int block,
                              double (&sums)[N]) {
  team.sum(sums);
  if (team.rank() != 0) return;
  double* const to = state.partial + (static_cast<std::int64_t>(group) * state.row_blocks + block) * kSums;
  for (int n = 0; n < N; ++n) to[n] = sums[n];
}

template <class Team>
WARPSCOPE_BOTH void evaluate_margin(const Team& team, const NewtonState& state, int block, int problem) {
  double sums[4] = {};
  each_row(team, state, block, [&](std::int64_t row) {
    const std::int64_t i = row * state.problems + problem;
    const double multiplier = state.multipliers == nullptr ? 0.0 : state.multipliers[i];
    const RowTerms terms =
        margin_terms(state.loss, state.scores[i], state.labels[row] == problem, multiplier);
    state.slopes[i] = terms.slope;
    state.curvature[i] = static_cast<float>(terms.curvature);
    sums[0] += terms.smooth;
    sums[1] += terms.primal;
    sums[2] += terms.dual;
    sums[3] += terms.curvature;
  });
  keep_sums(team, state, problem, block, sums);
}

template <class Team>
WARPSCOPE_BOTH void evaluate_softmax(const Team& team, const NewtonState& state, int block) {
  double sums[4] = {};
  each_row(team, state, block, [&](std::int64_t row) {
    const std::int64_t i = row * state.problems;
    const RowTerms terms = softmax_terms(state.loss, state.scores + i, state.problems, state.labels[row],
                                         state.slopes + i, state.curvature + i);
    sums[0] += terms.smooth;
    sums[1] += terms.primal;
    sums[3] += terms.curvature;
  });
  keep_sums(team, state, 0, block, sums);
}

/// changes = (Hessian of the row's loss by its scores) times product, for one row.
WARPSCOPE_BOTH inline void curve_row(const NewtonState& state, std::int64_t row) {
  const std::int64_t i = row * state.problems;
  if (state.loss.kind == LossKind::margin) {
    for (int k = 0; k < state.problems; ++k)
      state.changes[i + k] = state.curvature[i + k] * state.product[i + k];
    return;
  }
  // C (diag(p) - p p^T)
  double mean = 0;
  for (int k = 0; k < state.problems; ++k) {
    mean += static_cast<double>(state.curvature[i + k]) * static_cast<double>(state.product[i + k]);
  }
  for (int k = 0; k < state.problems; ++k) {
    state.changes[i + k] =
        static_cast<float>(state.loss.weight * static_cast<double>(state.curvature[i + k]) *
                           (static_cast<double>(state.product[i + k]) - mean));
  }
}

template <class Team>
WARPSCOPE_BOTH void search_margin(const Team& team, const NewtonState& state, int block, int problem) {
  double sums[kSteps] = {};
  if (state.states[problem].active != 0) {
    each_row(team, state, block, [&](std::int64_t row) {
      const std::int64_t i = row * state.problems + problem;
      const bool own = state.labels[row] == problem;
      const double multiplier = state.multipliers == nullptr ? 0.0 : state.multipliers[i];
      const double score = state.scores[i], move = state.moves[i];
      const double now = margin_terms(state.loss, score, own, multiplier).smooth;
      for (int n = 0; n < kSteps; ++n) {
        sums[n] += margin_terms(state.loss, score + step_length(n) * move, own, multiplier).smooth - now;
      }
    });
  }
  keep_sums(team, state, problem, block, sums);
}

template <class Team>
WARPSCOPE_BOTH void search_softmax(const Team& team, const NewtonState& state, int block) {
  double sums[kSteps] = {};
  each_row(team, state, block, [&](std::int64_t row) {
    const std::int64_t i = row * state.problems;
    const int label = state.labels[row];
    const double now = softmax_loss(state.loss, state.scores + i, state.moves + i, 0, state.problems, label);
    for (int n = 0; n < kSteps; ++n) {
      sums[n] +=
          softmax_loss(state.loss, state.scores + i, state.moves + i, step_length(n), state.problems, label) -
          now;
    }
  });
  keep_sums(team, state, 0, block, sums);
}

/// scores += step moves, for one row.
WARPSCOPE_BOTH inline void shift_row(const NewtonState& state, std::int64_t row) {
  const std::int64_t i = row * state.problems;
  for (int k = 0; k < state.problems; ++k) {
    state.scores[i + k] += state.states[state.groups == 1 ? 0 : k].step * state.moves[i + k];
  }
}

/// The multipliers become those that the last evaluation found, for one row.
WARPSCOPE_BOTH inline void remember_row(const NewtonState& state, std::int64_t row) {
  const std::int64_t i = row * state.problems;
  for (int k = 0; k < state.problems; ++k) {
    if (state.states[k].renew != 0) state.multipliers[i + k] = fabs(state.slopes[i + k]);
  }
}

}  // namespace warpscope::classifiers::linear
