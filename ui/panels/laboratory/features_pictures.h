#pragma once
// The images of a result: those nearest to the border, the wrong ones, the support vectors that weigh most.

#include <cstdint>
#include <memory>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/images/grid_layout.h"
#include "ui/jobs/features_controller.h"
#include "ui/panels/pictures/tiled_images.h"

namespace warpscope::ui {

class FeaturesPictures {
 public:
  /// A click on a test image moves the cursor there.
  void draw(const Frame& frame, const std::shared_ptr<const features::TrialResult>& result);
  /// What is shown, in its order.
  const std::vector<FeaturePicture>& shown() const { return pictures_; }
  /// Frees the texture; called before the context goes.
  void shutdown() { tiles_.shutdown(); }

 private:
  void refresh(const Frame& frame, const std::shared_ptr<const features::TrialResult>& result);
  void draw_cells(const Frame& frame);
  void draw_cell(const Frame& frame, const images::CellGrid& grid, ImVec2 origin, int cell, bool hovered);
  images::CellGrid lay_out(const Frame& frame, ImVec2 room) const;
  training::DataPart part() const;
  const training::ImageFacts& set() const { return result_->subject.data->facts(part()); }
  std::string class_name(int index) const;
  std::string tip(const FeaturePicture& picture) const;

  FeatureOrder order_ = FeatureOrder::border, made_order_ = FeatureOrder::border;
  std::vector<std::int64_t> made_images_;
  std::shared_ptr<const features::TrialResult> result_;  ///< what `pictures_` were made from
  std::vector<FeaturePicture> pictures_;
  TiledImages tiles_;
};

}  // namespace warpscope::ui
