// The RBF SVM on the CPU: LIBSVM solves each pair on a kernel that is computed here, several pairs at a time.
// LIBSVM's own rows are lists of (index, value) and take it minutes where a product of matrices takes seconds.
//
// Squared distances are |x|^2 + |y|^2 - 2 x y of centred rows; products of 256 columns are FP32 sums of a library's
// matrix product, these are added in double.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <libsvm/svm.h>
#include <oneapi/dnnl/dnnl.h>
#include <unistd.h>

#include "gpu/classifiers/rbf_svm/backend.h"
#include "gpu/classifiers/rbf_svm/pair_check.h"
#include "gpu/classifiers/rbf_svm/split_rows.h"
#include "gpu/core/error.h"
#include "gpu/core/parallel.h"

namespace warpscope::classifiers::rbf {
namespace {

constexpr int kSumColumns = 256;
constexpr std::int64_t kBlockRows = 512;

/// Rows on the host, centred and times 2^exponent, so that no square overflows, with their squares.
struct HostRows {
  int columns = 0;
  std::vector<float> values;
  std::vector<double> squares;

  std::int64_t count() const { return static_cast<std::int64_t>(squares.size()); }
  const float* row(std::int64_t at) const { return values.data() + at * columns; }
};

void check_finite(const FeatureMatrix& features) {
  for (std::int64_t at = 0; at < features.rows * features.columns; ++at) {
    if (!std::isfinite(features.values[at])) refuse_number(at / features.columns, at % features.columns);
  }
}

std::vector<double> means_of(const FeatureMatrix& features) {
  std::vector<double> means(static_cast<std::size_t>(features.columns), 0.0);
  for (std::int64_t row = 0; row < features.rows; ++row) {
    for (int c = 0; c < features.columns; ++c) {
      means[static_cast<std::size_t>(c)] += static_cast<double>(features.values[row * features.columns + c]);
    }
  }
  for (double& mean : means) mean /= static_cast<double>(features.rows);
  return means;
}

/// What centres rows.
struct Centre {
  std::vector<double> means;
  int exponent = 0;
};

Centre centre_of(const FeatureMatrix& features) {
  Centre centre{means_of(features), 0};
  double largest = 0;
  for (std::int64_t at = 0; at < features.rows * features.columns; ++at) {
    const double mean = centre.means[static_cast<std::size_t>(at % features.columns)];
    largest = std::max(largest, std::abs(static_cast<double>(features.values[at]) - mean));
  }
  centre.exponent = exponent_for(largest);
  return centre;
}

/// `sources` empty: all rows. Later rows may be so large that they become infinite; their K is 0.
HostRows apply(const Centre& centre, const FeatureMatrix& features,
               const std::vector<std::int64_t>& sources) {
  HostRows rows;
  rows.columns = features.columns;
  const std::int64_t count = sources.empty() ? features.rows : static_cast<std::int64_t>(sources.size());
  rows.values.resize(static_cast<std::size_t>(count * features.columns));
  rows.squares.resize(static_cast<std::size_t>(count));
  core::parallel_for(count, 64, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; ++at) {
      const std::int64_t source = sources.empty() ? at : sources[static_cast<std::size_t>(at)];
      double square = 0;
      for (int c = 0; c < features.columns; ++c) {
        const double difference = static_cast<double>(features.values[source * features.columns + c]) -
                                  centre.means[static_cast<std::size_t>(c)];
        const auto value = static_cast<float>(std::ldexp(difference, centre.exponent));
        rows.values[static_cast<std::size_t>(at * features.columns + c)] = value;
        square += static_cast<double>(value) * static_cast<double>(value);
      }
      rows.squares[static_cast<std::size_t>(at)] = square;
    }
  });
  return rows;
}

/// Products of rows [a, a + a_count) of `left` and [b, b + b_count) of `right`, (a_count, b_count).
void multiply(const HostRows& left, std::int64_t a, std::int64_t a_count, const HostRows& right,
              std::int64_t b, std::int64_t b_count, std::vector<double>& sums) {
  std::vector<float> part(static_cast<std::size_t>(a_count * b_count));
  sums.assign(part.size(), 0.0);
  // The library spreads a product over all cores: one at a time.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  for (int c = 0; c < left.columns; c += kSumColumns) {
    const std::int64_t width = std::min(kSumColumns, left.columns - c);
    const auto status = dnnl_sgemm('N', 'T', a_count, b_count, width, 1.0f, left.row(a) + c, left.columns,
                                   right.row(b) + c, right.columns, 0.0f, part.data(), b_count);
    if (status != dnnl_success) throw core::Error("oneDNN could not multiply the rows of features");
    for (std::size_t k = 0; k < part.size(); ++k) sums[k] += static_cast<double>(part[k]);
  }
}

/// Calls use(row of left, row of right, K) for all pairs, block by block of some 512 x 512.
template <class Use>
void for_each_kernel(const HostRows& left, std::int64_t a, std::int64_t a_count, const HostRows& right,
                     std::int64_t b, std::int64_t b_count, double gamma, const Watch& watch, const Use& use) {
  std::vector<double> sums;
  for (std::int64_t i = 0; i < a_count; i += kBlockRows) {
    for (std::int64_t j = 0; j < b_count; j += kBlockRows) {
      if (watch.stop.stop_requested()) throw Cancelled();
      const std::int64_t down = std::min(kBlockRows, a_count - i);
      const std::int64_t across = std::min(kBlockRows, b_count - j);
      multiply(left, a + i, down, right, b + j, across, sums);
      for (std::int64_t k = 0; k < down * across; ++k) {
        const std::int64_t row = i + k / across;
        const std::int64_t column = j + k % across;
        const double distance = left.squares[static_cast<std::size_t>(a + row)] +
                                right.squares[static_cast<std::size_t>(b + column)] -
                                2.0 * sums[static_cast<std::size_t>(k)];
        // Not a number where a later row is infinite.
        use(row, column, distance >= 0.0 ? std::exp(-gamma * distance) : distance < 0.0 ? 1.0 : 0.0);
      }
    }
  }
}

// ---- LIBSVM's words ----

/// What LIBSVM prints while it solves, in the thread that solves; it calls it every thousand steps.
struct Listener {
  std::string text;
  const Watch* watch = nullptr;
};
thread_local Listener* listener = nullptr;

void listen(const char* text) {
  if (listener == nullptr) return;
  listener->text += text;
  // LIBSVM leaves some bytes a row of the pair behind, but the kernel's cache is freed on the way.
  if (listener->watch->stop.stop_requested()) throw Cancelled();
}

void listen_to_libsvm() {
  static std::once_flag once;
  std::call_once(once, [] { svm_set_print_string_function(listen); });
}

std::int64_t iterations_told(const std::string& text) {
  constexpr std::string_view kBefore = "#iter = ";
  const std::size_t at = text.rfind(kBefore);
  return at == std::string::npos ? 0 : std::strtoll(text.c_str() + at + kBefore.size(), nullptr, 10);
}

// ---- one pair ----

struct ModelFree {
  void operator()(svm_model* model) const { svm_free_and_destroy_model(&model); }
};

/// The kernel of one pair as LIBSVM takes it: each row a list of its number, its K, and an end.
class PairKernel {
 public:
  /// Its numbers are not set: zeros of gigabytes would take seconds in which nobody looks whether to go on.
  explicit PairKernel(std::int64_t rows)
      : rows_(rows),
        nodes_(std::make_unique_for_overwrite<svm_node[]>(static_cast<std::size_t>(rows * (rows + 2)))) {
    for (std::int64_t row = 0; row < rows; ++row) {
      line(row)[0] = {0, static_cast<double>(row + 1)};
      line(row)[rows + 1] = {-1, 0.0};
    }
  }
  svm_node* line(std::int64_t row) { return nodes_.get() + row * (rows_ + 2); }
  void set(std::int64_t row, std::int64_t column, double value) {
    line(row)[column + 1] = {static_cast<int>(column + 1), value};
  }
  double at(std::int64_t row, std::int64_t column) const {
    return nodes_[static_cast<std::size_t>(row * (rows_ + 2) + column + 1)].value;
  }
  std::int64_t rows() const { return rows_; }

 private:
  std::int64_t rows_;
  std::unique_ptr<svm_node[]> nodes_;
};

/// v_t of smo_step.h, summed in double.
std::vector<double> gradient_of(const PairKernel& kernel, const PairValues& pair) {
  std::vector<double> v(pair.alpha.size());
  for (std::size_t t = 0; t < v.size(); ++t) v[t] = -pair.y(t);
  for (std::size_t s = 0; s < v.size(); ++s) {
    if (pair.alpha[s] == 0.0) continue;
    const double coefficient = pair.y(s) * pair.alpha[s];
    for (std::size_t t = 0; t < v.size(); ++t) {
      v[t] += coefficient * kernel.at(static_cast<std::int64_t>(s), static_cast<std::int64_t>(t));
    }
  }
  return v;
}

class LibsvmDecider final : public Decider {
 public:
  LibsvmDecider(HostRows vectors, Centre centre, RbfSvmModel model)
      : vectors_(std::move(vectors)), centre_(std::move(centre)), model_(std::move(model)) {}

  std::vector<float> decide(const Place&, const FeatureMatrix& features, const Watch& watch) const override {
    check_finite(features);
    const HostRows rows = apply(centre_, features, {});
    std::vector<float> decisions(static_cast<std::size_t>(features.rows) * model_.pairs());
    core::parallel_for(features.rows, kBlockRows, 0, [&](std::int64_t begin, std::int64_t end) {
      decide_rows(rows, begin, end - begin, watch, decisions);
    });
    return decisions;
  }

 private:
  void decide_rows(const HostRows& rows, std::int64_t first, std::int64_t count, const Watch& watch,
                   std::vector<float>& decisions) const {
    const std::size_t present = model_.present.size();
    const std::size_t width = present - 1;
    // (row, class, column of coefficients)
    std::vector<double> sums(static_cast<std::size_t>(count) * present * width, 0.0);
    for (std::size_t k = 0; k < present; ++k) {
      for_each_kernel(rows, first, count, vectors_, model_.first[k], model_.first[k + 1] - model_.first[k],
                      std::ldexp(model_.gamma, -2 * centre_.exponent), watch,
                      [&](std::int64_t row, std::int64_t s, double kernel) {
                        const double* const c = model_.coefficients.data() +
                                                static_cast<std::size_t>(model_.first[k] + s) * width;
                        double* const sum =
                            sums.data() + (static_cast<std::size_t>(row) * present + k) * width;
                        for (std::size_t j = 0; j < width; ++j) sum[j] += c[j] * kernel;
                      });
    }
    const auto pairs = pairs_of(present);
    for (std::size_t row = 0; row < static_cast<std::size_t>(count); ++row) {
      for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
        const auto a = static_cast<std::size_t>(pairs[pair][0]);
        const auto b = static_cast<std::size_t>(pairs[pair][1]);
        const double f = sums[(row * present + a) * width + b - 1] + sums[(row * present + b) * width + a];
        decisions[(static_cast<std::size_t>(first) + row) * pairs.size() + pair] =
            static_cast<float>(f - model_.rho[pair]);
      }
    }
  }

  HostRows vectors_;
  Centre centre_;
  RbfSvmModel model_;
};

class LibsvmBackend final : public Backend {
 public:
  LibsvmBackend(const LabelledFeatures& data, const ClassRows& sorted) {
    check_finite(data.features);
    listen_to_libsvm();
    centre_ = centre_of(data.features);
    std::vector<std::int64_t> sources;
    for (const std::vector<int>& rows : sorted.rows) {
      first_.push_back(static_cast<std::int64_t>(sources.size()));
      sources.insert(sources.end(), rows.begin(), rows.end());
    }
    first_.push_back(static_cast<std::int64_t>(sources.size()));
    sources_ = sources;
    rows_ = apply(centre_, data.features, sources);
    present_ = sorted.present;
    variance_ = find_variance();
  }

  double variance() const override { return variance_; }
  std::size_t peak_bytes() const override { return 0; }

  std::vector<PairSolution> solve(const Task& task, core::Phases& phases, const Watch& watch) override {
    phases.begin("solving");
    const auto pairs = pairs_of(present_.size());
    std::vector<PairSolution> solutions(pairs.size());
    std::atomic<std::int64_t> done{0};
    std::mutex telling;
    const auto one = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; ++at) {
        const auto pair = static_cast<std::size_t>(at);
        solutions[pair] = solve_pair(pairs[pair], task, watch);
        const double part = static_cast<double>(++done) / static_cast<double>(pairs.size());
        const std::lock_guard lock(telling);
        look(watch, part, "solving");
      }
    };
    look(watch, 0.0, "solving");
    core::parallel_for(static_cast<std::int64_t>(pairs.size()), 1, threads(), one);
    return solutions;
  }

  std::shared_ptr<const Decider> make_decider(const RbfSvmModel& model) override {
    HostRows vectors;
    vectors.columns = rows_.columns;
    std::int64_t at = 0;
    for (std::size_t k = 0; k < present_.size(); ++k) {
      at = first_[k];
      for (std::int64_t s = model.first[k]; s < model.first[k + 1]; ++s) {
        while (sources_[static_cast<std::size_t>(at)] != model.support[static_cast<std::size_t>(s)]) ++at;
        vectors.values.insert(vectors.values.end(), rows_.row(at), rows_.row(at) + rows_.columns);
        vectors.squares.push_back(rows_.squares[static_cast<std::size_t>(at)]);
      }
    }
    return std::make_shared<LibsvmDecider>(std::move(vectors), centre_, model);
  }

 private:
  std::int64_t count(std::size_t k) const { return first_[k + 1] - first_[k]; }

  double find_variance() const {
    const std::vector<double>& means = centre_.means;
    double mean = 0;
    for (const double one : means) mean += one / static_cast<double>(means.size());
    double between = 0;
    for (const double one : means) between += (one - mean) * (one - mean) / static_cast<double>(means.size());
    double within = 0;
    for (const double square : rows_.squares) within += square;
    return std::ldexp(within / static_cast<double>(rows_.values.size()), -2 * centre_.exponent) + between;
  }

  /// As many pairs at a time as a quarter of the machine's memory holds kernels of the largest.
  int threads() const {
    std::int64_t largest = 0;
    for (std::size_t k = 0; k < present_.size(); ++k) largest = std::max(largest, 2 * count(k));
    const double kernel = static_cast<double>(largest) * static_cast<double>(largest) * sizeof(svm_node);
    const double memory =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
    const auto most = static_cast<int>(std::clamp(0.25 * memory / std::max(kernel, 1.0), 1.0, 16.0));
    return std::min(most, static_cast<int>(std::max(1l, sysconf(_SC_NPROCESSORS_ONLN))));
  }

  std::unique_ptr<PairKernel> kernel_of(std::size_t a, std::size_t b, double gamma,
                                        const Watch& watch) const {
    const std::int64_t split = count(a);
    auto kernel = std::make_unique<PairKernel>(split + count(b));
    const auto both = [&](std::int64_t row, std::int64_t column, double value) {
      kernel->set(row, column, value);
      kernel->set(column, row, value);
    };
    for_each_kernel(rows_, first_[a], split, rows_, first_[a], split, gamma, watch,
                    [&](std::int64_t r, std::int64_t c, double v) {
                      if (c <= r) both(r, c, r == c ? 1.0 : v);
                    });
    for_each_kernel(rows_, first_[b], count(b), rows_, first_[b], count(b), gamma, watch,
                    [&](std::int64_t r, std::int64_t c, double v) {
                      if (c <= r) both(split + r, split + c, r == c ? 1.0 : v);
                    });
    for_each_kernel(rows_, first_[b], count(b), rows_, first_[a], split, gamma, watch,
                    [&](std::int64_t r, std::int64_t c, double v) { both(split + r, c, v); });
    return kernel;
  }

  PairSolution solve_pair(const std::array<int, 2>& pair, const Task& task, const Watch& watch) const {
    const auto a = static_cast<std::size_t>(pair[0]);
    const auto b = static_cast<std::size_t>(pair[1]);
    const std::unique_ptr<PairKernel> kernel =
        kernel_of(a, b, std::ldexp(task.gamma, -2 * centre_.exponent), watch);
    const std::int64_t rows = kernel->rows();
    std::vector<double> y(static_cast<std::size_t>(rows), -1.0);
    std::fill_n(y.begin(), count(a), 1.0);
    std::vector<svm_node*> lines;
    for (std::int64_t row = 0; row < rows; ++row) lines.push_back(kernel->line(row));
    svm_problem problem{static_cast<int>(rows), y.data(), lines.data()};
    int weighted[2] = {1, -1};
    double weights[2] = {task.bounds[a], task.bounds[b]};
    svm_parameter parameter{};
    parameter.svm_type = C_SVC;
    parameter.kernel_type = PRECOMPUTED;
    parameter.cache_size = std::max(1.0, static_cast<double>(rows) * static_cast<double>(rows) * 4e-6);
    parameter.eps = task.tolerance;
    parameter.C = 1.0;
    parameter.nr_weight = 2;
    parameter.weight_label = weighted;
    parameter.weight = weights;
    parameter.shrinking = 1;
    parameter.probability = task.probabilities ? 1 : 0;
    Listener heard{{}, &watch};
    listener = &heard;
    std::unique_ptr<svm_model, ModelFree> model;
    try {
      model.reset(svm_train(&problem, &parameter));
    } catch (...) {
      listener = nullptr;
      throw;
    }
    listener = nullptr;
    return read(*model, *kernel, pair, task, iterations_told(heard.text));
  }

  PairSolution read(const svm_model& model, const PairKernel& kernel, const std::array<int, 2>& pair,
                    const Task& task, std::int64_t iterations) const {
    const auto a = static_cast<std::size_t>(pair[0]);
    const auto b = static_cast<std::size_t>(pair[1]);
    PairSolution solution;
    solution.alpha.assign(static_cast<std::size_t>(kernel.rows()), 0.0);
    for (int s = 0; s < model.l; ++s) {
      solution.alpha[static_cast<std::size_t>(model.sv_indices[s] - 1)] = std::abs(model.sv_coef[0][s]);
    }
    const PairValues values{solution.alpha, static_cast<std::size_t>(count(a)), task.bounds[a],
                            task.bounds[b]};
    const PairFacts facts = facts_of(values, gradient_of(kernel, values));
    solution.rho = model.rho[0];
    // LIBSVM keeps K in FP32, and so its gap is not quite this one.
    solution.report = {
        present_[a],     present_[b],           iterations,    facts.gap,
        facts.objective, facts.support_vectors, facts.bounded, facts.gap <= 2 * task.tolerance};
    if (task.probabilities) solution.sigmoid = Sigmoid{model.probA[0], model.probB[0]};
    return solution;
  }

  std::vector<int> present_;
  std::vector<std::int64_t> first_;    ///< of each class, and the end
  std::vector<std::int64_t> sources_;  ///< the training row of each of ours
  Centre centre_;
  HostRows rows_;
  double variance_ = 0;
};

}  // namespace

std::unique_ptr<Backend> make_libsvm_backend(const LabelledFeatures& data, const ClassRows& rows) {
  return std::make_unique<LibsvmBackend>(data, rows);
}

}  // namespace warpscope::classifiers::rbf
