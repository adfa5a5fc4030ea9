#include <algorithm>
#include <cmath>

#include "gpu/classifiers/rbf_svm/cuda_pairs.h"
#include "gpu/classifiers/rbf_svm/cuda_rows.h"
#include "gpu/classifiers/rbf_svm/pair_check.h"
#include "gpu/classifiers/rbf_svm/split_rows.h"
#include "gpu/classifiers/rbf_svm/working_set.h"

namespace warpscope::classifiers::rbf {
namespace {

constexpr int kMostHalf = 1024;
constexpr int kLeastHalf = 16;
constexpr int kGroup = 4;  // places of a problem come in such groups
constexpr double kPartOfGap = 0.1;
constexpr int kStepsOfRow = 8;  // of a working set, at most so many a row

int filled(std::size_t rows) {
  return static_cast<int>((rows + kGroup - 1) / kGroup * kGroup);
}

int rows_of(const ClassPlaces& places, const std::array<int, 2>& pair) {
  return places.rows[static_cast<std::size_t>(pair[0])] + places.rows[static_cast<std::size_t>(pair[1])];
}

std::int64_t pitch_of(int rows) {
  return (std::int64_t{rows} + 31) / 32 * 32;
}

/// Device memory of working sets with halves of so many rows.
std::size_t bytes_of(int rows, int half) {
  const auto size = static_cast<std::size_t>(2 * half + 2 * kGroup);
  return static_cast<std::size_t>(2 * half) * static_cast<std::size_t>(pitch_of(rows)) * sizeof(float) +
         size * size * sizeof(float) + size * 64 +
         static_cast<std::size_t>(rows) * (sizeof(double) + sizeof(int)) + 4096;
}

int largest_half(int rows, std::size_t room) {
  int half = kMostHalf;
  while (half > kLeastHalf && bytes_of(rows, half) > room) half /= 2;
  return half;
}

/// The members of both halves as a problem of its own: first those of the first class, then the others.
struct Members {
  std::vector<int> slots;  ///< -1: an empty place
  std::vector<int> rows;   ///< of the pair; 0 at empty places
  int padded[2] = {0, 0};
};

Members members_of(const WorkingSet& set, std::size_t half_size, std::size_t first) {
  Members members;
  for (std::size_t side = 0; side < 2; ++side) {
    std::size_t count = 0;
    for (std::size_t half = 0; half < 2; ++half) {
      for (std::size_t k = 0; k < set.rows(half).size(); ++k) {
        const int row = set.rows(half)[k];
        if ((static_cast<std::size_t>(row) < first) != (side == 0)) continue;
        members.slots.push_back(static_cast<int>(half * half_size + k));
        members.rows.push_back(row);
        ++count;
      }
    }
    members.padded[side] = filled(count);
    members.slots.resize(members.slots.size() + static_cast<std::size_t>(members.padded[side]) - count, -1);
    members.rows.resize(members.slots.size(), 0);
  }
  return members;
}

/// One pair, with all its rows or without a fold.
class LargePair {
 public:
  LargePair(const Place& place, const SplitRows& split, int columns, std::vector<int> places,
            PairValues bounds, const Task& task, KernelFactors factors, bool shifted, int half)
      : place_(place),
        split_(split),
        slabs_(slabs_of(columns)),
        rows_(static_cast<int>(places.size())),
        half_(half),
        task_(task),
        factors_(factors),
        shifted_(shifted),
        alpha_(places.size(), 0.0),
        v_(places.size()),
        pair_(bounds),
        places_(std::move(places)) {
    const auto make = [&](std::size_t bytes) { return core::Buffer(place.device, bytes); };
    const auto size = static_cast<std::size_t>(2 * half + 2 * kGroup);
    row_list_ = make(places_.size() * sizeof(int));
    new_list_ = make(static_cast<std::size_t>(half) * sizeof(int));
    distances_ =
        make(static_cast<std::size_t>(2 * half) * static_cast<std::size_t>(pitch_of(rows_)) * sizeof(float));
    square_ = make(size * size * sizeof(float));
    exact_ = make(places_.size() * sizeof(double));
    for (core::Buffer* const list : {&slots_, &members_}) *list = make(size * sizeof(int));
    for (core::Buffer* const list : {&steps_, &small_alpha_}) *list = make(size * sizeof(double));
    small_v_ = make(size * sizeof(float));
    small_member_ = make(size);
    problem_ = make(sizeof(PairProblem));
    state_ = make(sizeof(PairState));
    place.stream->copy(row_list_.data(), places_.data(), row_list_.bytes());
    pair_.alpha = alpha_;
  }

  /// `member`: rows that take part; empty: all. v of the others is found as well.
  void solve(std::span<const char> member, const std::function<void(double)>& told) {
    std::ranges::fill(alpha_, 0.0);
    for (std::size_t t = 0; t < v_.size(); ++t) v_[t] = -pair_.y(t);
    put(exact_, v_);
    iterations_ = 0;
    facts_ = facts(member);
    WorkingSet set(static_cast<std::size_t>(half_));
    for (int round = 0; facts_.gap >= task_.tolerance && iterations_ < task_.max_iterations; ++round) {
      fetch_rows(set, set.choose(pair_, v_, member));
      if (round == 0) fetch_rows(set, set.choose(pair_, v_, member));
      const std::int64_t before = iterations_;
      take_steps(members_of(set, static_cast<std::size_t>(half_), pair_.first));
      facts_ = facts(member);
      told(std::log(2.0 / std::clamp(facts_.gap, task_.tolerance, 2.0)) / std::log(2.0 / task_.tolerance));
      if (iterations_ == before) break;  // FP32 tells no violation any more
    }
  }

  const std::vector<double>& alpha() const { return alpha_; }
  const std::vector<double>& v() const { return v_; }
  const PairFacts& reached() const { return facts_; }
  std::int64_t iterations() const { return iterations_; }

 private:
  template <class T>
  void put(const core::Buffer& to, const std::vector<T>& values) {
    place_.stream->copy(to.data(), values.data(), values.size() * sizeof(T));
    place_.stream->synchronize();  // the values may go
  }
  template <class T>
  void get(std::vector<T>& values, const core::Buffer& from) {
    place_.stream->copy(values.data(), from.data(), values.size() * sizeof(T));
    place_.stream->synchronize();
  }

  PairFacts facts(std::span<const char> member) const {
    if (member.empty()) return facts_of(pair_, v_);
    std::vector<double> alpha, v;
    PairValues part = pair_;
    part.first = 0;
    for (std::size_t t = 0; t < v_.size(); ++t) {
      if (member[t] == 0) continue;
      alpha.push_back(alpha_[t]);
      v.push_back(v_[t]);
      part.first += t < pair_.first ? 1 : 0;
    }
    part.alpha = alpha;
    return facts_of(part, v);
  }

  /// Distances of the rows of a half to all rows.
  void fetch_rows(const WorkingSet& set, std::size_t half) {
    std::vector<int> list;
    for (const int row : set.rows(half)) list.push_back(places_[static_cast<std::size_t>(row)]);
    if (list.empty()) return;
    put(new_list_, list);
    DistanceCall call;
    call.a = split_.side();
    call.a.rows = new_list_.as<int>();
    call.a.count = static_cast<int>(list.size());
    call.b = split_.side();
    call.b.rows = row_list_.as<int>();
    call.b.count = rows_;
    call.slabs = slabs_;
    call.pitch = pitch_of(rows_);
    call.result = distances_.as<float>() + static_cast<std::int64_t>(half) * half_ * call.pitch;
    find_distances(*place_.stream, call, 0, distance_blocks(call));
  }

  /// Solves the members' problem and carries its steps over to all rows.
  void take_steps(const Members& members) {
    const std::size_t size = members.slots.size();
    std::vector<double> alpha(size, 0.0);
    std::vector<float> v(size, 0.0f);
    std::vector<std::uint8_t> member(size, 0);
    for (std::size_t k = 0; k < size; ++k) {
      if (members.slots[k] < 0) continue;
      const auto row = static_cast<std::size_t>(members.rows[k]);
      alpha[k] = alpha_[row];
      v[k] = static_cast<float>(v_[row]);
      member[k] = 1;
    }
    put(slots_, members.slots);
    put(members_, members.rows);
    put(small_alpha_, alpha);
    put(small_v_, v);
    put(small_member_, member);
    const WorkingSetCall call{distances_.as<float>(), pitch_of(rows_),    rows_,
                              slots_.as<int>(),       members_.as<int>(), static_cast<int>(size)};
    gather_square(*place_.stream, call, square_.as<float>());
    solve_members(members);
    std::vector<double> moved(size);
    get(moved, small_alpha_);
    for (std::size_t k = 0; k < size; ++k) {
      const double change = moved[k] - alpha[k];
      if (members.slots[k] >= 0) alpha_[static_cast<std::size_t>(members.rows[k])] = moved[k];
      moved[k] = members.slots[k] < 0 ? 0.0 : static_cast<int>(k) < members.padded[0] ? change : -change;
    }
    put(steps_, moved);
    add_steps(*place_.stream, call, steps_.as<double>(), factors_, shifted_, exact_.as<double>());
    get(v_, exact_);
  }

  void solve_members(const Members& members) {
    PairProblem p;
    p.distances = square_.as<float>();
    p.pitch = members.padded[0] + members.padded[1];
    p.first[1] = members.padded[0];
    p.padded[0] = members.padded[0];
    p.padded[1] = members.padded[1];
    p.bounds[0] = pair_.first_bound;
    p.bounds[1] = pair_.second_bound;
    p.member = small_member_.as<std::uint8_t>();
    p.alpha = small_alpha_.as<double>();
    p.gradient = small_v_.as<float>();
    put(problem_, std::vector{p});
    put(state_, std::vector{PairState{}});
    const double goal = std::max(0.9 * task_.tolerance, kPartOfGap * facts_.gap);
    const int most = kStepsOfRow * static_cast<int>(members.slots.size());
    solve_pairs(
        *place_.stream,
        {problem_.as<PairProblem>(), state_.as<PairState>(), 1, static_cast<int>(members.slots.size()),
         factors_, shifted_, static_cast<float>(goal), static_cast<float>(goal), task_.max_iterations},
        most);
    std::vector<PairState> state(1);
    get(state, state_);
    iterations_ += state[0].iterations;
  }

  const Place& place_;
  const SplitRows& split_;
  int slabs_;
  int rows_;
  int half_;
  const Task& task_;
  KernelFactors factors_;
  bool shifted_;
  std::vector<double> alpha_;
  std::vector<double> v_;
  PairValues pair_;
  std::vector<int> places_;
  PairFacts facts_;
  std::int64_t iterations_ = 0;
  core::Buffer row_list_, new_list_, distances_, square_, exact_, slots_, members_, steps_, small_alpha_,
      small_v_, small_member_, problem_, state_;
};

/// f of each row by the machine that has not seen it.
Sigmoid find_sigmoid(LargePair& large, const std::vector<std::vector<std::uint8_t>>& folds, std::size_t first,
                     const std::function<void(double)>& told) {
  std::vector<std::uint8_t> of_row = folds[0];
  of_row.insert(of_row.end(), folds[1].begin(), folds[1].end());
  std::vector<double> decisions(of_row.size());
  std::vector<char> is_first(of_row.size());
  for (std::uint8_t fold = 0; fold < kFolds; ++fold) {
    std::vector<char> member(of_row.size());
    for (std::size_t t = 0; t < member.size(); ++t) member[t] = of_row[t] == fold ? 0 : 1;
    large.solve(member, [&](double part) { told((1.0 + fold + part) / (1.0 + kFolds)); });
    for (std::size_t t = 0; t < member.size(); ++t) {
      if (member[t] != 0) continue;
      is_first[t] = t < first ? 1 : 0;
      decisions[t] = large.v()[t] + (t < first ? 1.0 : -1.0) - large.reached().rho;
    }
  }
  return fit_sigmoid(decisions, is_first);
}

}  // namespace

std::size_t least_large_pair_bytes(const ClassPlaces& places, const std::array<int, 2>& pair) {
  return bytes_of(rows_of(places, pair), kLeastHalf);
}

std::size_t large_pair_bytes(const ClassPlaces& places, const std::array<int, 2>& pair, std::size_t room) {
  const int rows = rows_of(places, pair);
  return bytes_of(rows, largest_half(rows, room));
}

PairSolution solve_large_pair(const Place& place, const SplitRows& rows, int columns,
                              const ClassPlaces& places, const std::array<int, 2>& pair, const Task& task,
                              KernelFactors factors, bool shifted, std::size_t room,
                              const std::function<void(double)>& told) {
  std::vector<int> list;
  for (const int k : pair) {
    const auto at = static_cast<std::size_t>(k);
    for (int row = 0; row < places.rows[at]; ++row) list.push_back(static_cast<int>(places.first[at]) + row);
  }
  const auto a = static_cast<std::size_t>(pair[0]);
  const auto b = static_cast<std::size_t>(pair[1]);
  const auto first = static_cast<std::size_t>(places.rows[a]);
  LargePair large(place, rows, columns, list, {{}, first, task.bounds[a], task.bounds[b]}, task, factors,
                  shifted, largest_half(static_cast<int>(list.size()), room));
  const double versions = task.probabilities ? 1.0 + kFolds : 1.0;
  large.solve({}, [&](double part) { told(part / versions); });
  PairSolution solved;
  const PairFacts& facts = large.reached();
  solved.report = {pair[0],
                   pair[1],
                   large.iterations(),
                   facts.gap,
                   facts.objective,
                   facts.support_vectors,
                   facts.bounded,
                   facts.gap < task.tolerance};
  solved.rho = facts.rho;
  solved.alpha = large.alpha();
  if (task.probabilities) {
    std::vector<std::vector<std::uint8_t>> folds;
    for (const std::size_t k : {a, b})
      folds.push_back(deal_folds(static_cast<std::size_t>(places.rows[k]), k));
    solved.sigmoid = find_sigmoid(large, folds, first, told);
  }
  return solved;
}

}  // namespace warpscope::classifiers::rbf
