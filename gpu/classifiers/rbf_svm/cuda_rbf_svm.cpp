// The RBF SVM on CUDA: rows are split and multiplied once, pairs solved on the distances, later rows decided by
// distances to the support vectors.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "gpu/classifiers/rbf_svm/backend.h"
#include "gpu/classifiers/rbf_svm/batches.h"
#include "gpu/classifiers/rbf_svm/cuda_pairs.h"
#include "gpu/classifiers/rbf_svm/cuda_rows.h"
#include "gpu/classifiers/rbf_svm/split_rows.h"
#include "gpu/core/error.h"

namespace warpscope::classifiers::rbf {
namespace {

constexpr std::size_t kLeftFree = std::size_t{512} << 20;
constexpr std::size_t kDecisionMatrix = std::size_t{2} << 30;
constexpr int kDecisionParts = 4;
constexpr int kLeastComputeCapability = 80;  // asynchronous copies, 16-bit tensor cores, redux

double megabytes(std::size_t bytes) {
  return static_cast<double>(bytes) / 1e6;
}

/// The training rows, shared by a problem and what was fitted to it.
struct TrainingRows {
  Columns columns;
  ColumnFacts facts;
  ClassPlaces places;
  SplitRows split;
};

/// K from distances in units of the split rows. Where most K are near 1, K - 1 stands for it (smo_step.h).
struct Kernel {
  KernelFactors factors;
  bool shifted = false;

  Kernel(double gamma, const TrainingRows& rows) {
    const double natural = std::min(std::ldexp(gamma, -2 * rows.columns.exponent), 1e30);
    factors = {static_cast<float>(-natural * std::numbers::log2e), static_cast<float>(-natural)};
    shifted = gamma * 2.0 * rows.facts.mean_square < 0.25;
  }
};

class CudaDecider final : public Decider {
 public:
  CudaDecider(const Place& place, std::shared_ptr<const TrainingRows> rows, const RbfSvmModel& model,
              const ClassRows& sorted)
      : rows_(std::move(rows)),
        kernel_(model.gamma, *rows_),
        present_(static_cast<int>(model.present.size())),
        pairs_(model.pairs()),
        vectors_(static_cast<int>(model.support.size())) {
    vectors_at_ = core::upload(place.device, *place.stream, places_of(model, sorted));
    std::vector<int> first;
    for (const std::int64_t one : model.first) first.push_back(static_cast<int>(one));
    first_ = core::upload(place.device, *place.stream, first);
    coefficients_ = core::upload(place.device, *place.stream,
                                 std::vector<float>(model.coefficients.begin(), model.coefficients.end()));
    rho_ = core::upload(place.device, *place.stream, model.rho);
  }

  std::vector<float> decide(const Place& place, const FeatureMatrix& features,
                            const Watch& watch) const override {
    const LaterRows later(place, features, rows_->columns);
    std::vector<float> decisions(static_cast<std::size_t>(features.rows) * pairs_);
    const std::int64_t chunk = std::min(features.rows, chunk_rows(place));
    const std::int64_t pitch = (chunk + 31) / 32 * 32;
    const core::Buffer distances(place.device, bytes_of_row(sizeof(float)) * static_cast<std::size_t>(pitch));
    const core::Buffer partial(place.device, partial_bytes() * static_cast<std::size_t>(chunk));
    const core::Buffer result(place.device, pairs_ * sizeof(float) * static_cast<std::size_t>(chunk));
    for (std::int64_t first = 0; first < features.rows; first += chunk) {
      look(watch, static_cast<double>(first) / static_cast<double>(features.rows), "predicting");
      const std::int64_t count = std::min(chunk, features.rows - first);
      const SplitRows split = later.split(place, first, count);
      if (vectors_ > 0) fill_distances(place, later, split, count, pitch, distances, watch);
      sum_decisions(*place.stream,
                    {distances.as<float>(), pitch, static_cast<int>(count), present_, first_.as<int>(),
                     coefficients_.as<float>(), rho_.as<double>(), kDecisionParts, partial.as<double>(),
                     result.as<float>(), kernel_.factors, kernel_.shifted});
      place.stream->copy(decisions.data() + static_cast<std::size_t>(first) * pairs_, result.data(),
                         static_cast<std::size_t>(count) * pairs_ * sizeof(float));
      place.stream->synchronize();
    }
    return decisions;
  }

 private:
  /// The places of the support vectors among the training rows' places.
  std::vector<int> places_of(const RbfSvmModel& model, const ClassRows& sorted) const {
    std::vector<int> at;
    for (std::size_t k = 0; k < sorted.rows.size(); ++k) {
      std::size_t row = 0;
      for (std::int64_t s = model.first[k]; s < model.first[k + 1]; ++s) {
        while (sorted.rows[k][row] != model.support[static_cast<std::size_t>(s)]) ++row;
        at.push_back(static_cast<int>(rows_->places.first[k]) + static_cast<int>(row));
      }
    }
    return at;
  }

  std::size_t bytes_of_row(std::size_t element) const {
    return static_cast<std::size_t>(std::max(vectors_, 1)) * element;
  }
  std::size_t partial_bytes() const {
    return static_cast<std::size_t>(kDecisionParts) * static_cast<std::size_t>(present_) *
           static_cast<std::size_t>(present_ - 1) * sizeof(double);
  }

  std::int64_t chunk_rows(const Place& place) const {
    const std::size_t free = place.device->memory().free_bytes;
    const std::size_t usable = std::min(kDecisionMatrix, free > 2 * kLeftFree ? free - kLeftFree : free / 2);
    const std::size_t row =
        bytes_of_row(sizeof(float)) + partial_bytes() + split_bytes(1, rows_->columns.count);
    return std::max<std::int64_t>(32, static_cast<std::int64_t>(usable / row) / 128 * 128);
  }

  void fill_distances(const Place& place, const LaterRows& later, const SplitRows& split, std::int64_t count,
                      std::int64_t pitch, const core::Buffer& distances, const Watch& watch) const {
    DistanceCall call;
    call.a = rows_->split.side();
    call.a.rows = vectors_at_.as<int>();
    call.a.count = vectors_;
    call.b = split.side();
    call.b.count = static_cast<int>(count);
    call.slabs = slabs_of(rows_->columns.count);
    call.dot_factor = later.dot_factor();
    call.result = distances.as<float>();
    call.pitch = pitch;
    find_all_distances(place, call, [&](double) {
      if (watch.stop.stop_requested()) throw Cancelled();
    });
  }

  std::shared_ptr<const TrainingRows> rows_;
  Kernel kernel_;
  int present_;
  std::size_t pairs_;
  int vectors_;
  core::Buffer vectors_at_, first_, coefficients_, rho_;
};

class CudaBackend final : public Backend {
 public:
  CudaBackend(const Place& place, const LabelledFeatures& data, const ClassRows& sorted,
              std::size_t memory_limit)
      : place_(place), sorted_(sorted), limit_(memory_limit), rows_(std::make_shared<TrainingRows>()) {
    rows_->facts = look_through(place, data.features, rows_->columns);
    rows_->places = place_classes(sorted.rows);
    const std::size_t bytes = split_bytes(rows_->places.total(), data.features.columns);
    if (bytes / 16 > 0xffffffffull)
      throw core::BadInput("these are more features than the RBF SVM can address");
    if (bytes > usable()) refuse_memory(bytes);
    rows_->split = split_training_rows(place, data.features, rows_->columns, rows_->places.sources);
    taken_ = bytes;
    peak_ = taken_;
  }

  double variance() const override { return rows_->facts.variance; }
  std::size_t peak_bytes() const override { return peak_; }

  std::vector<PairSolution> solve(const Task& task, core::Phases& phases, const Watch& watch) override {
    const Plan work = plan(task);
    const auto parts = static_cast<double>(work.batches.size() + work.large.size());
    std::vector<PairSolution> solutions(pairs_of(sorted_.present.size()).size());
    double done = 0;
    const auto told = [&](double begin, double length, std::string_view phase) {
      return [&watch, &done, parts, begin, length, phase](double part) {
        look(watch, (done + begin + length * part) / parts, phase);
      };
    };
    const Kernel kernel(task.gamma, *rows_);
    for (const Batch& batch : work.batches) {
      phases.begin("distances");
      make_matrix(batch, batch.classes.size() == sorted_.present.size(), told(0.0, 0.4, "distances"));
      phases.begin("solving");
      note_peak(matrix_.bytes() + solving_bytes(rows_->places, batch, task.probabilities));
      keep(solve_batch(place_, {matrix_.as<float>(), &rows_->places, &batch}, task, kernel.factors,
                       kernel.shifted, told(0.4, 0.6, "solving")),
           solutions);
      done += 1;
    }
    for (const auto& pair : work.large) {
      phases.begin("solving by working sets");
      matrix_ = core::Buffer();
      complete_ = false;
      const std::size_t room = usable();
      keep({solve_large_pair(place_, rows_->split, rows_->columns.count, rows_->places, pair, task,
                             kernel.factors, kernel.shifted, room, told(0.0, 1.0, "solving"))},
           solutions);
      note_peak(large_pair_bytes(rows_->places, pair, room));
      done += 1;
    }
    return solutions;
  }

  std::shared_ptr<const Decider> make_decider(const RbfSvmModel& model) override {
    return std::make_shared<CudaDecider>(place_, rows_, model, sorted_);
  }

 private:
  /// Bytes that may be taken besides the rows and, if it is there, the matrix.
  std::size_t usable() const {
    const std::size_t free = place_.device->memory().free_bytes + matrix_.bytes();
    const std::size_t left = free > kLeftFree ? free - kLeftFree : 0;
    if (limit_ == 0) return left;
    return std::min(left, limit_ > taken_ ? limit_ - taken_ : 0);
  }

  [[noreturn]] void refuse_memory(std::size_t wanted) const {
    throw core::OutOfMemory(
        fmt::format("the RBF SVM needs {:.0f} MB of GPU memory besides the features; {:.0f} MB may be taken",
                    megabytes(wanted), megabytes(taken_ + usable())));
  }

  /// What is solved with the distances of several classes, or of two, in memory, and pairs that are too large for
  /// that.
  struct Plan {
    std::vector<Batch> batches;
    std::vector<std::array<int, 2>> large;
  };

  Plan plan(const Task& task) const {
    Batch all;
    all.pairs = pairs_of(sorted_.present.size());
    const std::size_t room = usable();
    const std::size_t solving = solving_bytes(rows_->places, all, task.probabilities);
    Plan made{plan_batches(rows_->places, room > solving ? room - solving : 0), {}};
    if (!made.batches.empty()) return made;
    for (const auto& pair : all.pairs) {
      const Batch alone = batch_of_pair(rows_->places, pair);
      if (matrix_bytes(alone.places) + solving_bytes(rows_->places, alone, task.probabilities) <= room) {
        made.batches.push_back(alone);
      } else if (least_large_pair_bytes(rows_->places, pair) <= room) {
        made.large.push_back(pair);
      } else {
        refuse_memory(taken_ + least_large_pair_bytes(rows_->places, pair));
      }
    }
    return made;
  }

  void note_peak(std::size_t besides_rows) { peak_ = std::max(peak_, taken_ + besides_rows); }

  /// Puts solved pairs where they belong, with classes in place of their numbers among those present.
  void keep(std::vector<PairSolution> solved, std::vector<PairSolution>& solutions) const {
    const auto pairs = pairs_of(sorted_.present.size());
    for (PairSolution& one : solved) {
      const std::array<int, 2> numbers{one.report.first, one.report.second};
      const auto at = std::ranges::find(pairs, numbers) - pairs.begin();
      one.report.first = sorted_.present[static_cast<std::size_t>(numbers[0])];
      one.report.second = sorted_.present[static_cast<std::size_t>(numbers[1])];
      solutions[static_cast<std::size_t>(at)] = std::move(one);
    }
  }

  /// The matrix of all classes is kept for the next fit.
  void make_matrix(const Batch& batch, bool all, const std::function<void(double)>& told) {
    if (all && complete_) return;
    complete_ = false;
    if (matrix_.bytes() < matrix_bytes(batch.places)) {
      matrix_ = core::Buffer();
      matrix_ = core::Buffer(place_.device, matrix_bytes(batch.places));
    }
    std::vector<int> list;
    for (const int k : batch.classes) {
      const auto at = static_cast<std::size_t>(k);
      for (std::int64_t p = rows_->places.first[at]; p < rows_->places.first[at + 1]; ++p)
        list.push_back(static_cast<int>(p));
    }
    const core::Buffer rows = core::upload(place_.device, *place_.stream, list);
    DistanceCall call;
    call.a = rows_->split.side();
    call.a.rows = rows.as<int>();
    call.a.count = static_cast<int>(list.size());
    call.b = call.a;
    call.slabs = slabs_of(rows_->columns.count);
    call.symmetric = true;
    call.result = matrix_.as<float>();
    call.pitch = batch.places;
    find_all_distances(place_, call, told);
    complete_ = all;
  }

  Place place_;
  ClassRows sorted_;
  std::size_t limit_;
  std::shared_ptr<TrainingRows> rows_;
  std::size_t taken_ = 0;
  std::size_t peak_ = 0;
  core::Buffer matrix_;
  bool complete_ = false;  ///< it holds the distances of all classes
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(const Place& place, const LabelledFeatures& data,
                                           const ClassRows& rows, std::size_t memory_limit,
                                           const Watch& watch) {
  if (place.device->info().compute_capability < kLeastComputeCapability) {
    throw core::BadInput(fmt::format("the RBF SVM on a GPU needs compute capability 8.0; {} has {}.{}",
                                     place.device->info().name, place.device->info().compute_capability / 10,
                                     place.device->info().compute_capability % 10));
  }
  look(watch, 0.0, "preparing");
  return std::make_unique<CudaBackend>(place, data, rows, memory_limit);
}

}  // namespace warpscope::classifiers::rbf
