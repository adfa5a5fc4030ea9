#pragma once
// What a classifying network makes of the held-out images, in two tabs: the images with their predictions,
// and the confusion matrix. Stands where networks that reconstruct have their pictures.

#include <span>

#include "ui/frame/frame.h"
#include "ui/panels/confusion_matrix.h"
#include "ui/panels/held_out.h"
#include "ui/panels/prediction_grid.h"
#include "ui/panels/typed_text.h"

namespace warpscope::ui {

class PredictionsPanel {
 public:
  static std::span<const char* const> tabs();
  /// Needs the OpenGL context: images are uploaded as they are seen.
  void draw(const Frame& frame);
  /// Frees what belongs to OpenGL; called before the context goes.
  void shutdown();

  /// True once images or the matrix are on the screen.
  bool has_images() const { return follower_.shown().count() > 0; }
  /// True while a newer evaluation will be taken soon: then a frame is needed though nothing else happens.
  bool waiting() const { return follower_.waiting(); }

 private:
  enum Tab : int { kPredictions, kConfusion };

  void draw_title(const Frame& frame);

  EvaluationFollower follower_;
  PredictionGrid grid_;
  TypedText typed_;
  ConfusionMatrix matrix_;
  int tab_ = kPredictions;
};

}  // namespace warpscope::ui
