#include "ui/panels/network_scene.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace warpscope::ui {
namespace {

// Copies a picture of `width` pixels a row into a page at (left, top).
void put(const std::vector<images::Rgba>& picture, int width, images::Point at, int page_width,
         std::vector<images::Rgba>& page) {
  const int height = static_cast<int>(picture.size()) / width;
  for (int y = 0; y < height; ++y) {
    std::copy_n(picture.begin() + y * width, width, page.begin() + (at.y + y) * page_width + at.x);
  }
}

// The nearly square page of all tiles.
void colour_tiles(NetworkScene& scene) {
  const Pictures& pictures = scene.pictures;
  if (pictures.count == 0) return;
  const int width = pictures.width, height = pictures.height;
  const double side = std::sqrt(pictures.count * height / static_cast<double>(width));
  scene.columns = std::clamp(static_cast<int>(std::ceil(side)), 1, pictures.count);
  scene.rows = (pictures.count + scene.columns - 1) / scene.columns;
  const int page_width = scene.columns * width;
  scene.tiles.resize(static_cast<std::size_t>(page_width) * static_cast<std::size_t>(scene.rows * height));
  for (int picture = 0; picture < pictures.count; ++picture) {
    const images::Point at{picture % scene.columns * width, picture / scene.columns * height};
    put(colours_of(pictures, picture, scene.scale_of_tile(picture)), width, at, page_width, scene.tiles);
  }
}

}  // namespace

NetworkStrip make_strip(const training::Inspection& inspection) {
  std::vector<Overview> overviews;
  NetworkStrip strip;
  for (const training::LayerOutput& output : inspection.outputs) {
    overviews.push_back(overview_of(output));
    const Overview& one = overviews.back();
    strip.sizes.push_back({one.width, one.height});
    strip.side = std::max({strip.side, one.width, one.height});
  }
  strip.pixels.resize(static_cast<std::size_t>(strip.width()) * static_cast<std::size_t>(strip.side));
  for (std::size_t n = 0; n < overviews.size(); ++n) {
    put(overviews[n].pixels, overviews[n].width, {static_cast<int>(n) * strip.side, 0}, strip.width(),
        strip.pixels);
  }
  return strip;
}

ColourScale NetworkScene::scale_of_tile(int picture) const {
  return of.scale_each ? scale_of(figures[static_cast<std::size_t>(picture)]) : scale;
}

NetworkScene make_scene(const models::Model& model, const models::ParameterLayout& layout, NetworkView view,
                        std::shared_ptr<const NetworkStrip> strip) {
  NetworkScene scene;
  scene.of = std::move(view);
  scene.strip =
      strip ? std::move(strip) : std::make_shared<const NetworkStrip>(make_strip(*scene.of.inspection));
  const training::Inspection& inspection = *scene.of.inspection;
  if (scene.of.look == NetworkLook::outputs) {
    scene.pictures = channels_of(inspection.outputs[scene.of.output]);
  } else {
    scene.pictures = filters_of(model, layout, inspection, scene.of.output, scene.of.in_channel,
                                scene.of.look == NetworkLook::gradients)
                         .value_or(Pictures{});
  }
  scene.figures = figures_of(scene.pictures);
  scene.scale = scale_of(scene.figures);
  colour_tiles(scene);
  return scene;
}

NetworkScenes::NetworkScenes(const models::Model& model)
    : network_(std::make_shared<const Network>(Network{model, models::parameter_layout(model)})) {}

void NetworkScenes::set_model(const models::Model& model) {
  network_ = std::make_shared<const Network>(Network{model, models::parameter_layout(model)});
  clear();
}

void NetworkScenes::want(const NetworkView& view) {
  if (job_.valid() || (newest_ && newest_->of == view)) return;
  cleared_ = false;
  const bool same = newest_ && newest_->of.inspection == view.inspection;
  job_ = std::async(std::launch::async, [network = network_, view, strip = same ? newest_->strip : nullptr] {
    return make_scene(network->model, network->layout, view, strip);
  });
}

bool NetworkScenes::advance() {
  if (!job_.valid() || job_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
  auto scene = std::make_shared<NetworkScene>(job_.get());
  scene->number = ++made_;
  if (!cleared_) newest_ = std::move(scene);
  return true;
}

void NetworkScenes::clear() {
  newest_ = nullptr;
  cleared_ = true;
}

}  // namespace warpscope::ui
