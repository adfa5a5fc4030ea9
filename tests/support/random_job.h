#pragma once
// What random_message.h does for messages, for what jobs tell.

#include <memory>

#include "gpu/jobs/bytes_of_jobs.h"

namespace warpscope::classifiers {

inline void make_consistent(Metrics& metrics) {
  metrics.classes = 2;
  metrics.confusion.resize(4);
  metrics.class_accuracy.resize(2);
}

}  // namespace warpscope::classifiers

namespace warpscope::features {

inline void make_consistent(Subject& subject) {
  if (!subject.data) subject.data = std::make_shared<const training::DataView>();
}
inline void make_consistent(TrialFigures& figures) {
  figures.classifier = "rbf";
}
inline void make_consistent(TrialResult& result) {
  const std::size_t rows = result.test_images.size();
  result.truth.resize(rows);
  result.judgement.prediction.labels.resize(rows);
  result.judgement.prediction.margins.resize(rows);
  result.heaviest.clear();
}
inline void make_consistent(GridResult& grid) {
  grid.classifier = "linear";
  grid.accuracy.resize(grid.cs.size() * grid.gammas.size());
  grid.seconds.resize(grid.accuracy.size());
}
inline void make_consistent(MapFacts& facts) {
  facts.images = 2;
  facts.method = "umap";
}
inline void make_consistent(MapPicture& map) {
  if (!map.facts) {
    MapFacts facts;
    make_consistent(facts.subject);
    make_consistent(facts);
    map.facts = std::make_shared<const MapFacts>(facts);
  }
  map.places.resize(4);
}

}  // namespace warpscope::features

namespace warpscope::jobs {

inline void make_consistent(StepScene& scene) {
  scene.model = models::find_model("mlp");
  scene.setup.batch = scene.setup.optimizer.accumulate = 2;
  scene.setup.optimizer.joint = 0.5f;
}

}  // namespace warpscope::jobs
