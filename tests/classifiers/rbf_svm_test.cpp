// The RBF SVM on the CPU and, where there is one, on a GPU, against LIBSVM with its own kernel.

#include "gpu/classifiers/rbf_svm/rbf_svm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/classifiers/svm_reference.h"
#include "tests/support/device_case.h"

namespace warpscope::classifiers::rbf_svm_test {
namespace {

using svm_reference::HostData;
using svm_reference::Kind;
using svm_reference::make_data;

class RbfSvmTest : public tests::DeviceCase {
 protected:
  Place place() { return {device_, stream_.get()}; }
  core::Buffer on_device(const HostData& data) {
    return uploaded(data.values.data(), data.values.size() * sizeof(float));
  }
  static FeatureMatrix matrix(const core::Buffer& at, const HostData& data) {
    return {at.as<float>(), data.rows(), data.columns};
  }
  std::unique_ptr<RbfSvmProblem> problem(const HostData& data, std::size_t limit = 0,
                                         const Watch& watch = {}) {
    const core::Buffer at = on_device(data);
    return make_rbf_svm_problem(place(), {matrix(at, data), data.labels, data.classes}, limit, watch);
  }
  std::unique_ptr<RbfSvm> fit(const HostData& data, const RbfSvmOptions& options, std::size_t limit = 0) {
    return problem(data, limit)->fit(options);
  }
  Prediction predict(const RbfSvm& machine, const HostData& data) {
    const core::Buffer at = on_device(data);
    return machine.predict(place(), matrix(at, data));
  }
  std::vector<float> decisions(const RbfSvm& machine, const HostData& data) {
    const core::Buffer at = on_device(data);
    return machine.decisions(place(), matrix(at, data));
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, RbfSvmTest, testing::Values("cpu", "cuda"),
                         [](const auto& which) { return which.param == "cuda" ? "Gpu" : "Cpu"; });

RbfSvmOptions options(double c, double gamma) {
  RbfSvmOptions made;
  made.c = c;
  made.gamma_rule = GammaRule::number;
  made.gamma = gamma;
  return made;
}

double sum(const std::vector<double>& values) {
  double all = 0;
  for (const double one : values) all += one;
  return all;
}

/// The part of equal labels.
double agreement(const std::vector<int>& a, const std::vector<int>& b) {
  std::size_t same = 0;
  for (std::size_t k = 0; k < a.size(); ++k) same += a[k] == b[k] ? 1 : 0;
  return static_cast<double>(same) / static_cast<double>(a.size());
}

/// Both optima are within a tolerance of the true one, so ours may not be above theirs, nor far below.
void expect_same_machine(const RbfSvm& machine, const Prediction& prediction, const HostData& train,
                         const HostData& test, const RbfSvmOptions& used, const std::string& what) {
  const svm_reference::Reference reference =
      svm_reference::libsvm_reference(train, test, used.c, used.gamma, used.class_weights);
  const std::vector<double> ours = svm_reference::objectives(train, machine.model());
  ASSERT_EQ(ours.size(), reference.objectives.size()) << what;
  for (std::size_t pair = 0; pair < ours.size(); ++pair) {
    const double theirs = reference.objectives[pair];
    EXPECT_LE(ours[pair], theirs + 1e-4 * std::abs(theirs)) << what << " pair " << pair;
    EXPECT_NEAR(machine.pairs()[pair].objective, ours[pair], 3e-4 * std::abs(ours[pair]))
        << what << " pair " << pair;
  }
  // Rows that lie on a border to within the tolerance may fall to either side.
  std::size_t differ = 0;
  const std::size_t pairs = machine.model().pairs();
  for (std::size_t row = 0; row < prediction.labels.size(); ++row) {
    double nearest = std::numeric_limits<double>::max();
    for (std::size_t pair = 0; pair < pairs; ++pair)
      nearest = std::min(nearest, std::abs(reference.decisions[row * pairs + pair]));
    if (prediction.labels[row] != reference.labels[row] && nearest > 4e-3) ++differ;
  }
  EXPECT_LE(differ, prediction.labels.size() / 1000) << what;
}

TEST_P(RbfSvmTest, FindsTheOptimumThatLibsvmFinds) {
  const std::vector<Kind> kinds = {
      {.name = "overlapping", .rows_by_class = {90, 61, 75}, .columns = 7, .apart = 0.6},
      {.name = "separable", .rows_by_class = {50, 50}, .columns = 3, .apart = 9},
      {.name = "duplicates", .rows_by_class = {60, 60, 33}, .columns = 5, .apart = 0.7, .duplicates = 60},
      {.name = "one row a class", .rows_by_class = {1, 1}, .columns = 4},
      {.name = "constant columns",
       .rows_by_class = {40, 55},
       .columns = 9,
       .apart = 0.8,
       .constant_columns = 4},
      {.name = "far from zero", .rows_by_class = {70, 70}, .columns = 33, .apart = 0.5, .offset = 1000},
      {.name = "many columns", .rows_by_class = {70, 41, 39, 50}, .columns = 600, .apart = 0.3}};
  std::uint64_t seed = 100;
  for (const Kind& kind : kinds) {
    const HostData train = make_data(kind, ++seed);
    const HostData test = make_data(kind, seed);  // the same centres
    for (const auto& [c, gamma] :
         {std::pair{1.0, 1.0 / kind.columns}, std::pair{10.0, 0.3 / kind.columns}, std::pair{1e-3, 0.1}}) {
      const RbfSvmOptions used = options(c, gamma);
      const std::unique_ptr<RbfSvm> machine = fit(train, used);
      EXPECT_TRUE(machine->summary().converged) << kind.name;
      expect_same_machine(*machine, predict(*machine, test), train, test, used,
                          kind.name + " C " + std::to_string(c));
    }
  }
}

TEST_P(RbfSvmTest, FindsTheOptimumForEveryCAndGamma) {
  const Kind kind{.name = "two clouds", .rows_by_class = {80, 70}, .columns = 6, .apart = 0.7};
  const HostData train = make_data(kind, 7);
  const std::unique_ptr<RbfSvmProblem> prepared = problem(train);
  for (const double c : {1e-3, 1.0, 1e3, 1e5}) {
    for (const double gamma : {1e-6, 1e-3, 0.1, 10.0}) {
      const RbfSvmOptions used = options(c, gamma);
      const std::unique_ptr<RbfSvm> machine = prepared->fit(used);
      expect_same_machine(*machine, predict(*machine, train), train, train, used,
                          "C " + std::to_string(c) + " gamma " + std::to_string(gamma));
    }
  }
}

TEST_P(RbfSvmTest, MeetsTheConditionsWhenItSaysSo) {
  const HostData train =
      make_data({.name = "", .rows_by_class = {100, 90, 110}, .columns = 12, .apart = 0.5}, 8);
  RbfSvmOptions used = options(5, 0.05);
  used.class_weights = {1, 2, 0.5};
  const std::unique_ptr<RbfSvm> machine = fit(train, used);
  ASSERT_TRUE(machine->summary().converged);
  std::size_t pair = 0;
  for (std::size_t a = 0; a < 3; ++a) {
    for (std::size_t b = a + 1; b < 3; ++b, ++pair) {
      const double gap = svm_reference::exact_gap(train, machine->model(), pair, 5 * used.class_weights[a],
                                                  5 * used.class_weights[b]);
      EXPECT_LE(gap, 1.1e-3);
      EXPECT_NEAR(machine->pairs()[pair].gap, gap, 2e-4);
      EXPECT_GT(machine->pairs()[pair].iterations, 0);
    }
  }
  const svm_reference::Reference reference =
      svm_reference::libsvm_reference(train, train, 5, 0.05, used.class_weights);
  EXPECT_NEAR(sum(svm_reference::objectives(train, machine->model())), sum(reference.objectives),
              1e-4 * std::abs(sum(reference.objectives)));
}

TEST_P(RbfSvmTest, DecidesAsTheFormulaSays) {
  const HostData train =
      make_data({.name = "", .rows_by_class = {64, 65, 31}, .columns = 45, .apart = 0.4}, 9);
  HostData test = make_data({.name = "", .rows_by_class = {20, 17, 30}, .columns = 45, .apart = 0.4}, 10);
  test.values[3] = 900.0f;  // far outside of what was learned from
  const std::unique_ptr<RbfSvm> machine = fit(train, options(3, 0.02));
  const std::vector<float> found = decisions(*machine, test);
  const RbfSvmModel& model = machine->model();
  for (std::int64_t row = 0; row < test.rows(); ++row) {
    std::size_t pair = 0;
    for (std::size_t a = 0; a < 3; ++a) {
      for (std::size_t b = a + 1; b < 3; ++b, ++pair) {
        double f = -model.rho[pair];
        for (const auto& [k, column] : {std::pair{a, b - 1}, std::pair{b, a}}) {
          for (std::int64_t s = model.first[k]; s < model.first[k + 1]; ++s) {
            const auto at = static_cast<std::size_t>(s);
            f += model.coefficients[at * 2 + column] *
                 svm_reference::exact_kernel(train, train.row(model.support[at]), test.row(row), model.gamma);
          }
        }
        EXPECT_NEAR(static_cast<double>(found[static_cast<std::size_t>(row) * 3 + pair]), f, 1e-4)
            << row << " " << pair;
      }
    }
  }
}

TEST_P(RbfSvmTest, LeavesAnEmptyClassOutAndSaysSo) {
  const HostData train =
      make_data({.name = "", .rows_by_class = {40, 0, 50, 0}, .columns = 5, .apart = 2}, 11);
  const std::unique_ptr<RbfSvm> machine = fit(train, options(1, 0.2));
  EXPECT_EQ(machine->model().present, (std::vector<int>{0, 2}));
  EXPECT_EQ(machine->pairs().size(), 1u);
  ASSERT_EQ(machine->summary().remarks.size(), 2u);
  EXPECT_EQ(machine->summary().remarks[0], "class 1 has no rows and is never predicted");
  const Prediction prediction = predict(*machine, train);
  EXPECT_GT(agreement(prediction.labels, train.labels), 0.9);
  EXPECT_EQ(prediction.classes, 4);
  for (std::size_t row = 0; row < prediction.labels.size(); ++row) {
    const float* const scores = prediction.scores.data() + 4 * row;
    EXPECT_EQ(std::max_element(scores, scores + 4) - scores, prediction.labels[row]);
    EXPECT_EQ(scores[1], -1.0f);
  }
}

TEST_P(RbfSvmTest, LearnsNothingFromRowsThatAreAllTheSame) {
  HostData train = make_data({.name = "", .rows_by_class = {30, 20}, .columns = 5}, 12);
  std::fill(train.values.begin(), train.values.end(), 2.5f);
  RbfSvmOptions used;
  const std::unique_ptr<RbfSvm> machine = fit(train, used);
  EXPECT_EQ(machine->model().gamma, 1.0);  // as scikit-learn, where the variance is 0
  EXPECT_TRUE(machine->summary().converged);
  EXPECT_EQ(predict(*machine, train).labels, std::vector<int>(50, 0));
}

TEST_P(RbfSvmTest, TakesNumbersOfEveryMagnitude) {
  for (const double magnitude : {1e-30, 1e-6, 1e6, 1e30}) {
    const HostData train = make_data(
        {.name = "", .rows_by_class = {50, 50}, .columns = 10, .apart = 1.5, .magnitude = magnitude}, 13);
    RbfSvmOptions used;
    used.c = 2;
    const std::unique_ptr<RbfSvmProblem> prepared = problem(train);
    const std::unique_ptr<RbfSvm> machine = prepared->fit(used);
    // Gamma undoes the magnitude: the machine is that of magnitude 1.
    const HostData plain =
        make_data({.name = "", .rows_by_class = {50, 50}, .columns = 10, .apart = 1.5}, 13);
    const std::unique_ptr<RbfSvm> same = fit(plain, used);
    EXPECT_NEAR(machine->summary().objective, same->summary().objective,
                1e-3 * std::abs(same->summary().objective))
        << magnitude;
    EXPECT_EQ(agreement(predict(*machine, train).labels, predict(*same, plain).labels), 1.0) << magnitude;
  }
}

TEST_P(RbfSvmTest, FindsGammaAsScikitLearn) {
  const HostData train = make_data({.name = "", .rows_by_class = {33, 47}, .columns = 11, .offset = 5}, 14);
  double mean = 0;
  for (const float value : train.values)
    mean += static_cast<double>(value) / static_cast<double>(train.values.size());
  double variance = 0;
  for (const float value : train.values) {
    variance += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean) /
                static_cast<double>(train.values.size());
  }
  const std::unique_ptr<RbfSvmProblem> prepared = problem(train);
  RbfSvmOptions used;
  EXPECT_NEAR(prepared->gamma(used), 1 / (11 * variance), 1e-6 / variance);
  used.gamma_rule = GammaRule::automatic;
  EXPECT_EQ(prepared->gamma(used), 1.0 / 11);
}

TEST_P(RbfSvmTest, FitsAgainAsIfForTheFirstTime) {
  const HostData train =
      make_data({.name = "", .rows_by_class = {60, 45, 50}, .columns = 20, .apart = 0.5}, 15);
  const std::unique_ptr<RbfSvmProblem> prepared = problem(train);
  prepared->fit(options(100, 1.0));
  const std::unique_ptr<RbfSvm> second = prepared->fit(options(2, 0.05));
  const std::unique_ptr<RbfSvm> fresh = fit(train, options(2, 0.05));
  EXPECT_EQ(second->model().support, fresh->model().support);
  EXPECT_EQ(second->model().coefficients, fresh->model().coefficients);
  EXPECT_EQ(second->model().rho, fresh->model().rho);
}

TEST_P(RbfSvmTest, RefusesWhatIsNotANumberByRowAndColumn) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    HostData train = make_data({.name = "", .rows_by_class = {300, 300}, .columns = 7}, 16);
    train.values[7 * 41 + 5] = bad;
    train.values[7 * 500 + 1] = bad;
    try {
      problem(train);
      FAIL() << "a number that is not finite was taken";
    } catch (const core::BadInput& error) {
      EXPECT_STREQ(error.what(),
                   "the features of row 41 are not all finite numbers; the first that is not is in column 5");
    }
    HostData good = make_data({.name = "", .rows_by_class = {30, 30}, .columns = 7}, 16);
    const std::unique_ptr<RbfSvm> machine = fit(good, options(1, 0.1));
    EXPECT_THROW(predict(*machine, train), core::BadInput);
    EXPECT_EQ(predict(*machine, good).labels.size(), 60u);
  }
}

TEST_P(RbfSvmTest, RefusesOptionsThatCannotBe) {
  const HostData train = make_data({.name = "", .rows_by_class = {10, 10}, .columns = 3}, 17);
  const std::unique_ptr<RbfSvmProblem> prepared = problem(train);
  RbfSvmOptions weights;
  weights.class_weights = {1, 2, 3};
  RbfSvmOptions negative;
  negative.class_weights = {1, -2};
  RbfSvmOptions tolerance;
  tolerance.tolerance = 0;
  for (const RbfSvmOptions& bad : {options(0, 1), options(-1, 1), options(NAN, 1), options(1, 0),
                                   options(1, NAN), weights, negative, tolerance}) {
    EXPECT_THROW(prepared->fit(bad), core::BadInput);
  }
  const std::unique_ptr<RbfSvm> machine = prepared->fit(options(1, 1));
  const HostData wide = make_data({.name = "", .rows_by_class = {10, 10}, .columns = 4}, 17);
  EXPECT_THROW(predict(*machine, wide), core::BadInput);
}

TEST_P(RbfSvmTest, EndsWhenAsked) {
  const HostData train =
      make_data({.name = "", .rows_by_class = {200, 200, 200}, .columns = 20, .apart = 0.3}, 18);
  const std::unique_ptr<RbfSvmProblem> prepared = problem(train);
  std::stop_source stop;
  Watch watch;
  watch.stop = stop.get_token();
  int told = 0;
  watch.progress = [&](double part, std::string_view) {
    EXPECT_GE(part, 0.0);
    EXPECT_LE(part, 1.0);
    ++told;
    stop.request_stop();
  };
  EXPECT_THROW(prepared->fit(options(10, 0.05), watch), Cancelled);
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(prepared->fit(options(10, 0.05))->summary().converged);
}

TEST_P(RbfSvmTest, KnowsProbabilities) {
  const Kind kind{.name = "", .rows_by_class = {150, 150, 150}, .columns = 4, .apart = 1.0};
  const HostData train = make_data(kind, 19);
  RbfSvmOptions used = options(1, 0.2);
  used.probabilities = true;
  const std::unique_ptr<RbfSvm> machine = fit(train, used);
  const Prediction prediction = predict(*machine, train);
  ASSERT_EQ(prediction.probabilities.size(), train.labels.size() * 3);
  double likelihood = 0;
  for (std::size_t row = 0; row < train.labels.size(); ++row) {
    const float* const p = prediction.probabilities.data() + 3 * row;
    EXPECT_NEAR(p[0] + p[1] + p[2], 1.0f, 1e-5f);
    likelihood +=
        std::log(static_cast<double>(p[train.labels[row]])) / static_cast<double>(train.labels.size());
  }
  // Better than knowing nothing, log(1/3), and not surer than the rows allow.
  EXPECT_GT(likelihood, -0.9);
  EXPECT_LT(likelihood, -0.05);
  for (const double a : machine->model().sigmoid_a) EXPECT_LT(a, 0.0);
  used.probabilities = false;
  EXPECT_TRUE(predict(*fit(train, used), train).probabilities.empty());
}

class RbfSvmGpuTest : public RbfSvmTest {
 protected:
  void expect_limits_change_nothing(const HostData& train, const RbfSvmOptions& used,
                                    std::initializer_list<std::size_t> limits) {
    const std::unique_ptr<RbfSvm> roomy = fit(train, used);
    for (const std::size_t limit : limits) {
      const std::unique_ptr<RbfSvmProblem> prepared = problem(train, limit);
      const std::unique_ptr<RbfSvm> tight = prepared->fit(used);
      EXPECT_LE(prepared->peak_bytes(), limit);
      EXPECT_EQ(tight->model().support, roomy->model().support);
      EXPECT_EQ(tight->model().coefficients, roomy->model().coefficients);
      EXPECT_EQ(tight->model().rho, roomy->model().rho);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, RbfSvmGpuTest, testing::Values("cuda"), [](const auto&) { return "Gpu"; });

TEST_P(RbfSvmGpuTest, WorksWithLittleMemory) {
  const HostData train =
      make_data({.name = "", .rows_by_class = {300, 200, 0, 250, 90}, .columns = 40, .apart = 0.4}, 20);
  // All rows: 928^2 distances, 3.4 MB. Two classes: at most 544^2, 1.2 MB.
  expect_limits_change_nothing(train, options(3, 0.05), {3'000'000, 1'800'000});
}

TEST_P(RbfSvmGpuTest, AgreesWithLibsvmOnFiveThousandRows) {
  const Kind kind{.name = "", .rows_by_class = {1000, 1000, 1000, 1000, 1000}, .columns = 30, .apart = 0.45};
  const HostData train = make_data(kind, 25);
  const RbfSvmOptions used = options(10, 1.0 / 30);
  const std::unique_ptr<RbfSvm> machine = fit(train, used);
  EXPECT_TRUE(machine->summary().converged);
  expect_same_machine(*machine, predict(*machine, train), train, train, used, "5,000 rows");
}

TEST_P(RbfSvmGpuTest, SolvesPairsThatDoNotFitByWorkingSets) {
  const HostData train =
      make_data({.name = "", .rows_by_class = {300, 277, 50}, .columns = 12, .apart = 0.5}, 23);
  RbfSvmOptions used = options(3, 0.05);
  used.probabilities = true;
  const std::unique_ptr<RbfSvm> roomy = fit(train, used);
  // The largest pair has 608^2 distances, 1.5 MB.
  const std::unique_ptr<RbfSvmProblem> prepared = problem(train, 700'000);
  const std::unique_ptr<RbfSvm> tight = prepared->fit(used);
  EXPECT_LE(prepared->peak_bytes(), 700'000u);
  EXPECT_TRUE(tight->summary().converged);
  EXPECT_EQ(tight->summary().phases.back().phase, "model");
  for (std::size_t pair = 0; pair < 3; ++pair) {
    const double objective = roomy->pairs()[pair].objective;
    EXPECT_NEAR(tight->pairs()[pair].objective, objective, 1e-4 * std::abs(objective));
    EXPECT_LE(svm_reference::exact_gap(train, tight->model(), pair, 3, 3), 1.1e-3);
    EXPECT_NEAR(tight->model().sigmoid_a[pair], roomy->model().sigmoid_a[pair], 0.02);
    EXPECT_NEAR(tight->model().sigmoid_b[pair], roomy->model().sigmoid_b[pair], 0.02);
  }
}

TEST_P(RbfSvmGpuTest, SolvesPairsThatDoNotFitTheRegisters) {
  // 12,288 rows would fit.
  const HostData train =
      make_data({.name = "", .rows_by_class = {6300, 6101}, .columns = 5, .apart = 1.6}, 24);
  const RbfSvmOptions used = options(2, 0.2);
  const std::unique_ptr<RbfSvm> roomy = fit(train, used);
  const std::unique_ptr<RbfSvm> tight = fit(train, used, 100'000'000);
  for (const RbfSvm* const machine : {roomy.get(), tight.get()}) {
    EXPECT_TRUE(machine->summary().converged);
    EXPECT_LE(svm_reference::exact_gap(train, machine->model(), 0, 2, 2), 1.1e-3);
  }
  const double objective = roomy->pairs()[0].objective;
  EXPECT_NEAR(tight->pairs()[0].objective, objective, 1e-4 * std::abs(objective));
}

}  // namespace
}  // namespace warpscope::classifiers::rbf_svm_test
