#pragma once
// Maps of latents by t-SNE and UMAP, as panels see them and ask for them: the last of each method.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu/features/map_desk.h"
#include "gpu/messages/snapshot.h"
#include "ui/jobs/desk_view.h"
#include "ui/widgets/value_field.h"

namespace warpscope::ui {

/// What the Latent tab can show: principal components, named "", and the rows of maps::map_table().
struct LatentMethod {
  std::string name, title;
};
std::span<const LatentMethod> latent_methods();

struct MapChoice {
  std::int64_t images = 0;  ///< at most; 0: as many as the device takes well
  double perplexity = maps::TsneOptions{}.perplexity;
  double neighbours = maps::UmapOptions{}.n_neighbors;
  double min_dist = maps::UmapOptions{}.min_dist;
  bool operator==(const MapChoice&) const = default;
};

/// What the method is told.
maps::MapOptions map_options(const MapChoice& choice);

/// A number of a method that a person sets.
struct MapNumber {
  std::string_view method;  ///< of maps::map_table()
  double MapChoice::*value;
  ValueSpec spec;
};
std::span<const MapNumber> map_numbers();

/// Numbers of images to choose from, of `all` test images (0: not known yet), rising.
std::vector<std::int64_t> map_counts(std::int64_t all);
/// "auto", "3,000"
std::string map_count_text(std::int64_t images);

/// "3,000 of 10,000 images, 8,192 numbers each, step 1,200"
std::string map_text(const features::MapPicture& map);
/// What is behind that, for a tool-tip.
std::string map_note(const features::MapPicture& map);
/// How old the map's weights are: "400 steps ago", "before the reset"; "" if they are those of now or in a view.
std::string map_age(const features::MapPicture& map, const training::Snapshot& snapshot);

/// Time that the iterations will take, by those that are done; "" before them and while that says little.
std::string map_time_left(const features::MapState& state);

std::vector<JobFigure> map_figures(const features::MapPicture& map);

/// What maps cannot do and PCA can.
inline constexpr std::string_view kOnlyPca =
    "Walks and sliders need PCA: no place of this map has a latent that could be decoded.";

class MapController : public DeskView<features::MapState, &jobs::States::maps> {
 public:
  using DeskView::DeskView;

  /// Once a frame, before the panels: takes the newest state.
  void update(const Frame& frame);
  bool busy() const { return state().busy; }
  /// Why no map can be made, in a sentence; "" if one can.
  std::string why_not(const Frame& frame) const;

  /// What the Latent tab shows: a method of maps::map_table(), or "" for the principal components.
  const std::string& method() const { return method_; }
  void show(const std::string& method) { method_ = method; }
  /// Shows the method's map and makes one if there is none.
  void choose(const Frame& frame, const std::string& method);
  /// The map of the method that is chosen; nullptr before its first.
  std::shared_ptr<const features::MapPicture> map() const;

  /// With the weights of this moment.
  void make(const Frame& frame);
  /// With the weights of the method's last map, where there is one: what a slider that was let go asks for.
  void make_again();
  void cancel() { ask(jobs::Cancel{jobs::Desk::maps}); }

  MapChoice choice;

 private:
  std::string method_;
  std::map<std::string, std::shared_ptr<const features::MapPicture>, std::less<>> maps_;  ///< by method
};

}  // namespace warpscope::ui
