#pragma once
// Tries of classifiers on the features of a network, one after the other, which keep what the next one can use again.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/features/feature_layers.h"
#include "gpu/features/grid_search.h"
#include "gpu/features/judgement.h"
#include "gpu/features/subject.h"

namespace warpscope::features {

/// Most images that a try takes. 0: all.
struct TrialLimits {
  std::int64_t training = 0;
  std::int64_t test = 0;
  bool operator==(const TrialLimits&) const = default;
};
/// All of them on a GPU; on a CPU a sample, since a whole set takes it minutes.
TrialLimits limits_on(core::DeviceKind kind);

struct TrialRequest {
  Subject subject;
  std::string layers;  ///< as parse_feature_layers() takes it
  bool standardize = true;
  std::optional<TrialLimits> limits;  ///< none: limits_on() the device
  JudgementRequest judgement;
};

/// A training row of an RBF SVM that decides, and how much: the largest |coefficient| of its pairs.
struct SupportImage {
  std::int64_t image = 0;  ///< place in the training set
  double weight = 0;
};

/// The figures of a try.
struct TrialFigures {
  std::uint64_t step = 0;
  std::string layers;  ///< to_string() of what was meant
  int columns = 0;
  bool standardized = true;
  core::Precision precision = core::Precision::fp32;
  std::string classifier;      ///< as in the table
  double c = 0;                ///< 0: it has none
  std::string gamma;           ///< RBF: as chosen
  double gamma_value = 0;      ///< RBF: the number that it came to
  double feature_seconds = 0;  ///< 0: the features were those of the try before
  double prepare_seconds = 0;  ///< standardizing, and the distances of an RBF SVM; 0: as before
  double fit_seconds = 0, predict_seconds = 0;
  double accuracy = 0;  ///< on the test rows
  bool converged = false;
  std::int64_t training_rows = 0, test_rows = 0;
  std::int64_t support_vectors = 0;  ///< RBF
};

/// What became of a try.
struct TrialResult : TrialFigures {
  Judgement judgement;
  std::string remark;                     ///< of the features; "" for none
  std::vector<SupportImage> heaviest;     ///< RBF: the support vectors that weigh most, the heaviest first
  Subject subject;                        ///< what was judged: of a run, what it holds
  std::vector<std::int64_t> test_images;  ///< places in the test set, one a row
  std::vector<int> truth;                 ///< of these
};

struct GridRequest {
  TrialRequest trial;  ///< its C and gamma are not looked at
  GridAxes axes;
};

/// Works on one device, for one thread. Between two tries it keeps the features and, of an RBF SVM, the distances: with
/// the same weights, layers and images the next one costs no features; with another C or gamma only the solving.
class FeatureTrial {
 public:
  explicit FeatureTrial(std::shared_ptr<core::Device> device);
  ~FeatureTrial();

  /// Throws core::BadInput for what cannot be, core::OutOfMemory, classifiers::Cancelled; what was kept may be lost.
  TrialResult judge(const TrialRequest& request, const classifiers::Watch& watch = {});
  /// A fit for each C and gamma to four fifths of the training rows, judged by the others. `found` is called with the
  /// table before the first and after each.
  void search(const GridRequest& request, const std::function<void(const GridResult&)>& found,
              const classifiers::Watch& watch = {});
  /// Frees what is kept.
  void forget();

 private:
  struct Kept;
  /// True if they had to be made.
  bool prepare_rows(const TrialRequest& request, const classifiers::Watch& watch);
  void describe(TrialResult& result) const;
  std::unique_ptr<classifiers::Classifier> fit(const JudgementRequest& request,
                                               const classifiers::Watch& watch, double& prepare_seconds);

  std::shared_ptr<core::Device> device_;
  std::unique_ptr<core::Stream> stream_;
  classifiers::Place place_;
  std::unique_ptr<Kept> kept_;
};

}  // namespace warpscope::features
