#pragma once
// The window's maps of latents by t-SNE and UMAP: has the desk make them of the network of a moment, and keeps the last
// of each method.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "gpu/features/map_desk.h"
#include "ui/frame/frame.h"
#include "ui/frame/frame_state.h"
#include "ui/jobs/subject_source.h"
#include "ui/panels/map_rows.h"

namespace warpscope::ui {

class MapController {
 public:
  /// `source` outlives it.
  explicit MapController(SubjectSource& source) : source_(source) {}

  /// Once a frame, before the panels: asks for weights and starts what waited for them.
  void update(const Frame& frame);
  /// The newest state. References into it last until the next update().
  const features::MapState& state() const { return *state_; }
  /// True if there is a newer state than the one that was drawn.
  bool has_update() const { return !state_.is(desk_.state()); }
  /// True while a map is made or waits for weights.
  bool busy() const { return waits_ || state_->busy; }
  bool waits_for_weights() const { return waits_; }
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
  void start(features::Subject subject);

  SubjectSource& source_;
  features::MapDesk desk_;
  FrameState<features::MapState> state_{desk_.state()};
  std::string method_;
  // By method.
  std::map<std::string, std::shared_ptr<const features::MapPicture>, std::less<>> maps_;
  std::map<std::string, features::Subject, std::less<>> subjects_;  ///< of the last map
  bool waits_ = false;                                              ///< for weights
  std::uint64_t moment_ = 0;                                        ///< of those
};

}  // namespace warpscope::ui
