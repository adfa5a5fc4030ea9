#pragma once
// A model computed in double precision straight from the definitions of its layers: no ops, no plans, no
// layouts but the parameters'. What plans are held against.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "gpu/data/dataset.h"
#include "gpu/models/model.h"

namespace warpscope::tests {

class DoubleNetwork {
 public:
  explicit DoubleNetwork(models::Model model)
      : model_(std::move(model)), layout_(models::parameter_layout(model_)) {}

  /// The reconstruction of one image, NHWC.
  std::vector<double> reconstruct(const std::vector<double>& parameters,
                                  const std::vector<double>& image) const {
    return outputs(parameters, image).back();
  }

  /// What every layer makes of the image, NHWC.
  std::vector<std::vector<double>> outputs(const std::vector<double>& parameters,
                                           const std::vector<double>& image) const {
    Planes x{model_.height, model_.width, model_.channels, image};
    std::vector<std::vector<double>> result;
    for (const models::Layer& layer : model_.layers) {
      x = forward(layer, parameters, x);
      if (layer.kind == models::LayerKind::add) {
        const std::vector<double>& other = result[models::index_of(model_, layer.from)];
        for (std::size_t i = 0; i < other.size(); ++i) x.values[i] += other[i];
      }
      result.push_back(x.values);
    }
    return result;
  }

  /// The mean squared error of one image.
  double error(const std::vector<double>& parameters, const std::vector<double>& image) const {
    const std::vector<double> output = reconstruct(parameters, image);
    double sum = 0;
    for (std::size_t i = 0; i < image.size(); ++i) sum += (output[i] - image[i]) * (output[i] - image[i]);
    return sum / static_cast<double>(image.size());
  }

  /// The mean over some images.
  double loss(const std::vector<double>& parameters, const std::vector<std::vector<double>>& images) const {
    double sum = 0;
    for (const std::vector<double>& image : images) sum += error(parameters, image);
    return sum / static_cast<double>(images.size());
  }

 private:
  struct Planes {
    int height;
    int width;
    int channels;
    std::vector<double> values;
    double& at(int y, int x, int c) {
      return values[static_cast<std::size_t>((y * width + x) * channels + c)];
    }
    double get(int y, int x, int c) const {
      if (y < 0 || x < 0 || y >= height || x >= width) return 0;
      return values[static_cast<std::size_t>((y * width + x) * channels + c)];
    }
  };
  static Planes planes(int height, int width, int channels) {
    return {height, width, channels,
            std::vector<double>(static_cast<std::size_t>(height * width * channels))};
  }

  Planes convolve(const models::Layer& layer, const std::vector<double>& parameters, const Planes& in) const {
    const double* weights = parameters.data() + layout_.find(layer.name + ".weight").offset;
    const double* bias = layer.bias ? parameters.data() + layout_.find(layer.name + ".bias").offset : nullptr;
    const int taps = layer.kernel;
    Planes out = planes(in.height, in.width, layer.out_channels);
    for (int y = 0; y < in.height; ++y) {
      for (int x = 0; x < in.width; ++x) {
        for (int k = 0; k < layer.out_channels; ++k) {
          double sum = bias == nullptr ? 0 : bias[k];
          for (int tap = 0; tap < taps * taps; ++tap) {
            for (int c = 0; c < layer.in_channels; ++c) {
              sum += weights[(k * taps * taps + tap) * layer.in_channels + c] *
                     in.get(y + tap / taps - taps / 2, x + tap % taps - taps / 2, c);
            }
          }
          out.at(y, x, k) = sum;
        }
      }
    }
    return out;
  }

  Planes multiply(const models::Layer& layer, const std::vector<double>& parameters, const Planes& in) const {
    const double* weights = parameters.data() + layout_.find(layer.name + ".weight").offset;
    const double* bias = layer.bias ? parameters.data() + layout_.find(layer.name + ".bias").offset : nullptr;
    Planes out = planes(1, 1, layer.out_channels);
    for (int k = 0; k < layer.out_channels; ++k) {
      double sum = bias == nullptr ? 0 : bias[k];
      for (std::size_t i = 0; i < in.values.size(); ++i) {
        sum += weights[static_cast<std::size_t>(k) * in.values.size() + i] * in.values[i];
      }
      out.values[static_cast<std::size_t>(k)] = sum;
    }
    return out;
  }

  Planes forward(const models::Layer& layer, const std::vector<double>& parameters, const Planes& in) const {
    using enum models::LayerKind;
    Planes out = in;
    switch (layer.kind) {
      case conv2d:
        return convolve(layer, parameters, in);
      case linear:
        return multiply(layer, parameters, in);
      case add:  // the other input comes in outputs()
        return out;
      case relu:
        for (double& value : out.values) value = std::max(value, 0.0);
        return out;
      case maxpool2d:
        out = planes(in.height / 2, in.width / 2, in.channels);
        std::fill(out.values.begin(), out.values.end(), std::numeric_limits<double>::lowest());
        for_each(out.height * 2, out.width * 2, in.channels, [&](int y, int x, int c) {
          out.at(y / 2, x / 2, c) = std::max(out.at(y / 2, x / 2, c), in.get(y, x, c));
        });
        return out;
      case upsample2d:
        out = planes(in.height * 2, in.width * 2, in.channels);
        for_each(out.height, out.width, in.channels,
                 [&](int y, int x, int c) { out.at(y, x, c) = in.get(y / 2, x / 2, c); });
        return out;
    }
    return out;
  }

  template <class Visit>
  static void for_each(int height, int width, int channels, Visit visit) {
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        for (int c = 0; c < channels; ++c) visit(y, x, c);
      }
    }
  }

  models::Model model_;
  models::ParameterLayout layout_;
};

/// Image `index` of `set` in [0, 1].
inline std::vector<double> image_of(const data::ImageSet& set, std::int64_t index) {
  const std::uint8_t* from = set.pixels.data() + index * set.image_bytes();
  std::vector<double> image(from, from + set.image_bytes());
  for (double& value : image) value /= 255.0;
  return image;
}

}  // namespace warpscope::tests
