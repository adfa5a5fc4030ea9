#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <mutex>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <linear.h>

#include "gpu/classifiers/linear/newton.h"
#include "gpu/classifiers/linear/newton_state.h"
#include "gpu/core/error.h"
#include "gpu/core/parallel.h"

namespace warpscope::classifiers::linear {
namespace {

constexpr double kLeastTolerance = 1e-9;

/// The rows as liblinear takes them.
struct Nodes {
  std::vector<feature_node> all;
  std::vector<std::size_t> first;  ///< of each row
};

Nodes make_nodes(const Place& place, const FeatureMatrix& features) {
  std::size_t count = 2 * static_cast<std::size_t>(features.rows);  // the bias, and the end
  for (std::int64_t i = 0; i < features.rows * features.columns; ++i)
    count += features.values[i] != 0 ? 1 : 0;
  const std::size_t free = place.device->memory().free_bytes;
  if (count * sizeof(feature_node) > free) {
    throw core::OutOfMemory(fmt::format("liblinear needs {:.1f} GiB for these features, {:.1f} GiB are free",
                                        static_cast<double>(count * sizeof(feature_node)) / 1073741824.0,
                                        static_cast<double>(free) / 1073741824.0));
  }
  Nodes nodes;
  nodes.all.reserve(count);
  for (std::int64_t row = 0; row < features.rows; ++row) {
    nodes.first.push_back(nodes.all.size());
    const float* const x = features.values + row * features.columns;
    for (int j = 0; j < features.columns; ++j) {
      if (x[j] != 0) nodes.all.push_back({j + 1, static_cast<double>(x[j])});
    }
    nodes.all.push_back({features.columns + 1, 1.0});
    nodes.all.push_back({-1, 0.0});
  }
  return nodes;
}

/// What liblinear says while this thread is in it.
struct Listener {
  const std::stop_token* stop = nullptr;
  std::vector<feature_node*>* rows = nullptr;
  std::string said;
};

thread_local Listener* listener = nullptr;

/// liblinear cannot be told to end. Asked to, it gets rows without a number, over which it ends at once.
void listen(const char* text) {
  static feature_node empty{-1, 0.0};
  if (listener == nullptr) return;
  listener->said.append(text);
  if (listener->stop->stop_requested()) std::fill(listener->rows->begin(), listener->rows->end(), &empty);
}

/// The last number behind `key`, or `otherwise`.
double number_after(std::string_view said, std::string_view key, double otherwise) {
  const std::size_t at = said.rfind(key);
  if (at == std::string_view::npos) return otherwise;
  const std::size_t begin = said.find_first_not_of(' ', at + key.size());
  double number = otherwise;
  if (begin != std::string_view::npos)
    std::from_chars(said.data() + begin, said.data() + said.size(), number);
  return number;
}

/// One problem, for which liblinear is called with ever smaller tolerances.
class Problem {
 public:
  Problem(const FeatureMatrix& features, const Nodes& nodes, std::span<const int> problem_of, int index,
          const NewtonOptions& options, const std::stop_token& stop)
      : features_(features), options_(options), stop_(stop) {
    for (std::size_t row = 0; row < nodes.first.size(); ++row) {
      labels_.push_back(problem_of[row] == index ? 1.0 : -1.0);
      rows_.push_back(const_cast<feature_node*>(nodes.all.data() + nodes.first[row]));
    }
    weights_.resize(static_cast<std::size_t>(features.columns) + 1);
  }

  void solve() {
    for (double tolerance = options_.loss.hinge ? 0.1 : 0.01;; tolerance *= 0.1) {
      const NewtonReport before = report_;
      const std::vector<double> kept = weights_;
      train_once(tolerance);
      assess();
      report_.converged = report_.gap <= options_.tolerance * report_.objective;
      if (report_.converged) return;
      const bool worse = before.iterations > 0 && report_.gap >= before.gap;
      if (worse) {
        weights_ = kept;
        report_ = before;
      }
      if (reached_bound_) ended_ = "liblinear reached its bound of 1000 rounds";
      if (worse || tolerance < kLeastTolerance) {
        ended_ = fmt::format("liblinear comes no nearer than a gap of {:.3g}", report_.gap);
      }
      if (!ended_.empty()) return;
    }
  }
  const std::vector<double>& weights() const { return weights_; }
  const NewtonReport& report() const { return report_; }
  const std::string& ended() const { return ended_; }

 private:
  void train_once(double tolerance) {
    problem data{};
    data.l = static_cast<int>(features_.rows);
    data.n = features_.columns + 1;
    data.y = labels_.data();
    std::vector<feature_node*> rows = rows_;
    data.x = rows.data();
    data.bias = 1;
    parameter chosen{};
    chosen.solver_type = options_.loss.hinge ? L2R_L1LOSS_SVC_DUAL : L2R_L2LOSS_SVC;
    chosen.eps = tolerance;
    chosen.C = options_.loss.weight;
    std::vector<double> start = weights_;
    const bool own_first = labels_[0] > 0;
    if (!options_.loss.hinge && report_.iterations > 0) {
      // liblinear takes the weights for the class that comes first in the rows.
      for (double& weight : start) weight = own_first ? weight : -weight;
      chosen.init_sol = start.data();
    }
    Listener here{&stop_, &rows, {}};
    listener = &here;
    model* trained = train(&data, &chosen);
    listener = nullptr;
    const double sign = trained->label[0] > 0 ? 1.0 : -1.0;
    for (std::size_t j = 0; j < weights_.size(); ++j) weights_[j] = sign * trained->w[j];
    free_and_destroy_model(&trained);
    if (stop_.stop_requested()) throw Cancelled();
    note(here.said);
  }

  void note(std::string_view said) {
    const double rounds = number_after(said, "#iter = ", 0);
    report_.iterations += static_cast<int>(options_.loss.hinge ? rounds : number_after(said, "iter ", 0));
    reached_bound_ = said.find("reaching max number of iterations") != std::string_view::npos;
    dual_ = -number_after(said, "Objective value = ", std::numeric_limits<double>::infinity());
  }

  /// Objective, gap and gradient at the weights.
  void assess() {
    std::vector<double> scores(labels_.size());
    multiply_rows_loops(features_.values, features_.rows, features_.columns, weights_.data(), 1,
                        scores.data());
    std::vector<double> gradient = weights_;
    double loss = 0, norm = 0, steep = 0;
    for (std::size_t row = 0; row < labels_.size(); ++row) {
      const RowTerms terms = margin_terms(options_.loss, scores[row], labels_[row] > 0, 0);
      loss += terms.primal;
      if (options_.loss.hinge || terms.slope == 0) continue;
      const float* const x = features_.values + static_cast<std::int64_t>(row) * features_.columns;
      for (int j = 0; j < features_.columns; ++j) {
        gradient[static_cast<std::size_t>(j)] += terms.slope * static_cast<double>(x[j]);
      }
      gradient.back() += terms.slope;
    }
    for (const double weight : weights_) norm += weight * weight;
    for (const double value : gradient) steep += value * value;
    report_.objective = 0.5 * norm + loss;
    report_.gap = options_.loss.hinge ? report_.objective - dual_ : 0.5 * steep;
    report_.left = report_.gap;
    report_.gradient_norm = options_.loss.hinge ? 0 : std::sqrt(steep);
  }

  const FeatureMatrix& features_;
  const NewtonOptions& options_;
  const std::stop_token& stop_;
  std::vector<double> labels_;
  std::vector<feature_node*> rows_;
  std::vector<double> weights_;
  NewtonReport report_;
  double dual_ = 0;
  bool reached_bound_ = false;
  std::string ended_;
};

}  // namespace

NewtonResult solve_liblinear(const Place& place, const FeatureMatrix& features,
                             std::span<const int> problem_of, int problems, const NewtonOptions& options,
                             const Watch& watch) {
  static std::once_flag once;
  std::call_once(once, [] { set_print_string_function(listen); });
  const Nodes nodes = make_nodes(place, features);
  const auto width = static_cast<std::size_t>(features.columns) + 1;
  NewtonResult result;
  result.weights.resize(static_cast<std::size_t>(problems) * width);
  result.groups.resize(static_cast<std::size_t>(problems));
  result.bytes = nodes.all.size() * sizeof(feature_node);
  std::mutex mutex;
  int done = 0;
  // Coordinate descent draws from one generator of the whole process: in turn, so that it draws the same each time.
  const int threads = options.loss.hinge ? 1 : 0;
  if (options.loss.hinge) std::srand(1);
  core::parallel_for(problems, 1, threads, [&](std::int64_t begin, std::int64_t) {
    if (watch.stop.stop_requested()) throw Cancelled();
    Problem one(features, nodes, problem_of, static_cast<int>(begin), options, watch.stop);
    one.solve();
    std::copy(one.weights().begin(), one.weights().end(),
              result.weights.begin() + begin * static_cast<std::int64_t>(width));
    result.groups[static_cast<std::size_t>(begin)] = one.report();
    const std::lock_guard lock(mutex);
    if (!one.ended().empty()) result.ended = one.ended();
    if (watch.progress) watch.progress(static_cast<double>(++done) / problems, "solving");
  });
  return result;
}

}  // namespace warpscope::classifiers::linear
