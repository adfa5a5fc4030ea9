#pragma once
// A model computed in double precision straight from the definitions of its layers: no ops, no plans, no
// layouts but the parameters'. What plans are held against.

#include <algorithm>
#include <cmath>
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

  /// What every layer makes of the image in inference, NHWC.
  std::vector<std::vector<double>> outputs(const std::vector<double>& parameters,
                                           const std::vector<double>& image) const {
    return all_outputs(parameters, {image}, false).front();
  }

  /// The same behind the first layer, whose output is given.
  std::vector<std::vector<double>> outputs_behind(const std::vector<double>& parameters,
                                                  const std::vector<double>& first) const {
    models::Extent extent{model_.height, model_.width, model_.channels};
    extent.pass(model_.layers.front());
    std::vector<Planes> batch{{extent.height, extent.width, extent.channels, first}};
    std::vector<std::vector<std::vector<double>>> result{{first}};
    run_layers(1, parameters, false, batch, result);
    return result.front();
  }

  /// What every layer makes of each image of a batch in training, where batch norm takes mean and variance of the
  /// batch. Nothing is dropped.
  std::vector<std::vector<std::vector<double>>> training_outputs(
      const std::vector<double>& parameters, const std::vector<std::vector<double>>& images) const {
    return all_outputs(parameters, images, true);
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

  /// By image and layer.
  std::vector<std::vector<std::vector<double>>> all_outputs(const std::vector<double>& parameters,
                                                            const std::vector<std::vector<double>>& images,
                                                            bool training) const {
    std::vector<Planes> batch;
    for (const std::vector<double>& image : images) {
      batch.push_back({model_.height, model_.width, model_.channels, image});
    }
    std::vector<std::vector<std::vector<double>>> result(images.size());
    run_layers(0, parameters, training, batch, result);
    return result;
  }

  /// From layer `first` on; adds the outputs of each image to those of the layers before.
  void run_layers(std::size_t first, const std::vector<double>& parameters, bool training,
                  std::vector<Planes>& batch, std::vector<std::vector<std::vector<double>>>& result) const {
    for (std::size_t i = first; i < model_.layers.size(); ++i) {
      const models::Layer& layer = model_.layers[i];
      if (layer.kind == models::LayerKind::batch_norm) {
        normalize_batch(layer, parameters, batch, training);
      } else {
        for (Planes& x : batch) x = forward(layer, parameters, x);
      }
      for (std::size_t n = 0; n < batch.size(); ++n) {
        if (layer.kind == models::LayerKind::add) {
          const std::vector<double>& other = result[n][models::index_of(model_, layer.from)];
          for (std::size_t k = 0; k < other.size(); ++k) batch[n].values[k] += other[k];
        }
        result[n].push_back(batch[n].values);
      }
    }
  }

  const double* parameter(const models::Layer& layer, const char* name,
                          const std::vector<double>& parameters) const {
    return parameters.data() + layout_.find(layer.name + "." + name).offset;
  }

  void normalize_batch(const models::Layer& layer, const std::vector<double>& parameters,
                       std::vector<Planes>& batch, bool training) const {
    const auto channels = static_cast<std::size_t>(batch.front().channels);
    for (std::size_t c = 0; c < channels; ++c) {
      double mean = parameter(layer, "running_mean", parameters)[c];
      double variance = parameter(layer, "running_var", parameters)[c];
      if (training) {
        double sum = 0, squares = 0, count = 0;
        for (const Planes& x : batch) {
          for (std::size_t i = c; i < x.values.size(); i += channels) sum += x.values[i], ++count;
        }
        mean = sum / count;
        for (const Planes& x : batch) {
          for (std::size_t i = c; i < x.values.size(); i += channels) {
            squares += (x.values[i] - mean) * (x.values[i] - mean);
          }
        }
        variance = squares / count;
      }
      const double scale = parameter(layer, "weight", parameters)[c] / std::sqrt(variance + 1e-5);
      for (Planes& x : batch) {
        for (std::size_t i = c; i < x.values.size(); i += channels) {
          x.values[i] = (x.values[i] - mean) * scale + parameter(layer, "bias", parameters)[c];
        }
      }
    }
  }

  Planes normalize_pixels(const models::Layer& layer, const std::vector<double>& parameters,
                          const Planes& in) const {
    Planes out = in;
    const double* const gamma = parameter(layer, "weight", parameters);
    const double* const beta = parameter(layer, "bias", parameters);
    const auto channels = static_cast<std::size_t>(in.channels);
    for (std::size_t at = 0; at < in.values.size(); at += channels) {
      double mean = 0, variance = 0;
      for (std::size_t c = 0; c < channels; ++c) mean += in.values[at + c] / in.channels;
      for (std::size_t c = 0; c < channels; ++c) {
        variance += (in.values[at + c] - mean) * (in.values[at + c] - mean) / in.channels;
      }
      for (std::size_t c = 0; c < channels; ++c) {
        out.values[at + c] = (in.values[at + c] - mean) / std::sqrt(variance + 1e-5) * gamma[c] + beta[c];
      }
    }
    return out;
  }

  Planes convolve(const models::Layer& layer, const std::vector<double>& parameters, const Planes& in) const {
    const double* weights = parameter(layer, "weight", parameters);
    const double* bias = layer.bias ? parameter(layer, "bias", parameters) : nullptr;
    const int rows = layer.kernel_height(), columns = layer.kernel_width();
    models::Extent extent{in.height, in.width, in.channels};
    extent.pass(layer);
    const int above = layer.valid ? 0 : layer.dilation * (rows - 1) / 2;
    const int before = layer.valid ? 0 : layer.dilation * (columns - 1) / 2;
    Planes out = planes(extent.height, extent.width, layer.out_channels);
    for_each(out.height, out.width, layer.out_channels, [&](int y, int x, int k) {
      double sum = bias == nullptr ? 0 : bias[k];
      for (int tap = 0; tap < rows * columns; ++tap) {
        const int from_y = y * layer.stride - above + layer.dilation * (tap / columns);
        const int from_x = x * layer.stride - before + layer.dilation * (tap % columns);
        for (int c = 0; c < layer.in_channels; ++c) {
          sum += weights[(k * rows * columns + tap) * layer.in_channels + c] * in.get(from_y, from_x, c);
        }
      }
      out.at(y, x, k) = sum;
    });
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

  /// The byte of which `value` is the 255th part.
  static int byte_of(double value) { return static_cast<int>(std::lround(255 * value)); }

  Planes forward(const models::Layer& layer, const std::vector<double>& parameters, const Planes& in) const {
    using enum models::LayerKind;
    Planes out = in;
    switch (layer.kind) {
      case conv2d:
      case conv1d:
        return convolve(layer, parameters, in);
      case one_hot:
        out = planes(in.height, in.width, layer.symbols);
        for_each(in.height, in.width, layer.symbols,
                 [&](int y, int x, int c) { out.at(y, x, c) = byte_of(in.get(y, x, 0)) == c + 1 ? 1 : 0; });
        return out;
      case embedding:
        out = planes(in.height, in.width, layer.out_channels);
        for_each(in.height, in.width, layer.out_channels, [&](int y, int x, int c) {
          const int byte = byte_of(in.get(y, x, 0));
          const int row = byte > 0 && byte <= layer.symbols ? byte : 0;
          out.at(y, x, c) = parameter(layer, "weight", parameters)[row * layer.out_channels + c];
        });
        return out;
      case linear:
        return multiply(layer, parameters, in);
      case add:  // the other input comes in all_outputs()
        return out;
      case relu:
        for (double& value : out.values) value = std::max(value, 0.0);
        return out;
      case maxpool2d:
      case maxpool1d: {
        const int rows = layer.kernel_height(), columns = layer.kernel_width();
        out = planes(in.height / rows, in.width / columns, in.channels);
        std::fill(out.values.begin(), out.values.end(), std::numeric_limits<double>::lowest());
        for_each(out.height * rows, out.width * columns, in.channels, [&](int y, int x, int c) {
          out.at(y / rows, x / columns, c) = std::max(out.at(y / rows, x / columns, c), in.get(y, x, c));
        });
        return out;
      }
      case gelu:
        for (double& value : out.values) value *= 0.5 * std::erfc(-value / std::sqrt(2.0));
        return out;
      case global_average_pool:
        out = planes(1, 1, in.channels);
        for_each(in.height, in.width, in.channels,
                 [&](int y, int x, int c) { out.at(0, 0, c) += in.get(y, x, c) / (in.height * in.width); });
        return out;
      case layer_norm:
        return normalize_pixels(layer, parameters, in);
      case scale:
        for (double& value : out.values) value *= double{layer.factor};
        return out;
      case batch_norm:  // of all images at once, in all_outputs()
      case dropout:     // nothing is dropped
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

/// `image`, of the size that `model` takes, mirrored left to right.
inline std::vector<double> mirrored(const std::vector<double>& image, const models::Model& model) {
  std::vector<double> other = image;
  const auto channels = static_cast<std::size_t>(model.channels);
  const auto width = static_cast<std::size_t>(model.width);
  for (std::size_t i = 0; i < image.size(); ++i) {
    const std::size_t pixel = i / channels;
    const std::size_t opposite = pixel / width * width + (width - 1 - pixel % width);
    other[opposite * channels + i % channels] = image[i];
  }
  return other;
}

/// `image`, whose pixel (h, w) then is that of (h + down, w + right): beyond the border goes back from it, and no shift
/// is larger than that can be.
inline std::vector<double> shifted(const std::vector<double>& image, const models::Model& model, int down,
                                   int right) {
  const auto source = [](int place, int shift, int length) {
    const int at = std::abs(place + std::clamp(shift, 1 - length, length - 1));
    return static_cast<std::size_t>(at < length ? at : 2 * length - 2 - at);
  };
  const auto channels = static_cast<std::size_t>(model.channels);
  std::vector<double> other;
  for (int h = 0; h < model.height; ++h) {
    for (int w = 0; w < model.width; ++w) {
      const std::size_t pixel = source(h, down, model.height) * static_cast<std::size_t>(model.width) +
                                source(w, right, model.width);
      for (std::size_t c = 0; c < channels; ++c) other.push_back(image[pixel * channels + c]);
    }
  }
  return other;
}

/// The mean of what `network` makes of the image, of the image shifted to the four corners and, if they are asked for,
/// of the mirror images.
inline std::vector<double> mean_of_views(const DoubleNetwork& network, const models::Model& model,
                                         const std::vector<double>& parameters,
                                         const std::vector<double>& image, bool with_mirrored, int shift) {
  std::vector<std::vector<double>> views{image};
  if (shift > 0) {
    for (const int down : {-shift, shift})
      for (const int right : {-shift, shift}) views.push_back(shifted(image, model, down, right));
  }
  std::vector<double> sum;
  double count = 0;
  const auto add = [&](const std::vector<double>& view) {
    const std::vector<double> made = network.reconstruct(parameters, view);
    sum.resize(made.size());
    for (std::size_t i = 0; i < made.size(); ++i) sum[i] += made[i];
    ++count;
  };
  for (const std::vector<double>& view : views) {
    add(view);
    if (with_mirrored) add(mirrored(view, model));
  }
  for (double& value : sum) value /= count;
  return sum;
}

}  // namespace warpscope::tests
