#include "ui/jobs/features_controller.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/models/latent.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

using features::Pooling;
using features::TrialFigures;

constexpr double kTold = 0.02, kToldSeconds = 0.5;  // part and time from which on the rest is foretold

const models::Layer* find_layer(const std::string& name, const models::Model& model) {
  const auto found = std::find_if(model.layers.begin(), model.layers.end(),
                                  [&](const models::Layer& layer) { return layer.name == name; });
  return found == model.layers.end() ? nullptr : &*found;
}

models::Extent extent_of(const std::string& layer, const models::Model& model) {
  models::Extent extent{model.height, model.width, model.channels};
  for (const models::Layer& each : model.layers) {
    extent.pass(each);
    if (each.name == layer) break;
  }
  return extent;
}

std::string size_text(const models::Extent& extent) {
  return extent.height * extent.width == 1
             ? std::to_string(extent.channels)
             : fmt::format("{} x {} x {}", extent.height, extent.width, extent.channels);
}

bool readable(const std::string& layers, const models::Model& model) {
  try {
    features::parse_feature_layers(layers, model);
    return true;
  } catch (const core::BadInput&) {
    return false;
  }
}

}  // namespace

double FeatureChoice::c() const {
  const double standard = classifiers::classifier_named(classifier).c;
  const auto found = cs.find(classifier);
  return standard == 0 || found == cs.end() ? standard : found->second;
}

std::string layer_of(const FeatureChoice& choice, const models::Model& model) {
  if (find_layer(choice.layer, model) != nullptr) return choice.layer;
  return model.layers.empty() ? "" : models::latent_of(model).layer;
}

std::vector<int> sides_of(const std::string& layer, const models::Model& model) {
  const models::Extent extent = extent_of(layer, model);
  std::vector<int> sides;
  for (int side = 1; side <= std::min(extent.height, extent.width); ++side) {
    const bool whole = side == extent.height && side == extent.width;
    if (!whole && extent.height % side == 0 && extent.width % side == 0) sides.push_back(side);
  }
  return sides;
}

std::string further_text(const std::string& layer, const models::Model& model) {
  constexpr int kMostSide = 4;
  const models::Extent extent = extent_of(layer, model);
  if (extent.height <= kMostSide && extent.width <= kMostSide) return layer;
  int most = 1;
  for (const int side : sides_of(layer, model)) most = side <= kMostSide ? std::max(most, side) : most;
  return fmt::format("{}:max={}", layer, most);
}

std::string layers_text(const FeatureChoice& choice, const models::Model& model) {
  const std::string layer = layer_of(choice, model);
  const std::vector<int> sides = sides_of(layer, model);
  std::string first = layer;
  if (choice.pooling != Pooling::none && !sides.empty()) {
    const int side = *std::min_element(sides.begin(), sides.end(), [&](int a, int b) {
      return std::abs(a - choice.side) < std::abs(b - choice.side);
    });
    first = fmt::format("{}:{}={}", layer, choice.pooling == Pooling::max ? "max" : "mean", side);
  }
  std::string text = first;
  for (const std::string& each : choice.further) {
    if (each != first && readable(each, model)) text += fmt::format("+{}", each);
  }
  return text;
}

std::string layer_note(const std::string& layers, const models::Model& model) {
  const features::FeatureLayers read = features::parse_feature_layers(layers, model);
  std::vector<std::string> sizes;
  for (const features::FeatureLayer& each : read)
    sizes.push_back(size_text({each.height(), each.width(), each.extent.channels}));
  return fmt::format("{} = {} an image", fmt::join(sizes, " + "),
                     files::counted(features::columns_of(read), "number"));
}

features::JudgementRequest judgement_of(const FeatureChoice& choice) {
  features::JudgementRequest request;
  request.classifier = choice.classifier;
  request.settings.c = choice.c();
  request.settings.gamma = choice.gamma == GammaChoice::scale ? "scale"
                           : choice.gamma == GammaChoice::automatic
                               ? "auto"
                               : fmt::format("{:.6g}", choice.gamma_number);
  return request;
}

void take_choice(const TrialFigures& tried, const models::Model& model, FeatureChoice& choice) {
  choice.standardize = tried.standardized;
  choice.classifier = tried.classifier;
  if (tried.c > 0) choice.cs[tried.classifier] = tried.c;
  if (!tried.gamma.empty()) {
    choice.gamma = tried.gamma == "scale"  ? GammaChoice::scale
                   : tried.gamma == "auto" ? GammaChoice::automatic
                                           : GammaChoice::number;
    choice.gamma_number = tried.gamma_value;
  }
  try {
    const features::FeatureLayers read = features::parse_feature_layers(tried.layers, model);
    const features::FeatureLayer& layer = read.front();
    choice.further.clear();
    for (std::size_t i = 1; i < read.size(); ++i) choice.further.push_back(features::to_string({read[i]}));
    choice.layer = layer.layer;
    choice.pooling = layer.pooling;
    if (layer.side > 0) choice.side = layer.side;
  } catch (const core::BadInput&) {
    // A layer of another model: the layers stay.
  }
}

ValueScale c_scale(const std::string& classifier) {
  const double standard = classifiers::classifier_named(classifier).c;
  return {standard / 1e3, standard * 1e3, true};
}

features::GridAxes search_axes(const std::string& classifier) {
  features::GridAxes axes;
  const double standard = classifiers::classifier_named(classifier).c;
  for (const double factor : {0.01, 0.1, 0.3, 1.0, 3.0, 10.0}) axes.cs.push_back(factor * standard);
  axes.gammas = {0.125, 0.25, 0.5, 1, 2, 4};
  return axes;
}

std::string time_left(double part, double elapsed_seconds) {
  if (part < kTold || elapsed_seconds < kToldSeconds) return "";
  const double left = elapsed_seconds * (1 - part) / part;
  return left < 1 ? "less than 1 s left" : fmt::format("{} left", clock_text(std::ceil(left)));
}

std::string seconds_text(double seconds) {
  if (!(seconds > 0)) return "-";
  if (seconds < 0.0995) return fmt::format("{:.2g} ms", 1e3 * seconds);
  return seconds < 9.95 ? fmt::format("{:.2f} s", seconds) : fmt::format("{:.1f} s", seconds);
}

std::string accuracy_text(double accuracy) {
  return std::isfinite(accuracy) ? fmt::format("{:.2f} %", 100 * accuracy) : "-";
}

std::string c_text(double c) {
  return c > 0 ? fmt::format("{:.3g}", c) : "-";
}

std::string gamma_text(const TrialFigures& tried) {
  if (tried.gamma.empty()) return "-";
  const bool named = tried.gamma == "scale" || tried.gamma == "auto";
  return named ? fmt::format("{:.3g} ({})", tried.gamma_value, tried.gamma)
               : fmt::format("{:.3g}", tried.gamma_value);
}

std::vector<JobFigure> figures_of(const features::TrialResult& result) {
  const auto& fit = result.judgement.fit;
  const auto count = [](std::int64_t value) { return with_thousands(value); };
  const auto seconds = [](double value) {
    return value > 0 ? seconds_text(value) : std::string("as before");
  };
  std::vector<JobFigure> figures{
      {"step", with_thousands(result.step), "", "Steps after which the weights were taken."},
      {"features", result.layers, "",
       fmt::format("{} an image, {}, in {}.", files::counted(result.columns, "number"),
                   result.standardized ? "each brought to mean 0 and deviation 1 of the training rows"
                                       : "as they are",
                   core::to_string(result.precision))},
      {"learned from", count(result.training_rows), "images", "Training images whose features were learned."},
      {"judged on", count(result.test_rows), "images",
       "Test images, which neither network nor classifier learned."},
      {"features", seconds(result.feature_seconds), "",
       "The network over all images. \"as before\": the features of the try before were used again."},
      {"preparing", seconds(result.prepare_seconds), "",
       "Standardizing, and the squared distances of an RBF SVM. \"as before\": they were there."},
      {"learning", seconds_text(result.fit_seconds), "", "Solving for the classifier."},
      {"predicting", seconds_text(result.predict_seconds), "", "The classes of all test images."},
  };
  if (result.support_vectors > 0) {
    figures.push_back(
        {"support", count(result.support_vectors), "vectors",
         "Training images that the decisions rest on: those at the border or on its wrong side."});
  }
  const std::string iterations = count(static_cast<std::int64_t>(fit.iterations));
  if (fit.tolerance > 0) {
    figures.push_back({"gap", fmt::format("{:.1e}", fit.reached), result.converged ? "" : "not reached",
                       fmt::format("Where the solver stopped: {}, {} {:g}. {}.", fit.rule,
                                   result.converged ? "below" : "NOT below", fit.tolerance,
                                   files::counted(static_cast<std::int64_t>(fit.iterations), "iteration"))});
  } else if (fit.iterations > 0) {
    figures.push_back({"updates", iterations, "", "Steps of the optimizer, in all epochs together."});
  }
  return figures;
}

std::vector<ClassRow> class_rows(const classifiers::Metrics& metrics) {
  std::vector<ClassRow> rows;
  for (int truth = 0; truth < metrics.classes; ++truth) {
    ClassRow row;
    row.truth = truth;
    row.right = metrics.confused(truth, truth);
    row.accuracy = metrics.class_accuracy[static_cast<std::size_t>(truth)];
    for (int label = 0; label < metrics.classes; ++label) {
      const long long count = metrics.confused(truth, label);
      row.rows += count;
      if (label != truth && count > row.taken) {
        row.most = label;
        row.taken = count;
      }
    }
    rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const ClassRow& a, const ClassRow& b) {
    if (std::isnan(a.accuracy) || std::isnan(b.accuracy))
      return !std::isnan(a.accuracy) && std::isnan(b.accuracy);
    return a.accuracy < b.accuracy;
  });
  return rows;
}

std::shared_ptr<const training::Evaluation> evaluation_of(const features::TrialResult& result) {
  auto made = std::make_shared<training::Evaluation>();
  const classifiers::Metrics& metrics = result.judgement.test;
  made->step = result.step;
  made->accuracy = metrics.accuracy;
  made->classes = metrics.classes;
  made->confusion.assign(metrics.confusion.begin(), metrics.confusion.end());
  return made;
}

std::vector<FeaturePicture> pictures_of(const features::TrialResult& result, FeatureOrder order,
                                        const std::vector<std::int64_t>& images, std::size_t most) {
  std::vector<FeaturePicture> pictures;
  if (order == FeatureOrder::support) {
    const auto& labels = result.subject.data->train.labels;
    for (const features::SupportImage& each : result.heaviest) {
      pictures.push_back({each.image, true, labels[static_cast<std::size_t>(each.image)], -1, each.weight});
    }
  } else {
    const auto& prediction = result.judgement.prediction;
    for (std::size_t i = 0; i < result.test_images.size(); ++i) {
      const std::int64_t image = result.test_images[i];
      if (!images.empty() && !std::binary_search(images.begin(), images.end(), image)) continue;
      if (order == FeatureOrder::wrong && prediction.labels[i] == result.truth[i]) continue;
      pictures.push_back(
          {image, false, result.truth[i], prediction.labels[i], static_cast<double>(prediction.margins[i])});
    }
    std::stable_sort(pictures.begin(), pictures.end(), [&](const FeaturePicture& a, const FeaturePicture& b) {
      return order == FeatureOrder::border ? a.figure < b.figure : a.figure > b.figure;
    });
  }
  if (pictures.size() > most) pictures.resize(most);
  return pictures;
}

std::vector<std::size_t> order_of(const std::vector<TrialFigures>& tries, TryColumn by) {
  std::vector<std::size_t> order(tries.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});  // the newest first
  using T = const TrialFigures&;
  constexpr std::array<bool (*)(T, T), 8> kBefore{
      nullptr,
      [](T a, T b) { return a.step > b.step; },
      [](T a, T b) { return a.layers < b.layers; },
      [](T a, T b) { return a.classifier < b.classifier; },
      [](T a, T b) { return a.c < b.c; },
      [](T a, T b) { return a.gamma_value < b.gamma_value; },
      [](T a, T b) { return a.accuracy > b.accuracy; },
      [](T a, T b) { return a.fit_seconds < b.fit_seconds; },
  };
  if (const auto before = kBefore.at(static_cast<std::size_t>(by)); before != nullptr) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return before(tries[a], tries[b]); });
  }
  return order;
}

std::string why_no_features(const Frame& frame, const models::Model& model) {
  if (model.layers.empty()) return "This version does not know the network of this run.";
  if (frame.jobs == nullptr) return "This run has no folder with checkpoints.";
  return frame.snapshot.can.steer && !frame.snapshot.data ? "The data are still being read." : "";
}

std::string FeaturesController::why_not(const Frame& frame) const {
  std::string reason = why_no_features(frame, model());
  if (!reason.empty() || !frame.snapshot.can.steer) return reason;
  const training::DataView& data = *frame.snapshot.data;
  if (data.classes.size() < 2 || data.train.labels.empty() || data.test.labels.empty())
    return "These images have no classes to be told apart.";
  return "";
}

void FeaturesController::update(const Frame& frame) {
  begin_frame(frame);
  follow_epochs(frame);
}

void FeaturesController::follow_epochs(const Frame& frame) {
  const auto epoch = static_cast<std::uint64_t>(frame.snapshot.epoch);
  const bool another = epoch > epoch_ && frame.snapshot.generation == generation_;
  epoch_ = epoch;
  generation_ = frame.snapshot.generation;
  if (each_epoch && another && !busy()) judge(frame);
}

jobs::Judge FeaturesController::judgement(bool again) const {
  return {layers_text(choice, model()), choice.standardize, judgement_of(choice), again};
}

void FeaturesController::judge(const Frame& frame) {
  if (why_not(frame).empty()) ask(judgement(false));
}

bool FeaturesController::has_last() const {
  return state().result && state().result->subject.model == model();
}

void FeaturesController::judge_again() {
  if (has_last()) ask(judgement(true));
}

void FeaturesController::search(const Frame& frame) {
  if (has_last() || why_not(frame).empty())
    ask(jobs::Search{judgement(has_last()), search_axes(choice.classifier)});
}

}  // namespace warpscope::ui
