#include "ui/panels/network/network_rows.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

using models::Layer;
using training::Inspection;
using training::LayerOutput;

// The first of them. In the order in which the values lie, all channels at once.
int channel_of_largest_variance(const LayerOutput& output) {
  const auto channels = static_cast<std::size_t>(output.channels);
  std::vector<double> sums(channels), squares(channels);
  for (std::size_t at = 0; at + channels <= output.values.size(); at += channels) {
    for (std::size_t c = 0; c < channels; ++c) {
      const auto value = static_cast<double>(output.values[at + c]);
      sums[c] += value;
      squares[c] += value * value;
    }
  }
  const double pixels = static_cast<double>(output.height) * static_cast<double>(output.width);
  int largest = 0;
  double most = -1;
  for (std::size_t c = 0; c < channels; ++c) {
    const double mean = sums[c] / pixels;
    const auto variance =
        static_cast<double>(static_cast<float>(std::max(0.0, squares[c] / pixels - mean * mean)));
    if (variance > most) {
      most = variance;
      largest = static_cast<int>(c);
    }
  }
  return largest;
}

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

bool is_of(const Inspection& inspection, const models::Model& model) {
  if (inspection.outputs.size() != model.layers.size() + 1) return false;
  models::Extent extent{model.height, model.width, model.channels};
  for (std::size_t i = 0; i < inspection.outputs.size(); ++i) {
    const LayerOutput& output = inspection.outputs[i];
    if (i > 0) extent.pass(model.layers[i - 1]);
    if (models::Extent{output.height, output.width, output.channels} != extent) return false;
    if (i > 0 && output.layer != model.layers[i - 1].name) return false;
  }
  return true;
}

std::string shape_text(const LayerOutput& output) {
  if (output.height == 1 && output.width == 1) return fmt::format("{}", output.channels);
  return fmt::format("{}\u00d7{}\u00d7{}", output.height, output.width, output.channels);
}

Pictures channels_of(const LayerOutput& output) {
  Pictures result{output.channels, output.height, output.width, 1, {}};
  result.values.resize(output.values.size());
  const auto pixels = result.size(), channels = static_cast<std::size_t>(output.channels);
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    for (std::size_t c = 0; c < channels; ++c) {
      result.values[c * pixels + pixel] = output.values[pixel * channels + c];
    }
  }
  return result;
}

int filter_depth(const Inspection& inspection, const models::Model& model, std::size_t output) {
  if (output == 0 || !model.layers[output - 1].multiplies()) return 0;
  return inspection.outputs[output - 1].channels;
}

const char* why_no_filters(const Inspection& inspection, const models::Model& model, std::size_t output) {
  return filter_depth(inspection, model, output) > 0
             ? kNoGradients
             : "This layer has no weights. Choose a convolution or a linear layer.";
}

std::optional<Pictures> filters_of(const models::Model& model, const models::ParameterLayout& layout,
                                   const Inspection& inspection, std::size_t output, int in_channel,
                                   bool gradients) {
  const int depth = filter_depth(inspection, model, output);
  if (depth == 0) return std::nullopt;
  const Layer& layer = model.layers[output - 1];
  const LayerOutput& input = inspection.outputs[output - 1];
  const bool convolves = layer.convolves();
  Pictures result;
  result.count = layer.out_channels;
  result.height = convolves ? layer.kernel_height() : input.height;
  result.width = convolves ? layer.kernel_width() : input.width;
  result.planes = depth == 3 ? 3 : 1;
  const models::Parameter& weight = layout.find(layer.name + ".weight");
  if (!inspection.has(weight) || (gradients && !inspection.has_gradients())) return std::nullopt;
  const float* from = gradients ? inspection.gradient(weight) : inspection.parameter(weight);
  const auto places = static_cast<std::size_t>(result.count) * static_cast<std::size_t>(result.height) *
                      static_cast<std::size_t>(result.width);
  const int first = result.planes == 3 ? 0 : std::clamp(in_channel, 0, depth - 1);
  for (std::size_t place = 0; place < places; ++place, from += depth) {
    result.values.insert(result.values.end(), from + first, from + first + result.planes);
  }
  return result;
}

std::vector<ChannelFigures> figures_of(const Pictures& pictures) {
  std::vector<ChannelFigures> result;
  for (int picture = 0; picture < pictures.count; ++picture) {
    const float* const values = pictures.of(picture);
    ChannelFigures figures{std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), 0,
                           0, 0};
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
      figures.least = std::min(figures.least, values[i]);
      figures.most = std::max(figures.most, values[i]);
      figures.zeros += values[i] == 0.0f;
      sum += static_cast<double>(values[i]);
      squares += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    }
    const auto count = static_cast<double>(pictures.size());
    figures.mean = static_cast<float>(sum / count);
    figures.variance = static_cast<float>(std::max(0.0, squares / count - sum / count * (sum / count)));
    result.push_back(figures);
  }
  return result;
}

FilterFigures figures_of_filter(const models::Model& model, const models::ParameterLayout& layout,
                                const Inspection& inspection, std::size_t output, int filter) {
  if (filter_depth(inspection, model, output) == 0) return {};
  const Layer& layer = model.layers[output - 1];
  const models::Parameter& weight = layout.find(layer.name + ".weight");
  const std::size_t size = weight.elements / static_cast<std::size_t>(layer.out_channels);
  const auto number = static_cast<std::size_t>(filter);
  if (!inspection.has(weight)) return {};
  const auto norm = [&](const float* values) {
    double squares = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const auto value = static_cast<double>(values[number * size + i]);
      squares += value * value;
    }
    return static_cast<float>(std::sqrt(squares));
  };
  FilterFigures figures{.norm = norm(inspection.parameter(weight))};
  if (inspection.has_gradients()) figures.gradient_norm = norm(inspection.gradient(weight));
  if (!layer.bias) return figures;
  const models::Parameter& bias = layout.find(layer.name + ".bias");
  figures.bias = inspection.parameter(bias)[number];
  if (inspection.has_gradients()) figures.bias_gradient = inspection.gradient(bias)[number];
  return figures;
}

std::vector<int> ordered(const std::vector<ChannelFigures>& figures, ChannelOrder order) {
  std::vector<int> result(figures.size());
  std::iota(result.begin(), result.end(), 0);
  if (order == ChannelOrder::index) return result;
  std::stable_sort(result.begin(), result.end(), [&](int a, int b) {
    const ChannelFigures& first = figures[static_cast<std::size_t>(a)];
    const ChannelFigures& second = figures[static_cast<std::size_t>(b)];
    return order == ChannelOrder::mean ? first.mean > second.mean : first.variance > second.variance;
  });
  return result;
}

const std::vector<int>& KeptOrder::of(const std::vector<ChannelFigures>& figures, std::uint64_t version,
                                      ChannelOrder order) {
  if (version_ != version || order_ != order) kept_ = ordered(figures, order);
  version_ = version;
  order_ = order;
  return kept_;
}

ColourScale scale_of(const std::vector<ChannelFigures>& figures) {
  ColourScale scale{0, false};
  for (const ChannelFigures& one : figures) {
    const float largest = std::max(std::abs(one.least), std::abs(one.most));
    if (std::isfinite(largest)) scale.range = std::max(scale.range, largest);
    scale.has_signs = scale.has_signs || one.least < 0;
  }
  if (scale.range == 0) scale.range = 1;
  return scale;
}

ColourScale scale_of(const ChannelFigures& figures) {
  return scale_of(std::vector<ChannelFigures>{figures});
}

images::Rgba value_colour(const float* from, int planes, const ColourScale& scale) {
  if (planes == 3) {
    const float around_grey[3] = {0.5f + 0.5f * from[0] / scale.range, 0.5f + 0.5f * from[1] / scale.range,
                                  0.5f + 0.5f * from[2] / scale.range};
    return images::image_colour(around_grey, 3);
  }
  const float part = *from / scale.range;
  return scale.has_signs ? images::signed_colour(part) : images::magnitude_colour(part);
}

std::vector<images::Rgba> colours_of(const Pictures& pictures, int picture, const ColourScale& scale) {
  std::vector<images::Rgba> result;
  const float* const values = pictures.of(picture);
  const auto planes = static_cast<std::size_t>(pictures.planes);
  for (std::size_t i = 0; i < pictures.size(); i += planes) {
    result.push_back(value_colour(values + i, pictures.planes, scale));
  }
  return result;
}

Overview overview_of(const LayerOutput& output) {
  Overview result;
  if (output.height == 1 && output.width == 1) {
    result.width = static_cast<int>(std::ceil(std::sqrt(output.channels)));
    result.height = (output.channels + result.width - 1) / result.width;
    const Pictures all{1, 1, output.channels, 1, output.values};
    result.pixels = colours_of(all, 0, scale_of(figures_of(all)));
    result.pixels.resize(static_cast<std::size_t>(result.width * result.height), images::Rgba{0, 0, 0, 0});
    return result;
  }
  result.width = output.width;
  result.height = output.height;
  if (output.channels == 3) {
    for (std::size_t i = 0; i < output.values.size(); i += 3) {
      result.pixels.push_back(images::image_colour(output.values.data() + i, 3));
    }
    return result;
  }
  const auto shown = static_cast<std::size_t>(channel_of_largest_variance(output));
  Pictures one{1, output.height, output.width, 1, {}};
  for (std::size_t i = shown; i < output.values.size(); i += static_cast<std::size_t>(output.channels)) {
    one.values.push_back(output.values[i]);
  }
  result.pixels = colours_of(one, 0, scale_of(figures_of(one)));
  return result;
}

TileLayout lay_out_tiles(int count, int width, int height, float room_width, float room_height, float gap,
                         float least, float most) {
  const auto longer = static_cast<float>(std::max(width, height));
  const auto shorter = static_cast<float>(std::min(width, height));
  const auto columns_at = [&](float unit) {
    return std::max(1, static_cast<int>((room_width + gap) / (unit * static_cast<float>(width) + gap)));
  };
  // From large to small, by whole pixels of the longer side.
  float unit = most / longer;
  for (float side = std::floor(most); side > 1; --side) {
    unit = side / longer;
    if (unit * shorter < least) break;
    const int columns = columns_at(unit);
    const int rows = (count + columns - 1) / columns;
    if (static_cast<float>(rows) * (unit * static_cast<float>(height) + gap) <= room_height) break;
  }
  unit = std::max(unit, least / shorter);
  const int rows = std::max(1, (count + columns_at(unit) - 1) / columns_at(unit));
  return {std::max(1, (count + rows - 1) / rows),
          std::floor(std::min(unit * static_cast<float>(width), room_width)),
          std::floor(unit * static_cast<float>(height))};
}

std::array<std::string, 3> exciting_sentences(const training::ChannelActivations& seen,
                                              const std::string& layer, std::size_t channel) {
  const std::string images = files::counted(static_cast<std::int64_t>(seen.images), "test image"),
                    step = with_thousands(seen.step);
  return {fmt::format("these of {} excite {}, channel {} most; step {}", images, layer, channel, step),
          fmt::format("these of {} excite channel {} most", images, channel),
          fmt::format("of {}; step {}", images, step)};
}

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
