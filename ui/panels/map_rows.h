#pragma once
// What is said of t-SNE's and UMAP's maps, and what a person chooses of them. No drawing here.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpu/features/map_desk.h"
#include "gpu/messages/snapshot.h"
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

/// "t-SNE"
std::string map_title(const std::string& method);
/// "3,000 of 10,000 images, 8,192 numbers each, step 1,200"
std::string map_text(const features::MapPicture& map);
/// What is behind that, for a tool-tip.
std::string map_note(const features::MapPicture& map);
/// How old the map's weights are: "400 steps ago", "before the reset"; "" if they are those of now or in a view.
std::string map_age(const features::MapPicture& map, const training::Snapshot& snapshot);

/// Time that the iterations will take, by those that are done; "" before them and while that says little.
std::string map_time_left(const features::MapState& state);

/// A line of figures: "iterations", "1,000", "of 1,000".
struct MapFigure {
  std::string label, value, unit, tip;
};
std::vector<MapFigure> map_figures(const features::MapPicture& map);

/// What maps cannot do and PCA can.
inline constexpr std::string_view kOnlyPca =
    "Walks and sliders need PCA: no place of this map has a latent that could be decoded.";

}  // namespace warpscope::ui
