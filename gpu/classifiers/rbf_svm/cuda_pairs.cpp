#include "gpu/classifiers/rbf_svm/cuda_pairs.h"

#include <algorithm>
#include <cmath>

#include "gpu/core/phases.h"

namespace warpscope::classifiers::rbf {
namespace {

// The kept gradient, in FP32, drifts from the exact one; aiming a little lower saves a second round.
constexpr double kAim = 0.9;
constexpr double kLaunchSeconds = 0.02;
constexpr int kFirstIterations = 1024;
constexpr int kLeastIterations = 64;
constexpr int kMostIterations = 1 << 16;

/// Bytes of a place: alpha, exact, gradient, row, member.
constexpr std::size_t kPlaceBytes = sizeof(double) * 2 + sizeof(float) * 2 + 1;

struct Span {
  std::size_t first = 0;  ///< in arrays of all problems
  int places = 0;
  int fold = -1;  ///< that is left out; -1: none
};

/// All problems of a batch on the device.
class Problems {
 public:
  Problems(const Place& place, const ClassMatrix& matrix, const Task& task)
      : place_(place), matrix_(matrix), task_(task) {
    const int versions = task.probabilities ? 1 + kFolds : 1;
    for (const auto& pair : matrix.batch->pairs) {
      for (int version = 0; version < versions; ++version) {
        const int places = padded(pair[0]) + padded(pair[1]);
        spans_.push_back({total_, places, version - 1});
        total_ += static_cast<std::size_t>(places);
        largest_ = std::max(largest_, places);
      }
    }
    make_buffers();
    fill();
  }

  SolveCall call(KernelFactors factors, bool shifted) const {
    return {problems_.as<PairProblem>(),
            states_.as<PairState>(),
            static_cast<int>(spans_.size()),
            largest_,
            factors,
            shifted,
            static_cast<float>(kAim * task_.tolerance),
            static_cast<float>(task_.tolerance),
            task_.max_iterations};
  }

  /// Waits for what is enqueued and looks.
  const std::vector<PairState>& states() {
    place_.stream->copy(seen_.data(), states_.data(), states_.bytes());
    place_.stream->synchronize();
    return seen_;
  }

  std::vector<PairSolution> solutions();

 private:
  int padded(int k) const { return matrix_.places->padded(static_cast<std::size_t>(k)); }
  int rows(int k) const { return matrix_.places->rows[static_cast<std::size_t>(k)]; }

  void make_buffers() {
    const auto make = [&](std::size_t bytes) { return core::Buffer(place_.device, bytes); };
    alpha_ = make(total_ * sizeof(double));
    exact_ = make(total_ * sizeof(double));
    gradient_ = make(total_ * sizeof(float));
    member_ = make(total_);
    if (largest_ > kRegisterPlaces) row_ = make(total_ * sizeof(float));
    problems_ = make(spans_.size() * sizeof(PairProblem));
    states_ = make(spans_.size() * sizeof(PairState));
    seen_.resize(spans_.size());
  }

  void fill();
  PairProblem describe(const std::array<int, 2>& pair, const Span& span) const;
  PairSolution solution(std::size_t pair, const std::vector<double>& alpha,
                        const std::vector<double>& exact) const;

  const Place& place_;
  ClassMatrix matrix_;
  const Task& task_;
  std::vector<Span> spans_;  ///< of each pair all versions, the one of all rows first
  std::size_t total_ = 0;
  int largest_ = 0;
  core::Buffer alpha_, exact_, gradient_, member_, row_, problems_, states_;
  std::vector<PairState> seen_;
  std::vector<std::vector<std::uint8_t>> folds_;  ///< of each class
};

PairProblem Problems::describe(const std::array<int, 2>& pair, const Span& span) const {
  PairProblem p;
  p.distances = matrix_.distances;
  p.pitch = matrix_.batch->places;
  for (std::size_t side = 0; side < 2; ++side) {
    for (const int k : matrix_.batch->classes) {
      if (k == pair[side]) break;
      p.first[side] += padded(k);
    }
    p.padded[side] = padded(pair[side]);
    p.bounds[side] = task_.bounds[static_cast<std::size_t>(pair[side])];
  }
  p.member = member_.as<std::uint8_t>() + span.first;
  p.alpha = alpha_.as<double>() + span.first;
  p.gradient = gradient_.as<float>() + span.first;
  p.exact = exact_.as<double>() + span.first;
  p.row = row_.data() == nullptr ? nullptr : row_.as<float>() + span.first;
  return p;
}

void Problems::fill() {
  for (std::size_t k = 0; task_.probabilities && k < matrix_.places->rows.size(); ++k) {
    folds_.push_back(deal_folds(static_cast<std::size_t>(matrix_.places->rows[k]), k));
  }
  std::vector<std::uint8_t> member(total_, 0);
  std::vector<float> gradient(total_, 0.0f);
  std::vector<PairProblem> problems;
  const std::size_t versions = spans_.size() / matrix_.batch->pairs.size();
  for (std::size_t at = 0; at < spans_.size(); ++at) {
    const Span& span = spans_[at];
    const auto& pair = matrix_.batch->pairs[at / versions];
    std::size_t place = span.first;
    for (std::size_t side = 0; side < 2; ++side) {
      for (int row = 0; row < padded(pair[side]); ++row, ++place) {
        if (row >= rows(pair[side])) continue;
        const bool held_out =
            span.fold >= 0 &&
            folds_[static_cast<std::size_t>(pair[side])][static_cast<std::size_t>(row)] == span.fold;
        member[place] = held_out ? 0 : 1;
        gradient[place] = side == 0 ? -1.0f : 1.0f;  // v = -y where all alphas are 0
      }
    }
    problems.push_back(describe(pair, span));
  }
  core::Stream& stream = *place_.stream;
  stream.copy(member_.data(), member.data(), member_.bytes());
  stream.copy(gradient_.data(), gradient.data(), gradient_.bytes());
  stream.copy(problems_.data(), problems.data(), problems_.bytes());
  const std::vector<PairState> states(spans_.size());
  stream.copy(states_.data(), states.data(), states_.bytes());
  stream.fill(alpha_.data(), 0, alpha_.bytes());
  stream.synchronize();  // what was copied goes
}

PairSolution Problems::solution(std::size_t pair, const std::vector<double>& alpha,
                                const std::vector<double>& exact) const {
  const std::size_t versions = spans_.size() / matrix_.batch->pairs.size();
  const auto& classes = matrix_.batch->pairs[pair];
  const PairState& state = seen_[pair * versions];
  PairSolution solved;
  solved.report = {classes[0],       classes[1],
                   state.iterations, state.exact_gap,
                   state.objective,  state.support_vectors,
                   state.bounded,    state.phase == static_cast<int>(PairPhase::done)};
  solved.rho = state.rho;
  std::vector<double> decisions;
  std::vector<char> is_first;
  std::size_t offset = 0;  // of the side's places in a span
  for (std::size_t side = 0; side < 2; ++side) {
    const double y = side == 0 ? 1.0 : -1.0;
    for (int row = 0; row < rows(classes[side]); ++row) {
      const std::size_t place = offset + static_cast<std::size_t>(row);
      solved.alpha.push_back(alpha[spans_[pair * versions].first + place]);
      if (versions == 1) continue;
      // f of a row by the machine that has not seen it: v = f + rho - y.
      const int fold = folds_[static_cast<std::size_t>(classes[side])][static_cast<std::size_t>(row)];
      const std::size_t without = pair * versions + 1 + static_cast<std::size_t>(fold);
      decisions.push_back(exact[spans_[without].first + place] + y - seen_[without].rho);
      is_first.push_back(side == 0 ? 1 : 0);
    }
    offset += static_cast<std::size_t>(padded(classes[side]));
  }
  if (versions > 1) solved.sigmoid = fit_sigmoid(decisions, is_first);
  return solved;
}

std::vector<PairSolution> Problems::solutions() {
  std::vector<double> alpha(total_);
  std::vector<double> exact(task_.probabilities ? total_ : 0);
  place_.stream->copy(alpha.data(), alpha_.data(), alpha_.bytes());
  if (!exact.empty()) place_.stream->copy(exact.data(), exact_.data(), exact_.bytes());
  place_.stream->synchronize();
  std::vector<PairSolution> solved;
  for (std::size_t pair = 0; pair < matrix_.batch->pairs.size(); ++pair)
    solved.push_back(solution(pair, alpha, exact));
  return solved;
}

bool is_over(const PairState& state) {
  return state.phase == static_cast<int>(PairPhase::done) ||
         state.phase == static_cast<int>(PairPhase::stopped);
}

/// How far the pairs are, by the logarithm of their gaps: from 2, at the start, to the tolerance.
double part_done(const std::vector<PairState>& states, double tolerance) {
  double sum = 0;
  for (const PairState& state : states) {
    const double gap = std::clamp(state.gap, tolerance, 2.0);
    sum += is_over(state) ? 1.0 : std::log(2.0 / gap) / std::log(2.0 / std::min(tolerance, 1.0));
  }
  return sum / static_cast<double>(states.size());
}

}  // namespace

std::size_t solving_bytes(const ClassPlaces& places, const Batch& batch, bool probabilities) {
  std::size_t sum = 0;
  for (const auto& pair : batch.pairs) {
    sum += static_cast<std::size_t>(places.padded(static_cast<std::size_t>(pair[0]))) +
           static_cast<std::size_t>(places.padded(static_cast<std::size_t>(pair[1])));
  }
  const std::size_t versions = probabilities ? 1 + kFolds : 1;
  return versions * (sum * kPlaceBytes + batch.pairs.size() * (sizeof(PairProblem) + sizeof(PairState)));
}

std::vector<PairSolution> solve_batch(const Place& place, const ClassMatrix& matrix, const Task& task,
                                      KernelFactors factors, bool shifted,
                                      const std::function<void(double)>& told) {
  if (matrix.batch->pairs.empty()) return {};
  Problems problems(place, matrix, task);
  const SolveCall call = problems.call(factors, shifted);
  int iterations = kFirstIterations;
  for (;;) {
    const auto begin = core::Clock::now();
    solve_pairs(*place.stream, call, iterations);
    judge_pairs(*place.stream, call);
    const std::vector<PairState>& states = problems.states();
    if (std::ranges::all_of(states, is_over)) break;
    told(part_done(states, task.tolerance));
    const double seconds = core::seconds_since(begin);
    const double wanted = iterations * kLaunchSeconds / std::max(seconds, 1e-6);
    iterations = static_cast<int>(std::clamp(wanted, std::max<double>(kLeastIterations, iterations / 4.0),
                                             std::min<double>(kMostIterations, iterations * 4.0)));
  }
  return problems.solutions();
}

}  // namespace warpscope::classifiers::rbf
