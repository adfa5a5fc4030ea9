#include "gpu/classifiers/classifier_table.h"

#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/classifiers/head/head.h"
#include "gpu/classifiers/linear/linear.h"
#include "gpu/classifiers/nearest/nearest.h"
#include "gpu/core/error.h"
#include "gpu/files/text.h"

namespace warpscope::classifiers {
namespace {

/// "scale", "auto" or a number above 0.
void read_gamma(const std::string& text, RbfSvmOptions& options) {
  options.gamma_rule = text == "scale"  ? GammaRule::scale
                       : text == "auto" ? GammaRule::automatic
                                        : GammaRule::number;
  if (options.gamma_rule != GammaRule::number) return;
  options.gamma = files::number_in<double>(text).value_or(0);
  if (options.gamma > 0 && std::isfinite(options.gamma)) return;
  throw core::BadInput(fmt::format("gamma is scale, auto or a number above 0, not '{}'", text));
}

std::unique_ptr<Classifier> fit_rbf(const Place& place, const LabelledFeatures& data,
                                    const ClassifierSettings& settings, const Watch& watch) {
  return make_rbf_svm_problem(place, data, settings.memory_limit, watch)->fit(rbf_options(settings), watch);
}

template <linear::LinearLoss Loss>
std::unique_ptr<Classifier> fit_plane(const Place& place, const LabelledFeatures& data,
                                      const ClassifierSettings& settings, const Watch& watch) {
  linear::LinearOptions options;
  options.loss = Loss;
  options.c = settings.c;
  options.tolerance = settings.tolerance;
  return linear::fit_linear(place, data, options, watch);
}

std::unique_ptr<Classifier> fit_neighbours(const Place& place, const LabelledFeatures& data,
                                           const ClassifierSettings& settings, const Watch&) {
  return nearest::fit_nearest(place, data, settings.neighbours);
}

std::unique_ptr<Classifier> fit_network(const Place& place, const LabelledFeatures& data,
                                        const ClassifierSettings& settings, const Watch& watch) {
  head::HeadOptions options;
  options.c = settings.c;
  options.epochs = settings.epochs;
  return head::fit_head(place, data, options, watch);
}

constexpr std::array<ClassifierRow, 6> kTable{{
    {"rbf", "RBF SVM",
     "Support vector machine with the kernel exp(-gamma |x - y|^2), one against one; the strongest here.", 10,
     fit_rbf},
    {"linear", "Linear SVM", "Linear support vector machine, one against the rest, squared hinge.", 1e-4,
     fit_plane<linear::LinearLoss::squared_hinge>},
    {"hinge", "Linear SVM, hinge", "The same with the hinge itself.", 1e-3,
     fit_plane<linear::LinearLoss::hinge>},
    {"softmax", "Softmax regression", "Multinomial logistic regression with L2 regularization.", 1e-3,
     fit_plane<linear::LinearLoss::softmax>},
    {"head", "Head of two layers", "Linear layer of 128, ReLU, linear layer; trained by Adam.", 0.1,
     fit_network},
    {"nearest", "k nearest neighbours", "The class that most of the nearest training rows have.", 0,
     fit_neighbours},
}};

}  // namespace

std::span<const ClassifierRow> classifier_table() {
  return kTable;
}

const ClassifierRow& classifier_named(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ClassifierRow& row : kTable) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  throw core::BadInput(fmt::format("there is no classifier '{}'; valid: {}", name, fmt::join(names, ", ")));
}

RbfSvmOptions rbf_options(const ClassifierSettings& settings) {
  RbfSvmOptions options;
  options.c = settings.c;
  options.tolerance = settings.tolerance;
  options.probabilities = settings.probabilities;
  options.class_weights = settings.class_weights;
  read_gamma(settings.gamma, options);
  return options;
}

std::unique_ptr<Classifier> fit_classifier(std::string_view name, const Place& place,
                                           const LabelledFeatures& data, ClassifierSettings settings,
                                           const Watch& watch) {
  const ClassifierRow& row = classifier_named(name);
  if (settings.c == 0) settings.c = row.c;
  return row.fit(place, data, settings, watch);
}

}  // namespace warpscope::classifiers
