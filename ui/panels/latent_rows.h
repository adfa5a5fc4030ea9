#pragma once
// The plane of latents as numbers: where images stand on the screen, which of them a lasso holds, what is said of
// them, and which pictures are asked of the decoder. No drawing here.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <imgui.h>

#include "gpu/messages/latents.h"
#include "gpu/messages/snapshot.h"

namespace warpscope::ui {

/// A part of the plane on the screen, with the same scale on both axes; y points up.
struct PlaneView {
  double x = 0;  ///< in the middle of the screen's rectangle
  double y = 0;
  double scale = 1;  ///< pixels per unit
  bool fit = true;   ///< follows the points

  ImVec2 to_screen(ImVec2 min, ImVec2 max, double px, double py) const;
  /// The other way round.
  std::array<double, 2> to_plane(ImVec2 min, ImVec2 max, ImVec2 at) const;
};

/// Shows all points of the map's first two components, with `margin` pixels around them, while `view.fit` is set.
void track(PlaneView& view, const training::LatentMap& map, ImVec2 size, float margin);
/// Magnifies by `factor` around the place `at` of the screen, within a factor of 1,000 of the scale that fits.
void zoom(PlaneView& view, ImVec2 min, ImVec2 max, ImVec2 at, double factor, double fitting_scale);
/// Moves what is shown by so many pixels.
void pan(PlaneView& view, ImVec2 by);
/// The scale at which track() would show the map.
double fitting_scale(const training::LatentMap& map, ImVec2 size, float margin);

/// True if the point lies in the polygon, by the even-odd rule: the line from the point to the right crosses an odd
/// number of its edges. The last corner is joined to the first; fewer than three corners hold nothing.
/// Source: M. Shimrat, "Algorithm 112: position of point relative to polygon" (1962).
bool inside(std::span<const ImVec2> polygon, ImVec2 point);
/// The images whose places lie in the polygon, rising.
std::vector<std::int64_t> images_inside(std::span<const ImVec2> polygon, std::span<const ImVec2> places);
/// The image whose square of `side` around its place holds the pointer; of several the nearest, else the later.
std::optional<std::size_t> image_at(std::span<const ImVec2> places, ImVec2 pointer, float side);

/// Pictures of a strip from one image to another, both ends among them.
inline constexpr int kStripPictures = 9;

/// Places at equal distances between two images, the ends among them.
std::vector<training::LatentRecipe> strip_recipes(std::int64_t from, std::int64_t to);

/// "component 1: 34 % of the variance"
std::string axis_text(const training::LatentMap& map, std::size_t component);
/// "cat", or the number of a class without a name, or "" without labels.
std::string class_of(const training::Snapshot& snapshot, std::size_t image);
/// "test image 12: cat. Component 1: 3.21, component 2: -0.4. PSNR 21.3 dB at step 400." with what is known.
std::string image_text(const training::LatentMap& map, const training::Snapshot& snapshot, std::size_t image);

}  // namespace warpscope::ui
