#include "gpu/jobs/bytes_of_jobs.h"

#include <algorithm>
#include <utility>

#include "gpu/classifiers/classifier_table.h"
#include "gpu/core/error.h"
#include "gpu/maps/map.h"

namespace warpscope {
namespace {

/// True if `find` knows the name.
template <class Find>
bool is_known(const std::string& name, Find find) {
  try {
    find(name);
    return true;
  } catch (const core::BadInput&) {
    return false;
  }
}

std::string_view refusal_of_classifier(const std::string& name) {
  return is_known(name, classifiers::classifier_named) ? "" : "there is no such classifier";
}

}  // namespace

namespace classifiers {

std::string_view inconsistency_in(const Metrics& metrics) {
  const bool fits = training::fills(metrics.confusion.size(), {metrics.classes, metrics.classes}) &&
                    training::fills(metrics.class_accuracy.size(), {metrics.classes});
  return fits ? "" : "the confusion matrix is no table of all classes by all classes";
}

}  // namespace classifiers

namespace features {

std::string_view inconsistency_in(const TrialFigures& figures) {
  return refusal_of_classifier(figures.classifier);
}

std::string_view inconsistency_in(const TrialResult& result) {
  if (!result.subject.data) return "the images of a try are missing";
  const classifiers::Prediction& prediction = result.judgement.prediction;
  const std::size_t rows = result.test_images.size();
  if (result.truth.size() != rows || prediction.labels.size() != rows || prediction.margins.size() != rows)
    return "there are not as many predictions as images";
  const std::size_t training = result.subject.data->train.labels.size();
  const bool known =
      std::all_of(result.heaviest.begin(), result.heaviest.end(), [training](const SupportImage& each) {
        return each.image >= 0 && std::cmp_less(each.image, training);
      });
  return known ? "" : "a support vector is of no image";
}

std::string_view inconsistency_in(const GridResult& grid) {
  const auto cs = static_cast<std::int64_t>(grid.cs.size()),
             gammas = static_cast<std::int64_t>(grid.gammas.size());
  if (!training::fills(grid.accuracy.size(), {gammas, cs}) || grid.seconds.size() != grid.accuracy.size())
    return "the table of a search has another size than it says";
  return refusal_of_classifier(grid.classifier);
}

std::string_view inconsistency_in(const MapPicture& map) {
  if (!map.facts || !map.facts->subject.data) return "what made a map is missing";
  if (!training::fills(map.places.size(), {map.facts->images, 2}))
    return "a map has not as many points as images";
  return is_known(map.facts->method, maps::find_map) ? "" : "there is no such kind of map";
}

}  // namespace features

namespace jobs {

std::string_view inconsistency_in(const StepScene& scene) {
  if (!training::can_be(scene.model)) return "the network of a step is impossible";
  const profiling::StepSetup& setup = scene.setup;
  const bool fits = setup.batch > 0 && setup.optimizer.accumulate > 0 && setup.optimizer.joint >= 0;
  return fits ? "" : "a step has no images";
}

}  // namespace jobs
}  // namespace warpscope
