#include "tests/classifiers/svm_reference.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <libsvm/svm.h>

#include "gpu/core/random.h"

namespace warpscope::classifiers::svm_reference {
namespace {

/// Normal, by Box and Muller.
double normal(std::uint64_t seed, std::uint64_t at) {
  const double u = core::random_unit(seed, 2 * at);
  const double v = core::random_unit(seed, 2 * at + 1);
  return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v);
}

/// A row and its alpha y in one pair.
struct Weighted {
  std::int64_t row;
  double coefficient;
};

double dual(const HostData& data, const std::vector<Weighted>& vectors, double gamma) {
  double sum = 0;
  for (const Weighted& s : vectors) {
    double f = 0;
    for (const Weighted& t : vectors)
      f += t.coefficient * exact_kernel(data, data.row(s.row), data.row(t.row), gamma);
    sum += 0.5 * s.coefficient * f - std::abs(s.coefficient);
  }
  return sum;
}

/// The support vectors of a pair of `model`.
std::vector<Weighted> vectors_of(const RbfSvmModel& model, std::size_t a, std::size_t b) {
  const std::size_t width = model.present.size() - 1;
  std::vector<Weighted> vectors;
  for (const auto& [k, column] : {std::pair{a, b - 1}, std::pair{b, a}}) {
    for (std::int64_t s = model.first[k]; s < model.first[k + 1]; ++s) {
      const double c = model.coefficients[static_cast<std::size_t>(s) * width + column];
      if (c != 0) vectors.push_back({model.support[static_cast<std::size_t>(s)], c});
    }
  }
  return vectors;
}

std::vector<std::vector<svm_node>> nodes_of(const HostData& data) {
  std::vector<std::vector<svm_node>> nodes;
  for (std::int64_t row = 0; row < data.rows(); ++row) {
    std::vector<svm_node>& line = nodes.emplace_back();
    for (int c = 0; c < data.columns; ++c) line.push_back({c + 1, static_cast<double>(data.row(row)[c])});
    line.push_back({-1, 0});
  }
  return nodes;
}

}  // namespace

HostData make_data(const Kind& kind, std::uint64_t seed) {
  HostData data;
  data.columns = kind.columns;
  data.classes = static_cast<int>(kind.rows_by_class.size());
  for (int k = 0; k < data.classes; ++k)
    data.labels.insert(data.labels.end(),
                       static_cast<std::size_t>(kind.rows_by_class[static_cast<std::size_t>(k)]), k);
  // Classes come mixed.
  for (std::size_t at = data.labels.size(); at > 1; --at) {
    std::swap(data.labels[at - 1], data.labels[core::random_bits(seed + 1, at) % at]);
  }
  data.values.resize(data.labels.size() * static_cast<std::size_t>(kind.columns));
  for (std::size_t row = 0; row < data.labels.size(); ++row) {
    for (int c = 0; c < kind.columns; ++c) {
      const auto centre = static_cast<std::uint64_t>(data.labels[row] * kind.columns + c);
      double value =
          normal(seed + 3, row * static_cast<std::size_t>(kind.columns) + static_cast<std::size_t>(c)) +
          kind.apart * normal(seed + 2, centre);
      if (c < kind.constant_columns) value = 3.25;
      data.values[row * static_cast<std::size_t>(kind.columns) + static_cast<std::size_t>(c)] =
          static_cast<float>((value + kind.offset) * kind.magnitude);
    }
  }
  for (int k = 0; k < kind.duplicates; ++k) {
    const auto from = static_cast<std::int64_t>(core::random_bits(seed + 4, static_cast<std::uint64_t>(k)) %
                                                data.labels.size());
    const auto to = static_cast<std::int64_t>(core::random_bits(seed + 5, static_cast<std::uint64_t>(k)) %
                                              data.labels.size());
    std::copy_n(data.row(from), kind.columns, data.values.data() + to * kind.columns);
  }
  return data;
}

double exact_kernel(const HostData& data, const float* x, const float* y, double gamma) {
  double sum = 0;
  for (int c = 0; c < data.columns; ++c) {
    const double difference = static_cast<double>(x[c]) - static_cast<double>(y[c]);
    sum += difference * difference;
  }
  return std::exp(-gamma * sum);
}

std::vector<double> objectives(const HostData& data, const RbfSvmModel& model) {
  std::vector<double> values;
  for (std::size_t a = 0; a < model.present.size(); ++a) {
    for (std::size_t b = a + 1; b < model.present.size(); ++b)
      values.push_back(dual(data, vectors_of(model, a, b), model.gamma));
  }
  return values;
}

double exact_gap(const HostData& data, const RbfSvmModel& model, std::size_t pair, double first_bound,
                 double second_bound) {
  std::size_t a = 0;
  std::size_t b = pair + 1;
  while (b >= model.present.size()) {
    ++a;
    b = b - model.present.size() + a + 1;
  }
  const std::vector<Weighted> vectors = vectors_of(model, a, b);
  double rising = -INFINITY;
  double falling = -INFINITY;
  for (std::int64_t row = 0; row < data.rows(); ++row) {
    const int label = data.labels[static_cast<std::size_t>(row)];
    const bool positive = label == model.present[a];
    if (!positive && label != model.present[b]) continue;
    double v = positive ? -1.0 : 1.0;
    double alpha = 0;
    for (const Weighted& s : vectors) {
      v += s.coefficient * exact_kernel(data, data.row(row), data.row(s.row), model.gamma);
      if (s.row == row) alpha = std::abs(s.coefficient);
    }
    const double bound = positive ? first_bound : second_bound;
    if (positive ? alpha < bound : alpha > 0) rising = std::max(rising, -v);
    if (positive ? alpha > 0 : alpha < bound) falling = std::max(falling, v);
  }
  return std::max(0.0, rising + falling);
}

Reference libsvm_reference(const HostData& train, const HostData& test, double c, double gamma,
                           const std::vector<double>& class_weights, double tolerance) {
  std::vector<std::vector<svm_node>> nodes = nodes_of(train);
  std::vector<svm_node*> lines;
  std::vector<double> y;
  // Sorted by class, so that LIBSVM numbers classes as they are numbered here.
  std::vector<std::int64_t> order;
  for (int k = 0; k < train.classes; ++k) {
    for (std::int64_t row = 0; row < train.rows(); ++row) {
      if (train.labels[static_cast<std::size_t>(row)] == k) order.push_back(row);
    }
  }
  for (const std::int64_t row : order) {
    lines.push_back(nodes[static_cast<std::size_t>(row)].data());
    y.push_back(train.labels[static_cast<std::size_t>(row)]);
  }
  svm_problem problem{static_cast<int>(lines.size()), y.data(), lines.data()};
  svm_parameter parameter{};
  parameter.svm_type = C_SVC;
  parameter.kernel_type = RBF;
  parameter.gamma = gamma;
  parameter.cache_size = 100;
  parameter.eps = tolerance;
  parameter.C = c;
  parameter.shrinking = 1;
  std::vector<int> weighted;
  std::vector<double> weights = class_weights;
  for (int k = 0; k < static_cast<int>(weights.size()); ++k) weighted.push_back(k);
  parameter.nr_weight = static_cast<int>(weights.size());
  parameter.weight_label = weighted.data();
  parameter.weight = weights.data();
  const std::unique_ptr<svm_model, void (*)(svm_model*)> model(
      svm_train(&problem, &parameter), [](svm_model* m) { svm_free_and_destroy_model(&m); });

  Reference reference;
  std::vector<int> starts{0};
  for (int k = 0; k < model->nr_class; ++k) starts.push_back(starts.back() + model->nSV[k]);
  for (int a = 0; a < model->nr_class; ++a) {
    for (int b = a + 1; b < model->nr_class; ++b) {
      std::vector<Weighted> vectors;
      const auto add = [&](int k, int column) {
        for (int s = starts[static_cast<std::size_t>(k)]; s < starts[static_cast<std::size_t>(k) + 1]; ++s) {
          const double coefficient = model->sv_coef[column][s];
          if (coefficient != 0)
            vectors.push_back({order[static_cast<std::size_t>(model->sv_indices[s] - 1)], coefficient});
        }
      };
      add(a, b - 1);
      add(b, a);
      reference.objectives.push_back(dual(train, vectors, gamma));
    }
  }
  const auto pairs = static_cast<std::size_t>(model->nr_class * (model->nr_class - 1) / 2);
  for (const std::vector<svm_node>& line : nodes_of(test)) {
    std::vector<double> values(pairs);
    reference.labels.push_back(static_cast<int>(svm_predict_values(model.get(), line.data(), values.data())));
    reference.decisions.insert(reference.decisions.end(), values.begin(), values.end());
  }
  return reference;
}

}  // namespace warpscope::classifiers::svm_reference
