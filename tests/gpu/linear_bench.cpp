// Measures linear classifiers: seconds of each phase, products, objective, gap, accuracy.
//
//   linear_bench [--device cuda] [--rows 50000] [--columns 8192] [--classes 10] [--test 10000] [--apart 0.25]
//                [--loss squared|hinge|softmax] [--c 1] [--tolerance 1e-3] [--solver automatic|newton|package]
//                [--repeat 3] [--features F.npy --labels L.npy]   (of files, every sixth row is for testing)
//
// Features are standardised. Without files they are made by tests::make_feature_rows().

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "gpu/classifiers/linear/linear.h"
#include "gpu/classifiers/metrics.h"
#include "gpu/classifiers/standardize.h"
#include "gpu/core/error.h"
#include "tests/support/feature_rows.h"

namespace {

using namespace warpscope;
using namespace warpscope::classifiers;
using tests::FeatureRows;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::map<std::string, std::string> read_options(int count, char** words) {
  std::map<std::string, std::string> options{
      {"device", "cuda"},    {"rows", "50000"}, {"columns", "8192"},     {"classes", "10"},
      {"test", "10000"},     {"apart", "0.25"}, {"loss", "squared"},     {"c", "1"},
      {"tolerance", "1e-3"}, {"repeat", "3"},   {"solver", "automatic"}, {"features", ""},
      {"labels", ""}};
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = std::string(words[i]).substr(2);
    if (!options.contains(name)) throw core::BadInput("there is no option " + std::string(words[i]));
    options[name] = words[i + 1];
  }
  return options;
}

void split(const FeatureRows& all, FeatureRows& training, FeatureRows& test) {
  for (std::int64_t row = 0; row < all.rows; ++row) {
    FeatureRows& to = row % 6 == 5 ? test : training;
    const auto first = all.values.begin() + row * all.columns;
    to.values.insert(to.values.end(), first, first + all.columns);
    to.labels.push_back(all.labels[static_cast<std::size_t>(row)]);
    ++to.rows;
    to.columns = all.columns;
  }
}

core::Buffer upload(const Place& place, const FeatureRows& rows) {
  core::Buffer buffer(place.device, rows.values.size() * sizeof(float));
  place.stream->copy(buffer.data(), rows.values.data(), buffer.bytes());
  place.stream->synchronize();
  return buffer;
}

void report(const linear::LinearFit& fit) {
  int iterations = 0, products = 0;
  double gradient = 0, gap = 0;
  for (const linear::NewtonReport& one : fit.problems) {
    iterations = std::max(iterations, one.iterations);
    products = std::max(products, one.products);
    gradient = std::max(gradient, one.gradient_norm);
    gap += one.gap;
  }
  std::printf("  objective %.8g, %s %.3g (tolerance %.3g), duality gap %.3g, gradient's norm %.3g, %s\n",
              fit.summary.objective, fit.summary.rule.c_str(), fit.summary.reached, fit.summary.tolerance,
              gap, gradient, fit.summary.converged ? "converged" : "NOT converged");
  std::printf("  at most %d directions and %d products of a class; %.1f MiB\n", iterations, products,
              static_cast<double>(fit.bytes) / 1048576);
  for (const std::string& remark : fit.summary.remarks) std::printf("  %s\n", remark.c_str());
}

int run(int count, char** words) {
  auto options = read_options(count, words);
  const auto number = [&](const char* name) { return std::atof(options[name].c_str()); };
  const auto device = core::open_device(options["device"]);
  device->make_current();
  const auto stream = device->make_stream();
  const Place place{device, stream.get()};
  FeatureRows training, test;
  const int classes = std::atoi(options["classes"].c_str());
  if (options["features"].empty()) {
    const int columns = std::atoi(options["columns"].c_str());
    training = tests::make_feature_rows(std::atoll(options["rows"].c_str()), columns, classes,
                                        number("apart"), 1, 10);
    test = tests::make_feature_rows(std::atoll(options["test"].c_str()), columns, classes, number("apart"), 1,
                                    20);
  } else {
    split(tests::read_feature_rows(options["features"], options["labels"]), training, test);
  }
  const core::Buffer x = upload(place, training), t = upload(place, test);
  const FeatureMatrix features{x.as<float>(), training.rows, training.columns};
  const FeatureMatrix others{t.as<float>(), test.rows, test.columns};
  auto start = Clock::now();
  const Standardization by = find_standardization(place, features);
  standardize(place, by, features, x.as<float>());
  standardize(place, by, others, t.as<float>());
  std::printf("%s, %lld x %d, %d classes, C %s, %s; standardised in %.4f s\n", device->info().name.c_str(),
              static_cast<long long>(training.rows), training.columns, classes, options["c"].c_str(),
              options["loss"].c_str(), since(start));
  linear::LinearOptions chosen;
  chosen.loss = options["loss"] == "hinge"     ? linear::LinearLoss::hinge
                : options["loss"] == "softmax" ? linear::LinearLoss::softmax
                                               : linear::LinearLoss::squared_hinge;
  chosen.c = number("c");
  chosen.tolerance = number("tolerance");
  chosen.solver = options["solver"] == "package"  ? linear::LinearSolver::package
                  : options["solver"] == "newton" ? linear::LinearSolver::newton
                                                  : linear::LinearSolver::automatic;
  for (int repeat = 0; repeat < std::atoi(options["repeat"].c_str()); ++repeat) {
    start = Clock::now();
    const auto classifier = linear::fit_linear(place, {features, training.labels, classes}, chosen);
    const double fitting = since(start);
    start = Clock::now();
    const Prediction made = classifier->predict(place, others);
    const double predicting = since(start);
    const Prediction known = classifier->predict(place, features);
    std::printf("fit %.4f s (", fitting);
    for (const PhaseTime& phase : classifier->summary().phases) {
      std::printf(" %s %.4f", phase.phase.c_str(), phase.seconds);
    }
    std::printf(" ), prediction %.4f s, accuracy %.4f, on the training rows %.4f\n", predicting,
                measure(test.labels, made.labels, classes).accuracy,
                measure(training.labels, known.labels, classes).accuracy);
    if (repeat == 0) report(classifier->fit());
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "linear_bench: %s\n", error.what());
    return 1;
  }
}
