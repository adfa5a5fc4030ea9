#include "gpu/models/layer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "gpu/core/enumerators.h"

namespace warpscope::models {
namespace {

constexpr int kMostChannels = 65536;
constexpr int kMostFeatures = 1 << 20;
constexpr int kMostKernel = 15;
constexpr int kMostDilation = 16;
constexpr double kMostRate = 0.99;
constexpr int kMostSymbols = 255;  // bytes but 0
constexpr double kMostFactor = 1e6;

const LayerField kChannels{.key = "channels",
                           .meaning = "output channels",
                           .number = &Layer::out_channels,
                           .least = 1,
                           .most = kMostChannels};
const LayerField kFeatures{.key = "features",
                           .meaning = "output features",
                           .number = &Layer::out_channels,
                           .least = 1,
                           .most = kMostFeatures};
const LayerField kKernel{.key = "kernel",
                         .meaning = "height and width of the kernel",
                         .number = &Layer::kernel,
                         .least = 1,
                         .most = kMostKernel,
                         .standard = 3,
                         .odd = true};
const LayerField kStride{.key = "stride",
                         .meaning = "pixels from one output to the next",
                         .number = &Layer::stride,
                         .least = 1,
                         .most = 2,
                         .standard = 1};
const LayerField kDilation{.key = "dilation",
                           .meaning = "pixels from one tap to the next",
                           .number = &Layer::dilation,
                           .least = 1,
                           .most = kMostDilation,
                           .standard = 1};
const LayerField kPadding{.key = "padding",
                          .meaning = "zeros around the image so that a kernel fits at every pixel, or none",
                          .flag = &Layer::valid,
                          .off = "same",
                          .on = "valid"};
const LayerField kBias{
    .key = "bias", .meaning = "a number is added to each channel", .flag = &Layer::bias, .standard = 1};
const LayerField kWindow{.key = "window",
                         .meaning = "side of the windows, which is their stride too",
                         .number = &Layer::kernel,
                         .least = 2,
                         .most = 3,
                         .standard = 2};
const LayerField kRate{.key = "rate",
                       .meaning = "the probability that a number is dropped",
                       .real = &Layer::rate,
                       .most = kMostRate,
                       .standard = 0.5};
const LayerField kFactor{.key = "factor",
                         .meaning = "what each number is multiplied by, not 0",
                         .real = &Layer::factor,
                         .least = -kMostFactor,
                         .most = kMostFactor,
                         .standard = std::numeric_limits<double>::lowest()};
const LayerField kSymbols{
    .key = "classes",
    .meaning = "input bytes that are told apart, 1 to so many; 0: the alphabet's characters",
    .number = &Layer::symbols,
    .most = kMostSymbols};
const LayerField kFrom{
    .key = "from", .meaning = "the earlier layer whose output is added", .text = &Layer::from};

// --- symbols

std::string objection_to_symbols(const Layer& layer, const Extent& input) {
  if (input.channels != 1) return fmt::format("takes one channel of bytes, gets {}", to_string(input));
  if (layer.symbols >= 1 && layer.symbols <= kMostSymbols) return "";
  return "the input has no alphabet, so that classes must be given, from 1 to 255";
}

void pass_one_hot(const Layer& layer, Extent& extent) {
  extent.channels = layer.symbols;
}

void pass_embedding(const Layer& layer, Extent& extent) {
  extent.channels = layer.out_channels;
}

std::string objection_to_embedding(const Layer& layer, const Extent& input) {
  if (layer.out_channels < 1) return "has no output channels";
  return objection_to_symbols(layer, input);
}

/// Row 0 is that of what is not in the alphabet.
std::vector<LayerParameter> parameters_of_embedding(const Layer& layer, const Extent&) {
  return {{.name = "weight",
           .shape = {layer.symbols + 1, layer.out_channels},
           .form = ParameterForm::table,
           .initial = Initial::normal}};
}

// --- convolutions

int convolved(const Layer& layer, int extent, int kernel) {
  const int reach = layer.dilation * (kernel - 1);
  const int places = layer.valid ? extent - reach : extent;
  return places < 1 ? 0 : (places - 1) / layer.stride + 1;
}

void pass_convolution(const Layer& layer, Extent& extent) {
  extent = {convolved(layer, extent.height, layer.kernel_height()),
            convolved(layer, extent.width, layer.kernel_width()), layer.out_channels};
}

std::string objection_to_convolution(const Layer& layer, const Extent& input) {
  if (layer.out_channels < 1) return "has no output channels";
  if (layer.in_channels != input.channels) {
    return fmt::format("takes {} channels, gets {}", layer.in_channels, input.channels);
  }
  if (layer.kernel < 1 || layer.kernel % 2 == 0) return "the kernel must be odd";
  if (layer.stride < 1 || layer.dilation < 1) return "stride and dilation are at least 1";
  if (layer.is_one_dimensional() && input.height != 1) {
    return fmt::format("takes images one pixel high, gets {}", to_string(input));
  }
  Extent output = input;
  output.pass(layer);
  if (output.height >= 1 && output.width >= 1) return "";
  return fmt::format("its input, {}, is smaller than the {}x{} that the kernel spans", to_string(input),
                     layer.dilation * (layer.kernel_height() - 1) + 1,
                     layer.dilation * (layer.kernel_width() - 1) + 1);
}

void add_bias(const Layer& layer, std::vector<LayerParameter>& parameters) {
  if (layer.bias) parameters.push_back({.name = "bias", .shape = {layer.out_channels}});
}

std::vector<LayerParameter> parameters_of_convolution(const Layer& layer, const Extent&) {
  std::vector<LayerParameter> parameters{
      {.name = "weight",
       .shape = {layer.out_channels, layer.kernel_height(), layer.kernel_width(), layer.in_channels},
       .form = layer.is_one_dimensional() ? ParameterForm::conv1d : ParameterForm::conv2d,
       .initial = Initial::he}};
  add_bias(layer, parameters);
  return parameters;
}

void fit_convolution(Layer& layer, const Extent& input) {
  layer.in_channels = input.channels;
}

// --- linear layers

void pass_linear(const Layer& layer, Extent& extent) {
  extent = {1, 1, layer.out_channels};
}

std::string objection_to_linear(const Layer& layer, const Extent& input) {
  if (layer.out_channels < 1) return "has no output channels";
  if (layer.in_channels == input.elements()) return "";
  return fmt::format("takes {} features, gets {}", layer.in_channels, input.elements());
}

std::vector<LayerParameter> parameters_of_linear(const Layer& layer, const Extent& input) {
  std::vector<LayerParameter> parameters{
      {.name = "weight",
       .shape = {layer.out_channels, input.height, input.width, input.channels},
       .form = ParameterForm::linear,
       .initial = Initial::he}};
  add_bias(layer, parameters);
  return parameters;
}

void fit_linear(Layer& layer, const Extent& input) {
  layer.in_channels = static_cast<int>(std::min<std::int64_t>(input.elements(), kMostFeatures));
}

// --- normalization

std::vector<LayerParameter> parameters_of_layer_norm(const Layer&, const Extent& input) {
  return {{.name = "weight", .shape = {input.channels}, .initial = Initial::ones},
          {.name = "bias", .shape = {input.channels}}};
}

std::vector<LayerParameter> parameters_of_batch_norm(const Layer&, const Extent& input) {
  return {{.name = "weight", .shape = {input.channels}, .initial = Initial::ones},
          {.name = "bias", .shape = {input.channels}},
          {.name = "running_mean", .shape = {input.channels}, .learned = false},
          {.name = "running_var", .shape = {input.channels}, .initial = Initial::ones, .learned = false}};
}

// --- a constant

/// Behind 0 nothing would be learned.
std::string objection_to_scale(const Layer& layer, const Extent&) {
  if (std::isfinite(layer.factor) && layer.factor != 0) return "";
  return fmt::format("multiplies by {}, but a factor is finite and not 0", layer.factor);
}

// --- sizes

void pass_pooling(const Layer& layer, Extent& extent) {
  extent.height /= layer.kernel_height();
  extent.width /= layer.kernel_width();
}

std::string objection_to_pooling(const Layer& layer, const Extent& input) {
  if (layer.kernel < 2 || layer.kernel > 3)
    return fmt::format("its windows are 2 or 3 wide, not {}", layer.kernel);
  if (layer.is_one_dimensional() && input.height != 1) {
    return fmt::format("takes images one pixel high, gets {}", to_string(input));
  }
  if (input.height >= layer.kernel_height() && input.width >= layer.kernel_width()) return "";
  return fmt::format("its input, {}, is too small for {}x{} windows", to_string(input), layer.kernel_height(),
                     layer.kernel_width());
}

void pass_global_average_pool(const Layer&, Extent& extent) {
  extent.height = extent.width = 1;
}

void pass_upsample(const Layer&, Extent& extent) {
  extent.height *= 2;
  extent.width *= 2;
}

/// The table, made when it is first asked for: its rows hold lists, which may throw.
std::span<const LayerRow> table() {
  static const std::array rows{
      LayerRow{.kind = LayerKind::conv2d,
               .name = "conv2d",
               .prefix = "conv",
               .summary = "convolution",
               .fields = {kChannels, kKernel, kStride, kDilation, kPadding, kBias},
               .pass = pass_convolution,
               .objection = objection_to_convolution,
               .parameters = parameters_of_convolution,
               .fit = fit_convolution},
      LayerRow{.kind = LayerKind::conv1d,
               .name = "conv1d",
               .prefix = "conv",
               .summary = "convolution along images one pixel high",
               .fields = {kChannels, kKernel, kStride, kDilation, kPadding, kBias},
               .pass = pass_convolution,
               .objection = objection_to_convolution,
               .parameters = parameters_of_convolution,
               .fit = fit_convolution},
      LayerRow{.kind = LayerKind::linear,
               .name = "linear",
               .prefix = "fc",
               .summary = "fully connected, over all numbers of its input",
               .fields = {kFeatures, kBias},
               .pass = pass_linear,
               .objection = objection_to_linear,
               .parameters = parameters_of_linear,
               .fit = fit_linear},
      LayerRow{.kind = LayerKind::relu, .name = "relu", .prefix = "relu", .summary = "max(x, 0)"},
      LayerRow{.kind = LayerKind::gelu,
               .name = "gelu",
               .prefix = "gelu",
               .summary = "x times the normal distribution's Phi(x)"},
      LayerRow{.kind = LayerKind::maxpool2d,
               .name = "maxpool2d",
               .prefix = "pool",
               .summary = "the largest of each window",
               .fields = {kWindow},
               .pass = pass_pooling,
               .objection = objection_to_pooling},
      LayerRow{.kind = LayerKind::maxpool1d,
               .name = "maxpool1d",
               .prefix = "pool",
               .summary = "the largest of each window along images one pixel high",
               .fields = {kWindow},
               .pass = pass_pooling,
               .objection = objection_to_pooling},
      LayerRow{.kind = LayerKind::global_average_pool,
               .name = "global_average_pool",
               .prefix = "average",
               .summary = "the mean of each channel over the image",
               .pass = pass_global_average_pool},
      LayerRow{.kind = LayerKind::upsample2d,
               .name = "upsample2d",
               .prefix = "up",
               .summary = "each pixel becomes 2x2",
               .pass = pass_upsample},
      LayerRow{.kind = LayerKind::layer_norm,
               .name = "layer_norm",
               .prefix = "ln",
               .summary = "the channels of each pixel at mean 0 and deviation 1, then scaled and shifted",
               .parameters = parameters_of_layer_norm},
      LayerRow{.kind = LayerKind::batch_norm,
               .name = "batch_norm",
               .prefix = "bn",
               .summary = "each channel of the batch at mean 0 and deviation 1, then scaled and shifted",
               .parameters = parameters_of_batch_norm},
      LayerRow{.kind = LayerKind::scale,
               .name = "scale",
               .prefix = "scale",
               .summary = "each number times a constant",
               .fields = {kFactor},
               .objection = objection_to_scale},
      LayerRow{.kind = LayerKind::dropout,
               .name = "dropout",
               .prefix = "drop",
               .summary = "drops numbers at random in training and scales the others up",
               .fields = {kRate}},
      LayerRow{.kind = LayerKind::add,
               .name = "add",
               .prefix = "add",
               .summary = "the output of an earlier layer is added, of the same size",
               .fields = {kFrom}},
      LayerRow{.kind = LayerKind::one_hot,
               .name = "one_hot",
               .prefix = "onehot",
               .summary = "a channel for each character, 1 where the text has it",
               .fields = {kSymbols},
               .pass = pass_one_hot,
               .objection = objection_to_symbols},
      LayerRow{.kind = LayerKind::embedding,
               .name = "embedding",
               .prefix = "emb",
               .summary = "the learned row of a table for each character",
               .fields = {kChannels, kSymbols},
               .pass = pass_embedding,
               .objection = objection_to_embedding,
               .parameters = parameters_of_embedding},
  };
  static_assert(rows.size() == core::enumerators<LayerKind>(), "a kind of layers has no row");
  return rows;
}

}  // namespace

void Extent::pass(const Layer& layer) {
  if (const LayerRow& row = row_of(layer.kind); row.pass != nullptr) row.pass(layer, *this);
}

std::string to_string(const Extent& extent) {
  return fmt::format("{}x{}x{}", extent.height, extent.width, extent.channels);
}

bool is_required(const LayerField& field) {
  const bool is_number = field.number != nullptr || field.real != nullptr;
  return field.text != nullptr || (is_number && field.standard < field.least);
}

void set_standard(const LayerField& field, Layer& layer) {
  if (field.number != nullptr) layer.*field.number = static_cast<int>(field.standard);
  if (field.real != nullptr) layer.*field.real = static_cast<float>(field.standard);
  if (field.flag != nullptr) layer.*field.flag = field.standard != 0;
}

bool is_standard(const LayerField& field, const Layer& layer) {
  if (is_required(field)) return false;
  Layer standard = layer;
  set_standard(field, standard);
  return standard == layer;
}

std::span<const LayerRow> layer_rows() {
  return table();
}

const LayerRow& row_of(LayerKind kind) {
  for (const LayerRow& row : table()) {
    if (row.kind == kind) return row;
  }
  throw std::logic_error("a kind of layers has no row");
}

const LayerRow* find_layer_row(std::string_view name) {
  for (const LayerRow& row : table()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

bool has_parameters(const Layer& layer) {
  return row_of(layer.kind).parameters != nullptr;
}

}  // namespace warpscope::models
