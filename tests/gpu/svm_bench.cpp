// Measures the RBF SVM: seconds of each phase, steps, gap, accuracy, and checks that what was reached is what was
// meant.
//
//   svm_bench [--device cuda] [--rows 50000] [--columns 8192] [--classes 10] [--test 10000] [--c 10]
//             [--gamma scale|auto|G] [--limit BYTES] [--repeat 3] [--probabilities]
//             [--features F.npy --labels L.npy [--test-features --test-labels]]
//
// Without files the features are a mixture: each class has several centres in a few hundred directions, noise in all of
// them, and one row in ten the label of another class, so that, as with latents of real images, some two rows in three
// become support vectors. `.npy`: features of <f4 (rows, columns), labels of <i4.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "gpu/classifiers/rbf_svm/pair_check.h"
#include "gpu/classifiers/rbf_svm/rbf_svm.h"
#include "gpu/core/parallel.h"
#include "gpu/core/random.h"
#include "tests/support/feature_rows.h"

namespace {

using namespace warpscope;
using namespace warpscope::classifiers;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

using Rows = tests::FeatureRows;
using tests::nearly_normal;

// ---- the mixture ----

Rows make_mixture(std::int64_t rows, int columns, int classes, std::uint64_t seed, double signal) {
  constexpr int kDirections = 128;
  constexpr int kCentres = 6;
  Rows made{std::vector<float>(static_cast<std::size_t>(rows) * columns), std::vector<int>(rows), rows,
            columns};
  core::parallel_for(rows, 64, 0, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> factors(kDirections);
    for (std::int64_t row = begin; row < end; ++row) {
      const auto truth = static_cast<int>(row % classes);
      const std::uint64_t draw = core::random_bits(seed, row);
      const auto centre = static_cast<std::uint64_t>(truth * kCentres + static_cast<int>(draw % kCentres));
      for (int k = 0; k < kDirections; ++k) {
        factors[k] = static_cast<float>(signal) * nearly_normal(77, centre * kDirections + k) +
                     nearly_normal(seed + 1, row * kDirections + k);
      }
      float* const to = made.values.data() + row * columns;
      for (int c = 0; c < columns; ++c) {
        // Each column has four of the directions, so that columns depend on each other as latents do.
        float value = 0.8f * nearly_normal(seed + 2, static_cast<std::uint64_t>(row) * columns + c);
        for (int k = 0; k < 4; ++k) {
          value += 0.5f * factors[core::random_bits(99, static_cast<std::uint64_t>(c) * 4 + k) % kDirections];
        }
        to[c] = value;
      }
      const bool wrong = (draw >> 32) % 10 == 0;
      made.labels[row] = wrong ? static_cast<int>((draw >> 40) % classes) : truth;
    }
  });
  return made;
}

// ---- checks ----

double kernel_of(const Rows& rows, std::int64_t a, std::int64_t b, double gamma) {
  double sum = 0;
  for (int c = 0; c < rows.columns; ++c) {
    const double d = static_cast<double>(rows.values[a * rows.columns + c]) -
                     static_cast<double>(rows.values[b * rows.columns + c]);
    sum += d * d;
  }
  return std::exp(-gamma * sum);
}

/// f of some training rows for one pair, in double on the host, against what the machine says; and the conditions of
/// the optimum for them: y f >= 1 where alpha is 0, <= 1 where it is bounded, 1 between, to within the gap.
void check_pair(const Rows& train, const RbfSvm& machine, const Place& place, const FeatureMatrix& on_device,
                double c, int samples) {
  const RbfSvmModel& model = machine.model();
  const std::size_t width = model.present.size() - 1;
  std::vector<std::int64_t> rows;
  for (int k = 0; k < samples; ++k) {
    rows.push_back(static_cast<std::int64_t>(core::random_bits(5, static_cast<std::uint64_t>(k)) %
                                             static_cast<std::uint64_t>(train.rows)));
  }
  const std::vector<float> said = machine.decisions(place, on_device);
  double worst = 0, worst_condition = 0;
  std::vector<double> own(rows.size(), 0.0);
  core::parallel_for(static_cast<std::int64_t>(rows.size()), 1, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      for (std::size_t side = 0; side < 2; ++side) {
        for (std::int64_t s = model.first[side]; s < model.first[side + 1]; ++s) {
          const double coefficient = model.coefficients[static_cast<std::size_t>(s) * width];
          if (coefficient != 0)
            own[k] += coefficient * kernel_of(train, model.support[s], rows[k], model.gamma);
        }
      }
      own[k] -= model.rho[0];
    }
  });
  for (std::size_t k = 0; k < rows.size(); ++k) {
    worst = std::max(worst, std::abs(own[k] - static_cast<double>(said[rows[k] * model.pairs()])));
    const int label = train.labels[rows[k]];
    if (label != model.present[0] && label != model.present[1]) continue;
    const double yf = label == model.present[0] ? own[k] : -own[k];
    double alpha = 0;
    for (std::int64_t s = model.first[0]; s < model.first[2]; ++s) {
      if (model.support[s] == rows[k])
        alpha = std::abs(model.coefficients[static_cast<std::size_t>(s) * width]);
    }
    if (alpha < c) worst_condition = std::max(worst_condition, 1 - yf);
    if (alpha > 0) worst_condition = std::max(worst_condition, yf - 1);
  }
  fmt::print(
      "check: decision values of {} rows differ from double by at most {:.2e}; conditions of pair 0 are "
      "missed by "
      "at most {:.2e}\n",
      rows.size(), worst, worst_condition);
}

std::string option(const std::map<std::string, std::string>& given, const std::string& name,
                   const std::string& standard) {
  const auto at = given.find(name);
  return at == given.end() ? standard : at->second;
}

double accuracy(const std::vector<int>& labels, const std::vector<int>& truth) {
  std::size_t right = 0;
  for (std::size_t k = 0; k < truth.size(); ++k) right += labels[k] == truth[k] ? 1 : 0;
  return truth.empty() ? 0.0 : static_cast<double>(right) / static_cast<double>(truth.size());
}

void report(const RbfSvm& machine, double seconds) {
  const FitSummary& summary = machine.summary();
  std::int64_t most = 0, support = 0, bounded = 0, rows = 0;
  for (const PairReport& pair : machine.pairs()) {
    most = std::max(most, pair.iterations);
    support += pair.support_vectors;
    bounded += pair.bounded;
    ++rows;
  }
  fmt::print("fit {:.4f} s:", seconds);
  for (const PhaseTime& phase : summary.phases) fmt::print(" {} {:.4f}", phase.phase, phase.seconds);
  fmt::print(
      "\n  steps {} (most of a pair {}), gap {:.3e}, objective {:.8e}, converged {}, support vectors {} of "
      "the pairs ({} bounded), {} of all\n",
      summary.iterations, most, summary.reached, summary.objective, summary.converged, support, bounded,
      machine.model().support.size());
  for (const std::string& remark : summary.remarks) fmt::print("  {}\n", remark);
}

int measure(const std::map<std::string, std::string>& given) {
  const std::shared_ptr<core::Device> device = core::open_device(option(given, "device", "cuda"));
  device->make_current();
  const std::unique_ptr<core::Stream> stream = device->make_stream();
  const Place place{device, stream.get()};
  Rows train, test;
  const auto classes_asked = std::atoi(option(given, "classes", "10").c_str());
  if (given.contains("features")) {
    train = tests::read_feature_rows(given.at("features"), given.at("labels"));
    if (given.contains("test-features"))
      test = tests::read_feature_rows(given.at("test-features"), given.at("test-labels"));
  } else {
    const int columns = std::atoi(option(given, "columns", "8192").c_str());
    const double signal = std::atof(option(given, "signal", "0.55").c_str());
    train =
        make_mixture(std::atoll(option(given, "rows", "50000").c_str()), columns, classes_asked, 1, signal);
    test = make_mixture(std::atoll(option(given, "test", "10000").c_str()), columns, classes_asked, 1000,
                        signal);
  }
  const int classes = *std::max_element(train.labels.begin(), train.labels.end()) + 1;
  core::Buffer train_at(device, train.values.size() * 4);
  core::Buffer test_at(device, std::max<std::size_t>(test.values.size(), 1) * 4);
  stream->copy(train_at.data(), train.values.data(), train.values.size() * 4);
  stream->copy(test_at.data(), test.values.data(), test.values.size() * 4);
  stream->synchronize();
  const FeatureMatrix train_matrix{train_at.as<float>(), train.rows, train.columns};
  const FeatureMatrix test_matrix{test_at.as<float>(), test.rows, test.columns};
  RbfSvmOptions options;
  options.c = std::atof(option(given, "c", "10").c_str());
  options.tolerance = std::atof(option(given, "tolerance", "1e-3").c_str());
  options.probabilities = given.contains("probabilities");
  const std::string gamma = option(given, "gamma", "scale");
  if (gamma == "auto") options.gamma_rule = GammaRule::automatic;
  if (gamma != "auto" && gamma != "scale") {
    options.gamma_rule = GammaRule::number;
    options.gamma = std::atof(gamma.c_str());
  }
  const auto limit = static_cast<std::size_t>(std::atof(option(given, "limit", "0").c_str()));
  fmt::print("{}: {} rows x {} columns, {} classes, {} test rows, C = {}, gamma {}, limit {}\n",
             device->info().name, train.rows, train.columns, classes, test.rows, options.c, gamma, limit);
  std::unique_ptr<RbfSvm> machine;
  for (int turn = 0; turn < std::atoi(option(given, "repeat", "3").c_str()); ++turn) {
    machine.reset();
    const auto begin = Clock::now();
    const auto problem = make_rbf_svm_problem(place, {train_matrix, train.labels, classes}, limit);
    machine = problem->fit(options);
    report(*machine, since(begin));
    const auto again = Clock::now();
    RbfSvmOptions other = options;
    other.gamma_rule = GammaRule::number;
    other.gamma = problem->gamma(options) * 1.5;
    const auto second = problem->fit(other);
    fmt::print("  another gamma ({:.3e}) {:.4f} s; most bytes {:.2f} GB\n", other.gamma, since(again),
               static_cast<double>(problem->peak_bytes()) / 1e9);
    if (test.rows == 0) continue;
    const auto predicting = Clock::now();
    const Prediction prediction = machine->predict(place, test_matrix);
    fmt::print("  predicting {} rows {:.4f} s, accuracy {:.4f}\n", test.rows, since(predicting),
               accuracy(prediction.labels, test.labels));
  }
  fmt::print("gamma {:.6e}\n", machine->model().gamma);
  fmt::print("accuracy of the training rows {:.4f}\n",
             accuracy(machine->predict(place, train_matrix).labels, train.labels));
  check_pair(train, *machine, place, train_matrix, options.c,
             std::atoi(option(given, "samples", "200").c_str()));
  return machine->summary().converged ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  std::map<std::string, std::string> given;
  for (int at = 1; at < count; ++at) {
    std::string name = words[at];
    if (name.rfind("--", 0) != 0) {
      fmt::print(stderr, "svm_bench: '{}' is no option\n", name);
      return 2;
    }
    name.erase(0, 2);
    const bool has_value = at + 1 < count && std::strncmp(words[at + 1], "--", 2) != 0;
    given[name] = has_value ? words[++at] : "1";
  }
  try {
    return measure(given);
  } catch (const std::exception& error) {
    fmt::print(stderr, "svm_bench: {}\n", error.what());
    return dynamic_cast<const core::BadInput*>(&error) != nullptr ? 2 : 1;
  }
}
