#pragma once
// Maps of latents by t-SNE and UMAP, as panels see them and ask for them: the last of each method.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "gpu/jobs/jobs.h"
#include "ui/frame/frame.h"
#include "ui/frame/frame_state.h"
#include "ui/panels/map_rows.h"

namespace warpscope::ui {

class MapController {
 public:
  explicit MapController(models::Model model) : model_(std::move(model)) {}

  void follow(const models::Model& model) { model_ = model; }
  /// Once a frame, before the panels: takes the newest state.
  void update(const Frame& frame);
  /// The newest state. References into it last until the next update().
  const features::MapState& state() const { return *state_; }
  /// True if there is a newer state than the one that was drawn.
  bool has_update() const { return jobs_ != nullptr && !state_.is(jobs_->states().maps); }
  bool busy() const { return state_->busy; }
  /// Why no map can be made, in a sentence; "" if one can.
  std::string why_not(const Frame& frame) const;

  /// What the Latent tab shows: a method of maps::map_table(), or "" for the principal components.
  const std::string& method() const { return method_; }
  void show(const std::string& method) { method_ = method; }
  /// Shows the method's map and makes one if there is none.
  void choose(const Frame& frame, const std::string& method);
  /// Of the method that is chosen; nullptr before its first.
  std::shared_ptr<const features::MapPicture> map() const;

  /// With the weights of this moment.
  void make(const Frame& frame);
  /// With the weights of the method's last map, where there is one: what a slider that was let go asks for.
  void make_again();
  void cancel();

  MapChoice choice;

 private:
  void ask(jobs::Request request);

  models::Model model_;
  jobs::Jobs* jobs_ = nullptr;
  FrameState<features::MapState> state_{std::make_shared<features::MapState>()};
  std::string method_;
  std::map<std::string, std::shared_ptr<const features::MapPicture>, std::less<>> maps_;  ///< by method
};

}  // namespace warpscope::ui
