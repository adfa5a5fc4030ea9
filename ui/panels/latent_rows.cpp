#include "ui/panels/latent_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "ui/images/psnr.h"
#include "ui/numbers.h"

namespace warpscope::ui {
namespace {

constexpr double kMostZoom = 1000;

struct Box {
  double x0 = std::numeric_limits<double>::infinity(), x1 = -x0;
  double y0 = x0, y1 = -x0;
};

/// Component k of an image; 0 where the map has fewer.
double score(const training::LatentMap& map, std::size_t image, std::size_t k) {
  return k < map.rank ? static_cast<double>(map.score(image, k)) : 0.0;
}

Box extent(const training::LatentMap& map) {
  Box box;
  for (std::size_t i = 0; i < map.count; ++i) {
    box.x0 = std::min(box.x0, score(map, i, 0));
    box.x1 = std::max(box.x1, score(map, i, 0));
    box.y0 = std::min(box.y0, score(map, i, 1));
    box.y1 = std::max(box.y1, score(map, i, 1));
  }
  return box;
}

std::string loss_of(const training::Snapshot& snapshot, std::size_t image) {
  const auto& evaluation = snapshot.evaluation;
  const bool known = evaluation && evaluation->split == training::Split::test &&
                     evaluation->positions.empty() && image < evaluation->image_losses.size();
  if (!known) return "";
  const float loss = evaluation->image_losses[image];
  const std::string step = with_thousands(evaluation->step);
  if (!snapshot.classifies) return fmt::format(" PSNR {:.1f} dB at step {}.", images::psnr(loss), step);
  return fmt::format(" Loss {:.3g} at step {}.", loss, step);
}

}  // namespace

ImVec2 PlaneView::to_screen(ImVec2 min, ImVec2 max, double px, double py) const {
  return {
      static_cast<float>((static_cast<double>(min.x) + static_cast<double>(max.x)) / 2 + (px - x) * scale),
      static_cast<float>((static_cast<double>(min.y) + static_cast<double>(max.y)) / 2 - (py - y) * scale)};
}

std::array<double, 2> PlaneView::to_plane(ImVec2 min, ImVec2 max, ImVec2 at) const {
  return {
      x + (static_cast<double>(at.x) - (static_cast<double>(min.x) + static_cast<double>(max.x)) / 2) / scale,
      y - (static_cast<double>(at.y) - (static_cast<double>(min.y) + static_cast<double>(max.y)) / 2) /
              scale};
}

double fitting_scale(const training::LatentMap& map, ImVec2 size, float margin) {
  const Box box = extent(map);
  const double width = std::max(1.0, static_cast<double>(size.x - 2 * margin));
  const double height = std::max(1.0, static_cast<double>(size.y - 2 * margin));
  const double across = std::max(width > 0 ? (box.x1 - box.x0) / width : 0, (box.y1 - box.y0) / height);
  return across > 0 ? 1 / across : 1;
}

void track(PlaneView& view, const training::LatentMap& map, ImVec2 size, float margin) {
  if (!view.fit || map.count == 0) return;
  const Box box = extent(map);
  view.x = (box.x0 + box.x1) / 2;
  view.y = (box.y0 + box.y1) / 2;
  view.scale = fitting_scale(map, size, margin);
}

void zoom(PlaneView& view, ImVec2 min, ImVec2 max, ImVec2 at, double factor, double fitting_scale) {
  const auto before = view.to_plane(min, max, at);
  view.scale = std::clamp(view.scale * factor, fitting_scale / kMostZoom, fitting_scale * kMostZoom);
  const auto after = view.to_plane(min, max, at);
  view.x += before[0] - after[0];
  view.y += before[1] - after[1];
  view.fit = false;
}

void pan(PlaneView& view, ImVec2 by) {
  view.x -= static_cast<double>(by.x) / view.scale;
  view.y += static_cast<double>(by.y) / view.scale;
  view.fit = false;
}

bool inside(std::span<const ImVec2> polygon, ImVec2 point) {
  if (polygon.size() < 3) return false;
  bool odd = false;
  ImVec2 a = polygon.back();
  for (const ImVec2 b : polygon) {
    if ((a.y > point.y) != (b.y > point.y)) {
      const float crossing = a.x + (point.y - a.y) / (b.y - a.y) * (b.x - a.x);
      if (point.x < crossing) odd = !odd;
    }
    a = b;
  }
  return odd;
}

std::vector<std::int64_t> images_inside(std::span<const ImVec2> polygon, std::span<const ImVec2> places) {
  std::vector<std::int64_t> images;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (inside(polygon, places[i])) images.push_back(static_cast<std::int64_t>(i));
  }
  return images;
}

std::optional<std::size_t> image_at(std::span<const ImVec2> places, ImVec2 pointer, float side) {
  std::optional<std::size_t> found;
  float nearest = std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const float x = std::fabs(places[i].x - pointer.x), y = std::fabs(places[i].y - pointer.y);
    const float distance = x * x + y * y;
    if (std::max(x, y) > side / 2 || distance > nearest) continue;
    nearest = distance;
    found = i;
  }
  return found;
}

std::vector<training::LatentRecipe> strip_recipes(std::int64_t from, std::int64_t to) {
  std::vector<training::LatentRecipe> recipes;
  for (int i = 0; i < kStripPictures; ++i) {
    recipes.push_back({from, to, static_cast<float>(i) / (kStripPictures - 1)});
  }
  return recipes;
}

std::string axis_text(const training::LatentMap& map, std::size_t component) {
  const double share = component < map.shares.size() ? 100.0 * static_cast<double>(map.shares[component]) : 0;
  return fmt::format("component {}: {:.{}f} % of the variance", component + 1, share, share < 10 ? 1 : 0);
}

std::string class_of(const training::Snapshot& snapshot, std::size_t image) {
  if (!snapshot.data || image >= snapshot.data->test.labels.size()) return "";
  const std::size_t label = snapshot.data->test.labels[image];
  const auto& classes = snapshot.data->classes;
  return label < classes.size() && !classes[label].empty() ? classes[label] : std::to_string(label);
}

std::string image_text(const training::LatentMap& map, const training::Snapshot& snapshot,
                       std::size_t image) {
  const std::string name = class_of(snapshot, image);
  std::string text = fmt::format("test image {}", image + 1);
  if (!name.empty()) text.append(": ").append(name);
  return fmt::format("{}. Component 1: {:.3g}, component 2: {:.3g}.{}", text, score(map, image, 0),
                     score(map, image, 1), loss_of(snapshot, image));
}

}  // namespace warpscope::ui
