#pragma once
// Every kind of classifier: one table, a row each.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/classifiers/classifier.h"
#include "gpu/classifiers/rbf_svm/rbf_svm.h"

namespace warpscope::classifiers {

/// What a person chooses of a classifier; each kind reads what concerns it.
struct ClassifierSettings {
  double c = 0;                       ///< C of machines and regressions; 0: the kind's own default
  std::string gamma = "scale";        ///< RBF: scale, auto, or a number
  int neighbours = 5;                 ///< k of k-nearest neighbours
  int epochs = 20;                    ///< head: passes over the rows
  double tolerance = 1e-3;            ///< of the stopping rule
  bool probabilities = false;         ///< RBF: by Platt's sigmoids
  std::vector<double> class_weights;  ///< RBF: factors of C, one a class; empty: 1 each
  std::size_t memory_limit = 0;       ///< RBF: most bytes of device memory; 0: what is free
};

struct ClassifierRow {
  std::string_view name;     ///< on the command line and in files: "rbf"
  std::string_view title;    ///< for people: "RBF SVM"
  std::string_view summary;  ///< one sentence
  double c = 0;              ///< its default; 0: it has no C
  std::unique_ptr<Classifier> (*fit)(const Place& place, const LabelledFeatures& data,
                                     const ClassifierSettings& settings, const Watch& watch) = nullptr;
};

std::span<const ClassifierRow> classifier_table();

/// Throws core::BadInput that lists the names.
const ClassifierRow& classifier_named(std::string_view name);

/// What the settings mean to the RBF SVM. Throws core::BadInput for a gamma that is none.
RbfSvmOptions rbf_options(const ClassifierSettings& settings);

/// Fits one, with its default where settings.c is 0. Throws core::BadInput for settings that cannot be, as the kind
/// says; Cancelled; core::OutOfMemory.
std::unique_ptr<Classifier> fit_classifier(std::string_view name, const Place& place,
                                           const LabelledFeatures& data, ClassifierSettings settings,
                                           const Watch& watch = {});

}  // namespace warpscope::classifiers
