#include "ui/panels/network/latent_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "ui/images/psnr.h"
#include "ui/panels/data_texts.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

constexpr double kMostZoom = 1000;

PlanePoints::Box extent(const std::vector<float>& places) {
  if (places.empty()) return {};
  constexpr double kFar = std::numeric_limits<double>::infinity();
  PlanePoints::Box box{kFar, -kFar, kFar, -kFar};
  for (std::size_t i = 0; i + 1 < places.size(); i += 2) {
    const auto x = static_cast<double>(places[i]), y = static_cast<double>(places[i + 1]);
    box = {std::min(box.x0, x), std::max(box.x1, x), std::min(box.y0, y), std::max(box.y1, y)};
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

PlanePoints points_of(const training::LatentMap& map, std::shared_ptr<const training::DataView> data) {
  PlanePoints points;
  for (std::size_t i = 0; i < map.count; ++i) {
    for (std::size_t k = 0; k < 2; ++k) points.places.push_back(k < map.rank ? map.score(i, k) : 0.0f);
  }
  points.box = extent(points.places);
  points.data = std::move(data);
  for (std::size_t k = 0; k < std::min<std::size_t>(2, map.rank); ++k) points.axes[k] = axis_text(map, k);
  return points;
}

PlanePoints points_of(const features::MapPicture& map) {
  return {map.places, extent(map.places), map.facts->subject.data};
}

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

double fitting_scale(const PlanePoints& points, ImVec2 size, float margin) {
  const PlanePoints::Box& box = points.box;
  const double width = std::max(1.0, static_cast<double>(size.x - 2 * margin));
  const double height = std::max(1.0, static_cast<double>(size.y - 2 * margin));
  const double across = std::max((box.x1 - box.x0) / width, (box.y1 - box.y0) / height);
  return across > 0 ? 1 / across : 1;
}

void track(PlaneView& view, const PlanePoints& points, ImVec2 size, float margin) {
  if (!view.fit || points.count() == 0) return;
  view.x = (points.box.x0 + points.box.x1) / 2;
  view.y = (points.box.y0 + points.box.y1) / 2;
  view.scale = fitting_scale(points, size, margin);
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

std::string class_of(const training::DataView& data, std::size_t image) {
  if (image >= data.test.labels.size()) return "";
  return class_name(&data, data.test.labels[image]);
}

std::string class_of(const training::Snapshot& snapshot, std::size_t image) {
  return snapshot.data ? class_of(*snapshot.data, image) : "";
}

std::string image_text(const PlanePoints& points, const training::Snapshot& snapshot, std::size_t image) {
  const std::string name = points.data ? class_of(*points.data, image) : "";
  std::string text = fmt::format("test {} {}", points.data && points.data->test.texts ? "text" : "image",
                                 with_thousands(image + 1));
  if (!name.empty()) text.append(": ").append(name);
  text.append(".");
  if (!points.axes[0].empty())
    text.append(fmt::format(" Component 1: {:.3g}, component 2: {:.3g}.", points.x(image), points.y(image)));
  return text + loss_of(snapshot, image);
}

}  // namespace warpscope::ui
