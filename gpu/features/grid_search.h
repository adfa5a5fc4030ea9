#pragma once
// Accuracy over C and gamma, each of them tried.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/features/judgement.h"

namespace warpscope::features {

struct GridAxes {
  std::vector<double> cs;      ///< above 0
  std::vector<double> gammas;  ///< factors of gamma = scale; of a classifier other than rbf not looked at
};

struct GridResult {
  std::string classifier;
  std::uint64_t step = 0;
  std::string layers;
  std::vector<double> cs;
  std::vector<double> gammas;    ///< numbers, as the RBF SVM takes them; {0} of other classifiers
  std::vector<double> accuracy;  ///< (gammas, cs), on the rows kept back; NaN where it is not known yet
  std::vector<double> seconds;   ///< the same of the fits
  std::int64_t fitted_rows = 0, held_rows = 0;

  double at(std::size_t gamma, std::size_t c) const { return accuracy[gamma * cs.size() + c]; }
  /// The cell with the largest accuracy, of equals the first; -1 while none is known.
  int best() const;
  int done() const;
};

/// Rows [4/5, 1/5): every fifth row, from the fifth on, is kept back to judge by. Throws core::BadInput if there are
/// fewer than ten.
struct HeldRows {
  LabelledRows fitted, held;
};
HeldRows hold_back(const LabelledRows& rows, const classifiers::Place& place);

/// A fit for each C and gamma to four fifths of `training`, judged by the rows kept back. `standardized`: columns are
/// brought to mean 0 and deviation 1 of the rows that are fitted. `result` says what is searched; `found` is called
/// with it before the first fit and after each. Throws core::BadInput if the classifier has no C, or as hold_back()
/// and fits do; core::OutOfMemory; classifiers::Cancelled.
void search_grid(GridResult result, const LabelledRows& training, bool standardized,
                 const JudgementRequest& request, const GridAxes& axes, const classifiers::Place& place,
                 const std::function<void(const GridResult&)>& found, const classifiers::Watch& watch = {});

}  // namespace warpscope::features
