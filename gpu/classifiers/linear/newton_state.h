#pragma once
// What the Newton solver keeps in memory of the device, and its steps over vectors of weights, written once for a
// block of threads and for a single one.
//
// Problems k = 0 ... K-1 have weights w_k of D = columns + 1 numbers, the last of which is the bias's (each row has a 1
// there). Problems that are solved apart are groups of one; those of softmax regression are one group.

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/classifiers/features.h"
#include "gpu/classifiers/linear/losses.h"

namespace warpscope::classifiers::linear {

inline constexpr int kSums = 8;    ///< the most sums over rows that a step makes
inline constexpr int kSteps = 8;   ///< lengths that a line search tries
inline constexpr int kPairs = 10;  ///< steps that quasi-Newton directions remember

/// The n-th of these lengths: 1, 1/2, 1/4, 1/8, and then down by eighths to 1/32768.
WARPSCOPE_BOTH inline double step_length(int n) {
  return n < 4 ? 1.0 / (1 << n) : 1.0 / (8 << 3 * (n - 3));
}

/// Figures of a group. The host reads them once for each direction and a few times while one is sought.
struct GroupState {
  // After Step::finish.
  double smooth, primal, dual;  ///< sums over rows
  double curvature;             ///< the same, of all problems together
  double weights2;              ///< |w|^2
  double gradient2;             ///< |g|^2 of smooth objective 1/2 |w|^2 + smooth
  double sum2;                  ///< |w - g|^2: that of the weights which the dual's multipliers make
  // While a direction is sought.
  double residual;  ///< r . M^-1 r
  double target2;   ///< |r|^2 at which it is good enough
  double decrease;  ///< of the quadratic model so far
  double slope;     ///< g . direction
  double length2;   ///< |direction|^2
  int products;     ///< of the Hessian with a vector
  int done;
  int active;  ///< the host's: whether the group is still being solved
  int renew;   ///< the host's: whether Step::remember is for it
  // After Step::search.
  double step;    ///< 0: no length that was tried decreased the objective
  double change;  ///< of the objective
  // For quasi-Newton directions.
  int started;                              ///< there was one before: gradient_before is of its beginning
  int pairs;                                ///< steps remembered so far; the host sets 0 to forget them
  double weights_along;                     ///< w . direction
  double low, low_slope, high, high_slope;  ///< lengths that hold the least objective, and slopes there
};

/// All in memory of the device. (K, D) and (rows, K) row after row.
struct NewtonState {
  const float* features = nullptr;
  std::int64_t rows = 0;
  int columns = 0;
  int problems = 0;             ///< K
  int groups = 0;               ///< K or 1
  const int* labels = nullptr;  ///< one a row: the problem whose own it is
  Loss loss;
  double tolerance = 0.1;  ///< of a direction: |r| / |g|
  // (K, D)
  double* weights = nullptr;
  double* gradient = nullptr;
  double* direction = nullptr;
  double* residual = nullptr;
  double* conjugate = nullptr;
  double* sum = nullptr;              ///< sum over rows of slopes (or their changes) times x
  float* operand = nullptr;           ///< `conjugate`, which holds numbers of FP32, for products
  double* squares = nullptr;          ///< (D): sum over rows of x_ij^2
  double* gradient_before = nullptr;  ///< of quasi-Newton directions: where the last began
  double* moved = nullptr;            ///< (kPairs, K, D): their steps
  double* turned = nullptr;           ///< (kPairs, K, D): and what those did to the gradient
  // (rows, K)
  double* scores = nullptr;
  double* moves = nullptr;   ///< of the scores along the direction
  float* product = nullptr;  ///< X times operand
  double* slopes = nullptr;
  float* changes = nullptr;       ///< of the slopes along the operand
  float* curvature = nullptr;     ///< margin: d2 smooth / d s2; softmax: probabilities
  double* multipliers = nullptr;  ///< of the hinge
  // Others
  double* partial = nullptr;  ///< (groups, row_blocks, kSums)
  int row_blocks = 0;
  GroupState* states = nullptr;  ///< one a group

  WARPSCOPE_BOTH int width() const { return columns + 1; }
  WARPSCOPE_BOTH std::int64_t group_elements() const {
    return static_cast<std::int64_t>(problems / groups) * width();
  }
};

/// The solver's steps, in the order in which they come. Each of them is one launch or a few.
enum class Step {
  evaluate,  ///< slopes, curvature, sums over rows
  collect,   ///< sum = X^T slopes
  finish,    ///< gradient = weights + sum, GroupState's first figures
  begin,     ///< conjugate gradients start from 0
  multiply,  ///< product = X operand
  curve,     ///< changes = curvature times product
  gather,    ///< sum = X^T changes
  advance,   ///< a step of conjugate gradients
  project,   ///< moves = X direction
  search,    ///< sums over rows for each length
  move,      ///< chooses the length; weights += step direction
  shift,     ///< scores += step moves
  remember,  ///< multipliers = those of the last evaluation
  // For quasi-Newton directions (quasi_newton.h), of margin losses only.
  follow,  ///< direction from the gradient and the steps before
  probe,   ///< sums over rows for each length
  narrow,  ///< chooses two of the lengths
  take,    ///< chooses the length; weights += step direction
};

/// Carries out steps, in order.
class Steps {
 public:
  virtual ~Steps() = default;
  virtual void run(Step step) = 0;
};

/// On CUDA they are enqueued in the place's stream; on the CPU they are loops over threads, in double precision.
std::unique_ptr<Steps> make_steps_cuda(const Place& place, const NewtonState& state);
std::unique_ptr<Steps> make_steps_loops(const NewtonState& state);

/// scores_ik = sum over j of x_ij w_kj + w_kd, for (rows, problems) scores and (problems, columns + 1) weights w,
/// all on the host. That of CUDA waits for the stream.
void multiply_rows_cuda(const Place& place, const FeatureMatrix& features, const std::vector<double>& weights,
                        int problems, std::vector<double>& scores);
void multiply_rows_loops(const float* features, std::int64_t rows, int columns, const double* weights,
                         int problems, double* scores);

/// sums[n] = partial sums of a group over all blocks of rows.
template <int N, class Team>
WARPSCOPE_BOTH void add_row_blocks(const Team& team, const NewtonState& state, int group, double (&sums)[N]) {
  const double* const partial = state.partial + static_cast<std::int64_t>(group) * state.row_blocks * kSums;
  for (int n = 0; n < N; ++n) sums[n] = 0;
  for (int block = team.rank(); block < state.row_blocks; block += team.size()) {
    for (int n = 0; n < N; ++n) sums[n] += partial[block * kSums + n];
  }
  team.sum(sums);
}

template <class Team>
WARPSCOPE_BOTH void finish(const Team& team, const NewtonState& state, int group) {
  double rows[4];
  add_row_blocks(team, state, group, rows);
  const std::int64_t count = state.group_elements(), first = group * count;
  double sums[3] = {};
  for (std::int64_t i = first + team.rank(); i < first + count; i += team.size()) {
    const double weight = state.weights[i], rest = state.sum[i], gradient = weight + rest;
    state.gradient[i] = gradient;
    sums[0] += weight * weight;
    sums[1] += gradient * gradient;
    sums[2] += rest * rest;
  }
  team.sum(sums);
  if (team.rank() != 0) return;
  GroupState& result = state.states[group];
  result.smooth = rows[0];
  result.primal = rows[1];
  result.dual = rows[2];
  result.curvature = rows[3];
  result.weights2 = sums[0];
  result.gradient2 = sums[1];
  result.sum2 = sums[2];
}

/// 1 / the diagonal of the Hessian, with the curvature of all rows and problems of the group averaged.
WARPSCOPE_BOTH inline double preconditioned(const NewtonState& state, double curvature, std::int64_t i,
                                            double value) {
  const double mean = curvature / static_cast<double>(state.rows) * state.groups / state.problems;
  return value / (1.0 + mean * state.squares[i % state.width()]);
}

/// Starts conjugate gradients for H d = -g from d = 0.
template <class Team>
WARPSCOPE_BOTH void begin(const Team& team, const NewtonState& state, int group) {
  GroupState& result = state.states[group];
  const bool active = result.active != 0;
  const double curvature = result.curvature;
  const std::int64_t count = state.group_elements(), first = group * count;
  double sums[1] = {};
  for (std::int64_t i = first + team.rank(); i < first + count; i += team.size()) {
    const double residual = active ? -state.gradient[i] : 0.0;
    const auto conjugate = static_cast<float>(preconditioned(state, curvature, i, residual));
    state.direction[i] = 0;
    state.residual[i] = residual;
    state.conjugate[i] = static_cast<double>(conjugate);
    state.operand[i] = conjugate;
    sums[0] += residual * preconditioned(state, curvature, i, residual);
  }
  team.sum(sums);
  if (team.rank() != 0) return;
  result.residual = sums[0];
  result.target2 = state.tolerance * state.tolerance * result.gradient2;
  result.decrease = result.slope = result.length2 = 0;
  result.products = 0;
  result.done = active ? 0 : 1;
}

/// One step of preconditioned conjugate gradients; `sum` holds the Hessian of the losses times `conjugate`.
template <class Team>
WARPSCOPE_BOTH void advance(const Team& team, const NewtonState& state, int group) {
  GroupState& result = state.states[group];
  const bool done = result.done != 0;
  const double curvature = result.curvature, before = result.residual;
  const std::int64_t count = state.group_elements(), first = group * count;
  if (done) return;
  double curve[1] = {};
  for (std::int64_t i = first + team.rank(); i < first + count; i += team.size()) {
    curve[0] += state.conjugate[i] * (state.conjugate[i] + state.sum[i]);
  }
  team.sum(curve);
  const double along = curve[0] > 0 ? before / curve[0] : 0.0;
  double sums[4] = {};
  for (std::int64_t i = first + team.rank(); i < first + count; i += team.size()) {
    const double direction = state.direction[i] + along * state.conjugate[i];
    const double residual = state.residual[i] - along * (state.conjugate[i] + state.sum[i]);
    state.direction[i] = direction;
    state.residual[i] = residual;
    sums[0] += residual * residual;
    sums[1] += residual * preconditioned(state, curvature, i, residual);
    sums[2] += direction * state.gradient[i];
    sums[3] += direction * direction;
  }
  team.sum(sums);
  // The decrease of the quadratic model tells when more steps are not worth it.
  // Source: S. Nash, A. Sofer, "Assessing a search direction within a truncated-Newton method" (1990).
  const double decrease = result.decrease + 0.5 * along * before;
  const int products = result.products + 1;
  const bool enough = along <= 0 || sums[0] <= result.target2 ||
                      products * 0.5 * along * before <= state.tolerance * decrease;
  const double beta = sums[1] / before;
  for (std::int64_t i = first + team.rank(); i < first + count; i += team.size()) {
    const auto conjugate = enough
                               ? 0.0f
                               : static_cast<float>(preconditioned(state, curvature, i, state.residual[i]) +
                                                    beta * state.conjugate[i]);
    state.conjugate[i] = static_cast<double>(conjugate);
    state.operand[i] = conjugate;
  }
  team.wait();  // all have read what changes now
  if (team.rank() != 0) return;
  result.residual = sums[1];
  result.decrease = decrease;
  result.slope = sums[2];
  result.length2 = sums[3];
  result.products = products;
  result.done = enough ? 1 : 0;
}

/// Takes the length that decreases the objective most, among those that decrease it by at least a hundredth of what
/// its slope promises (Armijo's rule).
template <class Team>
WARPSCOPE_BOTH void move(const Team& team, const NewtonState& state, int group) {
  double changes[kSteps];
  add_row_blocks(team, state, group, changes);
  const std::int64_t count = state.group_elements(), first = group * count;
  double dots[1] = {};
  for (std::int64_t i = first + team.rank(); i < first + count; i += team.size()) {
    dots[0] += state.weights[i] * state.direction[i];
  }
  team.sum(dots);
  GroupState& result = state.states[group];
  double best = 0, chosen = 0;
  for (int n = 0; n < kSteps; ++n) {
    const double length = step_length(n);
    const double change = changes[n] + length * dots[0] + 0.5 * length * length * result.length2;
    if (change > 0.01 * length * result.slope || change >= best) continue;
    best = change;
    chosen = length;
  }
  for (std::int64_t i = first + team.rank(); i < first + count; i += team.size()) {
    state.weights[i] += chosen * state.direction[i];
  }
  if (team.rank() != 0) return;
  result.step = result.active != 0 ? chosen : 0.0;
  result.change = best;
}

}  // namespace warpscope::classifiers::linear
