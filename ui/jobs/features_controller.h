#pragma once
// Tries of classifiers on features, as panels see them and ask for them.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu/features/feature_desk.h"
#include "gpu/messages/evaluation.h"
#include "ui/jobs/desk_view.h"
#include "ui/widgets/value_field.h"

namespace warpscope::ui {

enum class GammaChoice : int { scale, automatic, number };

/// What a person chose to judge.
struct FeatureChoice {
  std::string layer;  ///< "" for the latent
  features::Pooling pooling = features::Pooling::none;
  int side = 4;  ///< with pooling, if the layer has it
  std::vector<std::string>
      further;  ///< layers whose numbers stand side by side with these, each as further_text() has it
  bool standardize = true;
  std::string classifier = "rbf";
  std::map<std::string, double, std::less<>> cs;  ///< of classifiers whose C was changed
  GammaChoice gamma = GammaChoice::scale;
  double gamma_number = 1e-3;

  /// C of the classifier that is chosen, 0 if it has none.
  double c() const;
  bool operator==(const FeatureChoice&) const = default;
};

/// The layer that is meant; the latent's where `choice` names none of the model.
std::string layer_of(const FeatureChoice& choice, const models::Model& model);
/// The sides that a layer can be pooled to, rising: common divisors of height and width, without the larger of them
/// if that pools nothing. Empty if it cannot be pooled.
std::vector<int> sides_of(const std::string& layer, const models::Model& model);
/// What a further layer adds: whole if it has no more than 4 x 4 places, else the largest of each of at most 4 x
/// 4 windows: "pool1:max=4".
std::string further_text(const std::string& layer, const models::Model& model);
/// As features::parse_feature_layers() takes it: "pool1:max=4+pool2:max=4". A side that the layer does not have is the
/// nearest; a further layer is left out if the model lacks it, or if it is the same.
std::string layers_text(const FeatureChoice& choice, const models::Model& model);
/// "8 x 8 x 128 = 8,192 numbers an image", of several layers "4 x 4 x 256 + 8 x 8 x 128 = 12,288 numbers an image"
std::string layer_note(const std::string& layers, const models::Model& model);

/// What the classifier is told.
features::JudgementRequest judgement_of(const FeatureChoice& choice);
/// What would do again what was tried.
void take_choice(const features::TrialFigures& tried, const models::Model& model, FeatureChoice& choice);

/// What the sliders cover: a factor of 1,000 to each side of the classifier's own C.
ValueScale c_scale(const std::string& classifier);
inline constexpr ValueScale kGammaScale{1e-6, 10, true};

/// Axes of a search: C around the classifier's own, gamma around gamma = scale.
features::GridAxes search_axes(const std::string& classifier);

/// Seconds that a job will take, from how far it is; "" while that says little.
std::string time_left(double part, double elapsed_seconds);
/// "0.84 s", "12 ms", "-" for none.
std::string seconds_text(double seconds);
/// "68.13 %"
std::string accuracy_text(double accuracy);

std::vector<JobFigure> figures_of(const features::TrialResult& result);

/// One line of a table: "cat", how many of its images were right, and what it was most often taken for.
struct ClassRow {
  int truth = 0;
  long long rows = 0, right = 0;
  double accuracy = 0;  ///< NaN without rows
  int most = -1;        ///< class that it was most often taken for; -1: none
  long long taken = 0;  ///< how often
};
/// The worst class first, those without images last.
std::vector<ClassRow> class_rows(const classifiers::Metrics& metrics);

/// The result as the confusion matrix takes it: counts without single images.
std::shared_ptr<const training::Evaluation> evaluation_of(const features::TrialResult& result);

enum class FeatureOrder : int { border, wrong, support };

/// A picture of a result.
struct FeaturePicture {
  std::int64_t image = 0;    ///< place in its set
  bool of_training = false;  ///< of the training images; else of the test images
  int truth = 0;
  int label = -1;     ///< what it was taken for; -1: not asked
  double figure = 0;  ///< margin, or a support vector's weight
  bool right() const { return label < 0 || label == truth; }
};
/// border: smallest margins first. wrong: those that are wrong, the largest margins first. support: training images
/// that weigh most. At most `most`; of only `images` (rising, test images) unless that is empty.
std::vector<FeaturePicture> pictures_of(const features::TrialResult& result, FeatureOrder order,
                                        const std::vector<std::int64_t>& images, std::size_t most);

enum class TryColumn : int { number, step, layers, classifier, c, gamma, accuracy, seconds };
/// Places of tries in an order: the newest, the best, the fastest first, names by letters.
std::vector<std::size_t> order_of(const std::vector<features::TrialFigures>& tries, TryColumn by);
/// "0.01 (scale)", "-" of what has no gamma.
std::string gamma_text(const features::TrialFigures& tried);
std::string c_text(double c);

/// Why jobs cannot work on the network of the training, in a sentence; "" if they can.
std::string why_no_features(const Frame& frame, const models::Model& model);

class FeaturesController : public DeskView<features::DeskState, &jobs::States::features> {
 public:
  using DeskView::DeskView;

  /// Once a frame, before the panels: takes the newest state, and judges again after an epoch.
  void update(const Frame& frame);
  bool busy() const { return state().work != features::DeskWork::none; }
  /// Why nothing can be judged, in a sentence; "" if it can.
  std::string why_not(const Frame& frame) const;

  /// With the weights of this moment.
  void judge(const Frame& frame);
  /// With the weights of the last result, where there is one: what a slider that was let go asks for.
  void judge_again();
  /// Over C and gamma, with the weights of the last result or, without one, of this moment.
  void search(const Frame& frame);
  void cancel() { ask(jobs::Cancel{jobs::Desk::features}); }

  FeatureChoice choice;
  bool each_epoch = false;

 private:
  /// True if the last result is of the network whose layers are chosen.
  bool has_last() const;
  jobs::Judge judgement(bool again) const;
  void follow_epochs(const Frame& frame);

  std::uint64_t epoch_ = 0, generation_ = 0;
};

}  // namespace warpscope::ui
