#pragma once
// The plane of latents as numbers: where images stand on the screen, which of them a lasso holds, what is said of
// them, and which pictures are asked of the decoder. No drawing here.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <imgui.h>

#include "gpu/features/feature_map.h"
#include "gpu/messages/latents.h"
#include "gpu/messages/snapshot.h"

namespace warpscope::ui {

/// The first test images of a data set as points in a plane, whatever placed them there.
struct PlanePoints {
  struct Box {
    double x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  };

  std::vector<float> places;  ///< (count, 2)
  Box box;                    ///< that holds them
  std::shared_ptr<const training::DataView> data;
  std::array<std::string, 2> axes = {};  ///< what to the right and up mean; "": nothing

  std::size_t count() const { return places.size() / 2; }
  double x(std::size_t image) const { return static_cast<double>(places[2 * image]); }
  double y(std::size_t image) const { return static_cast<double>(places[2 * image + 1]); }
};

/// By the map's first two components.
PlanePoints points_of(const training::LatentMap& map, std::shared_ptr<const training::DataView> data);
PlanePoints points_of(const features::MapPicture& map);

/// A part of the plane on the screen, with the same scale on both axes; y points up.
struct PlaneView {
  double x = 0;  ///< in the middle of the screen's rectangle
  double y = 0;
  double scale = 1;  ///< pixels per unit
  bool fit = true;   ///< follows the points

  ImVec2 to_screen(ImVec2 min, ImVec2 max, double px, double py) const;
  /// The other way round.
  std::array<double, 2> to_plane(ImVec2 min, ImVec2 max, ImVec2 at) const;
  bool operator==(const PlaneView&) const = default;
};

/// Shows all points, with `margin` pixels around them, while `view.fit` is set.
void track(PlaneView& view, const PlanePoints& points, ImVec2 size, float margin);
/// Magnifies by `factor` around the place `at` of the screen, within a factor of 1,000 of the scale that fits.
void zoom(PlaneView& view, ImVec2 min, ImVec2 max, ImVec2 at, double factor, double fitting_scale);
/// Moves what is shown by so many pixels.
void pan(PlaneView& view, ImVec2 by);
/// The scale at which track() would show them.
double fitting_scale(const PlanePoints& points, ImVec2 size, float margin);

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
std::string class_of(const training::DataView& data, std::size_t image);
std::string class_of(const training::Snapshot& snapshot, std::size_t image);
/// "test image 12: cat. Component 1: 3.21, component 2: -0.4. PSNR 21.3 dB at step 400." with what is known; components
/// where the axes are some.
std::string image_text(const PlanePoints& points, const training::Snapshot& snapshot, std::size_t image);

}  // namespace warpscope::ui
