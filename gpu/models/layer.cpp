#include "gpu/models/layer.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/format.h>

namespace warpscope::models {
namespace {

constexpr int kMostChannels = 65536;
constexpr int kMostFeatures = 1 << 20;
constexpr int kMostKernel = 15;

const LayerField kChannels{"channels", "output channels", &Layer::out_channels, {}, {}, 1, kMostChannels, 0};
const LayerField kFeatures{"features", "output features", &Layer::out_channels, {}, {}, 1, kMostFeatures, 0};
const LayerField kKernel{
    "kernel", "height and width of the kernel", &Layer::kernel, {}, {}, 1, kMostKernel, 3, true};
const LayerField kBias{"bias", "a number is added to each channel", {}, &Layer::bias, {}, 0, 1, 1};
const LayerField kFrom{"from", "the earlier layer whose output is added", {}, {}, &Layer::from};

// --- convolutions

void pass_conv2d(const Layer& layer, Extent& extent) {
  extent.channels = layer.out_channels;
}

std::string objection_to_conv2d(const Layer& layer, const Extent& input) {
  if (layer.out_channels < 1) return "has no output channels";
  if (layer.in_channels != input.channels) {
    return fmt::format("takes {} channels, gets {}", layer.in_channels, input.channels);
  }
  if (layer.kernel < 1 || layer.kernel % 2 == 0) return "the kernel must be odd";
  return "";
}

void add_bias(const Layer& layer, std::vector<LayerParameter>& parameters) {
  if (layer.bias) parameters.push_back({"bias", {layer.out_channels}});
}

std::vector<LayerParameter> parameters_of_conv2d(const Layer& layer, const Extent&) {
  std::vector<LayerParameter> parameters{
      {"weight", {layer.out_channels, layer.kernel, layer.kernel, layer.in_channels}, ParameterForm::conv2d}};
  add_bias(layer, parameters);
  return parameters;
}

void fit_conv2d(Layer& layer, const Extent& input) {
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
      {"weight", {layer.out_channels, input.height, input.width, input.channels}, ParameterForm::linear}};
  add_bias(layer, parameters);
  return parameters;
}

void fit_linear(Layer& layer, const Extent& input) {
  layer.in_channels = static_cast<int>(std::min<std::int64_t>(input.elements(), kMostFeatures));
}

// --- sizes

void halve(const Layer&, Extent& extent) {
  extent.height /= 2;
  extent.width /= 2;
}

std::string objection_to_halving(const Layer&, const Extent& input) {
  if (input.height >= 2 && input.width >= 2) return "";
  return fmt::format("its input, {}, is too small for 2x2 windows", to_string(input));
}

void pass_upsample(const Layer&, Extent& extent) {
  extent.height *= 2;
  extent.width *= 2;
}

const std::array kRows{
    LayerRow{.kind = LayerKind::conv2d,
             .name = "conv2d",
             .prefix = "conv",
             .summary = "convolution, stride 1, padded so that the size stays",
             .fields = {kChannels, kKernel, kBias},
             .pass = pass_conv2d,
             .objection = objection_to_conv2d,
             .parameters = parameters_of_conv2d,
             .fit = fit_conv2d},
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
    LayerRow{.kind = LayerKind::maxpool2d,
             .name = "maxpool2d",
             .prefix = "pool",
             .summary = "the largest of each 2x2 window",
             .pass = halve,
             .objection = objection_to_halving},
    LayerRow{.kind = LayerKind::upsample2d,
             .name = "upsample2d",
             .prefix = "up",
             .summary = "each pixel becomes 2x2",
             .pass = pass_upsample},
    LayerRow{.kind = LayerKind::add,
             .name = "add",
             .prefix = "add",
             .summary = "the output of an earlier layer is added, of the same size",
             .fields = {kFrom}},
};

}  // namespace

void Extent::pass(const Layer& layer) {
  if (const LayerRow& row = row_of(layer.kind); row.pass != nullptr) row.pass(layer, *this);
}

std::string to_string(const Extent& extent) {
  return fmt::format("{}x{}x{}", extent.height, extent.width, extent.channels);
}

bool is_required(const LayerField& field) {
  return field.text != nullptr || (field.number != nullptr && field.standard < field.least);
}

void set_standard(const LayerField& field, Layer& layer) {
  if (field.number != nullptr) layer.*field.number = field.standard;
  if (field.flag != nullptr) layer.*field.flag = field.standard != 0;
}

bool is_standard(const LayerField& field, const Layer& layer) {
  if (is_required(field)) return false;
  return field.number != nullptr ? layer.*field.number == field.standard
                                 : layer.*field.flag == (field.standard != 0);
}

std::span<const LayerRow> layer_rows() {
  return kRows;
}

const LayerRow& row_of(LayerKind kind) {
  for (const LayerRow& row : kRows) {
    if (row.kind == kind) return row;
  }
  throw std::logic_error("a kind of layers has no row");
}

const LayerRow* find_layer_row(std::string_view name) {
  const auto found =
      std::find_if(kRows.begin(), kRows.end(), [&](const LayerRow& row) { return row.name == name; });
  return found == kRows.end() ? nullptr : &*found;
}

bool has_parameters(const Layer& layer) {
  return row_of(layer.kind).parameters != nullptr;
}

}  // namespace warpscope::models
