#include "gpu/inspect/explain.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/ops/host_values.h"

namespace warpscope::inspect {
namespace {

using models::Layer;
using models::LayerKind;
using models::Model;
using training::Inspection;
using training::LayerOutput;

/// A value of FP32 with the ten bits of mantissa that TF32 has, rounded to nearest, ties away from zero
/// (PTX: cvt.rna.tf32.f32).
float to_tf32(float value) {
  if (!std::isfinite(value)) return value;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + 0x1000u) & ~0x1fffu);
}

float rounded(float value, core::ElementType type) {
  const double wide = static_cast<double>(value);
  return static_cast<float>(ops::decode(ops::encode({&wide, 1}, type), type).front());
}

/// As the multiplication reads it: activations are stored in the precision's type already.
float multiplied(float value, core::Precision precision) {
  if (precision == core::Precision::tf32) return to_tf32(value);
  if (precision == core::Precision::fp16) return rounded(value, core::ElementType::f16);
  if (precision == core::Precision::bf16) return rounded(value, core::ElementType::bf16);
  return value;
}

void check(const Inspection& inspection, const Place& place) {
  const bool known = place.output < inspection.outputs.size();
  const LayerOutput none;
  const LayerOutput& output = known ? inspection.outputs[place.output] : none;
  if (place.y >= 0 && place.x >= 0 && place.channel >= 0 && place.y < output.height &&
      place.x < output.width && place.channel < output.channels) {
    return;
  }
  throw core::BadInput(fmt::format("there is no value at row {}, column {}, channel {} of output {}", place.y,
                                   place.x, place.channel, place.output));
}

float value_at(const Inspection& inspection, const Place& place) {
  return inspection.outputs[place.output].at(place.y, place.x, place.channel);
}

/// Where the value at `place` of a layer without weights comes from.
Passage passage(const Model& model, const Inspection& inspection, const Place& place) {
  const Layer& layer = model.layers[place.output - 1];
  Passage result{layer.kind, place.output, 0, value_at(inspection, place), place};
  --result.from.output;
  if (!layer.from.empty()) {
    Place other = place;
    other.output = models::index_of(model, layer.from) + 1;
    result.addend = value_at(inspection, other);
  }
  if (layer.kind == LayerKind::upsample2d) {
    result.from.y /= 2;
    result.from.x /= 2;
  }
  if (layer.reads_symbols()) result.from.channel = 0;
  if (layer.pools()) {
    const LayerOutput& input = inspection.outputs[place.output - 1];
    const int height = layer.kernel_height(), width = layer.kernel_width();
    std::size_t largest = 0;
    for (int i = 0; i < height * width; ++i) {
      result.window.push_back(
          input.at(height * place.y + i / width, width * place.x + i % width, place.channel));
      if (result.window.back() > result.window[largest]) largest = result.window.size() - 1;
    }
    result.from.y = height * place.y + static_cast<int>(largest) / width;
    result.from.x = width * place.x + static_cast<int>(largest) % width;
  }
  result.before = value_at(inspection, result.from);
  return result;
}

/// The patch of `input` that the sum of `layer` at `place` reads, times the weights that begin at `weights`.
void add_terms(const Layer& layer, const LayerOutput& input, const float* weights, core::Precision precision,
               Explanation& result) {
  const bool convolves = layer.convolves();
  const int reach = convolves ? layer.dilation : 1;
  result.height = convolves ? layer.kernel_height() : input.height;
  result.width = convolves ? layer.kernel_width() : input.width;
  result.in_channels = input.channels;
  const int down = convolves && !layer.valid ? layer.dilation * (result.height - 1) / 2 : 0;
  const int right = convolves && !layer.valid ? layer.dilation * (result.width - 1) / 2 : 0;
  const int top = convolves ? result.sum.y * layer.stride - down : 0;
  const int left = convolves ? result.sum.x * layer.stride - right : 0;
  for (int r = 0; r < result.height; ++r) {
    for (int s = 0; s < result.width; ++s) {
      const int y = top + r * reach, x = left + s * reach;
      const bool inside = y >= 0 && x >= 0 && y < input.height && x < input.width;
      for (int c = 0; c < input.channels; ++c) {
        const float value = inside ? input.at(y, x, c) : 0.0f;
        result.terms.push_back({y, x, c, multiplied(value, precision), multiplied(*weights++, precision)});
      }
    }
  }
}

/// Nothing is one sum before the passages.
Explanation without_sum(Explanation result, const Inspection& inspection) {
  std::ranges::reverse(result.passages);
  result.stored = value_at(inspection, result.sum);
  return result;
}

}  // namespace

std::size_t output_of_sum(const Model& model, std::size_t output) {
  for (; output > 0; --output) {
    const Layer& layer = model.layers[output - 1];
    if (layer.multiplies()) break;
    if (layer.kind == LayerKind::global_average_pool) return 0;
  }
  return output;
}

Explanation explain(const Model& model, const models::ParameterLayout& layout, const Inspection& inspection,
                    const Place& place) {
  check(inspection, place);
  Explanation result;
  result.place = result.sum = place;
  result.value = value_at(inspection, place);
  while (result.sum.output > 0) {
    const Layer& layer = model.layers[result.sum.output - 1];
    if (layer.multiplies()) break;
    if (layer.kind == LayerKind::global_average_pool) return without_sum(std::move(result), inspection);
    result.passages.push_back(passage(model, inspection, result.sum));
    result.sum = result.passages.back().from;
  }
  if (result.sum.output == 0) return without_sum(std::move(result), inspection);
  std::ranges::reverse(result.passages);
  result.stored = value_at(inspection, result.sum);
  result.has_sum = true;
  const Layer& layer = model.layers[result.sum.output - 1];
  const models::Parameter& weight = layout.find(layer.name + ".weight");
  const std::size_t filter = weight.elements / static_cast<std::size_t>(layer.out_channels);
  const auto channel = static_cast<std::size_t>(result.sum.channel);
  add_terms(layer, inspection.outputs[result.sum.output - 1], inspection.parameter(weight) + channel * filter,
            inspection.precision, result);
  const float bias = layer.bias ? inspection.parameter(layout.find(layer.name + ".bias"))[channel] : 0.0f;
  result.bias = inspection.precision == core::Precision::tf32 ? bias : multiplied(bias, inspection.precision);
  result.total = static_cast<double>(result.bias);
  for (const Term& term : result.terms) result.total += term.product();
  return result;
}

}  // namespace warpscope::inspect
