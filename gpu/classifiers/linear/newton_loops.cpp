#include <algorithm>
#include <vector>

#include "gpu/classifiers/linear/newton_rows.h"
#include "gpu/classifiers/linear/newton_state.h"
#include "gpu/classifiers/linear/quasi_newton.h"
#include "gpu/core/parallel.h"

namespace warpscope::classifiers::linear {
namespace {

constexpr std::int64_t kRowPiece = 64;                 // the fewest rows that a thread multiplies at a time
constexpr std::int64_t kSlab = 256;                    // the fewest columns that a thread sums at a time
constexpr std::int64_t kWork = std::int64_t{1} << 18;  // multiplications that are worth a thread

/// How many pieces of `each` multiplications are worth a thread, but at least `least`.
std::int64_t piece_of(std::int64_t each, std::int64_t least) {
  return std::max(least, kWork / std::max<std::int64_t>(each, 1));
}

/// A block of one thread.
struct Alone {
  static int rank() { return 0; }
  static int size() { return 1; }
  static void wait() {}
  template <int N>
  static void sum(double (&)[N]) {}
};

/// The sum of x_j w_j, in eight lanes so that the compiler can use vectors.
template <class Number>
double dot(const float* x, const Number* w, int columns) {
  constexpr int kLanes = 8;
  double lanes[kLanes] = {};
  int j = 0;
  for (; j + kLanes <= columns; j += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += static_cast<double>(x[j + lane]) * static_cast<double>(w[j + lane]);
    }
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  for (; j < columns; ++j) sum += static_cast<double>(x[j]) * static_cast<double>(w[j]);
  return sum;
}

template <class Number, class Result>
void multiply_rows(const float* features, std::int64_t rows, int columns, const Number* weights, int problems,
                   Result* results) {
  core::parallel_for(rows, piece_of(std::int64_t{columns} * problems, kRowPiece), 0,
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t row = begin; row < end; ++row) {
                         for (int k = 0; k < problems; ++k) {
                           const Number* const w = weights + static_cast<std::int64_t>(k) * (columns + 1);
                           results[row * problems + k] = static_cast<Result>(
                               dot(features + row * columns, w, columns) + static_cast<double>(w[columns]));
                         }
                       }
                     });
}

/// sum_kj = sum over rows of factor_ik x_ij, and of factor_ik for j = columns.
template <class Number>
void sum_rows(const NewtonState& state, const Number* factors) {
  const int width = state.width(), problems = state.problems;
  core::parallel_for(width, piece_of(state.rows * problems, kSlab), 0,
                     [&](std::int64_t begin, std::int64_t end) {
                       const auto slab = static_cast<std::size_t>(end - begin);
                       const std::int64_t inside = std::min<std::int64_t>(end, state.columns) - begin;
                       std::vector<double> sums(slab * static_cast<std::size_t>(problems));
                       for (std::int64_t row = 0; row < state.rows; ++row) {
                         const float* const x = state.features + row * state.columns + begin;
                         for (int k = 0; k < problems; ++k) {
                           const auto factor = static_cast<double>(factors[row * problems + k]);
                           if (factor == 0) continue;
                           double* const to = sums.data() + static_cast<std::size_t>(k) * slab;
                           for (std::int64_t j = 0; j < inside; ++j)
                             to[j] += factor * static_cast<double>(x[j]);
                           if (end == width) to[slab - 1] += factor;
                         }
                       }
                       for (int k = 0; k < problems; ++k) {
                         std::copy_n(sums.data() + static_cast<std::size_t>(k) * slab, slab,
                                     state.sum + static_cast<std::int64_t>(k) * width + begin);
                       }
                     });
}

class LoopSteps final : public Steps {
 public:
  explicit LoopSteps(const NewtonState& state) : state_(state) {}
  void run(Step step) override {
    switch (step) {
      case Step::project:
        return multiply_rows(state_.features, state_.rows, state_.columns, state_.direction, state_.problems,
                             state_.moves);
      case Step::multiply:
        return multiply_rows(state_.features, state_.rows, state_.columns, state_.operand, state_.problems,
                             state_.product);
      case Step::collect:
        return sum_rows(state_, state_.slopes);
      case Step::gather:
        return sum_rows(state_, state_.changes);
      case Step::evaluate:
        return each_block([&](int block, int k) { evaluate_margin(Alone{}, state_, block, k); },
                          [&](int block) { evaluate_softmax(Alone{}, state_, block); });
      case Step::search:
        return each_block([&](int block, int k) { search_margin(Alone{}, state_, block, k); },
                          [&](int block) { search_softmax(Alone{}, state_, block); });
      case Step::curve:
        return each_row([&](std::int64_t row) { curve_row(state_, row); });
      case Step::shift:
        return each_row([&](std::int64_t row) { shift_row(state_, row); });
      case Step::remember:
        return each_row([&](std::int64_t row) { remember_row(state_, row); });
      case Step::begin:
        return each_group([&](int group) { begin(Alone{}, state_, group); });
      case Step::finish:
        return each_group([&](int group) { finish(Alone{}, state_, group); });
      case Step::advance:
        return each_group([&](int group) { advance(Alone{}, state_, group); });
      case Step::move:
        return each_group([&](int group) { move(Alone{}, state_, group); });
      case Step::follow:
        return each_group([&](int group) { follow(Alone{}, state_, group); });
      case Step::probe:
        return each_block([&](int block, int k) { probe_margin(Alone{}, state_, block, k); }, [](int) {});
      case Step::narrow:
        return each_group([&](int group) { narrow(Alone{}, state_, group); });
      case Step::take:
        return each_group([&](int group) { take(Alone{}, state_, group); });
    }
  }

 private:
  template <class Margin, class Softmax>
  void each_block(const Margin& margin, const Softmax& softmax) const {
    core::parallel_for(state_.row_blocks, 1, 0, [&](std::int64_t begin, std::int64_t end) {
      for (auto block = static_cast<int>(begin); block < static_cast<int>(end); ++block) {
        if (state_.loss.kind == LossKind::softmax) {
          softmax(block);
          continue;
        }
        for (int k = 0; k < state_.problems; ++k) margin(block, k);
      }
    });
  }
  template <class Body>
  void each_row(const Body& body) const {
    core::parallel_for(state_.rows, kBlockRows, 0, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) body(row);
    });
  }
  template <class Body>
  void each_group(const Body& body) const {
    core::parallel_for(state_.groups, piece_of(state_.group_elements(), 1), 0,
                       [&](std::int64_t begin, std::int64_t end) {
                         for (auto group = static_cast<int>(begin); group < static_cast<int>(end); ++group)
                           body(group);
                       });
  }

  NewtonState state_;
};

}  // namespace

std::unique_ptr<Steps> make_steps_loops(const NewtonState& state) {
  return std::make_unique<LoopSteps>(state);
}

void multiply_rows_loops(const float* features, std::int64_t rows, int columns, const double* weights,
                         int problems, double* scores) {
  multiply_rows(features, rows, columns, weights, problems, scores);
}

}  // namespace warpscope::classifiers::linear
