#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/enumerators.h"
#include "gpu/core/error.h"
#include "gpu/plan/program_builder.h"

namespace warpscope::plan {
namespace {

using models::Layer;
using models::LayerKind;
using ops::Name;
using ops::Op;
using ops::OpShape;

/// A kind of layers: its forward pass, and its backward pass, which returns the gradient of the input.
struct LoweringRow {
  LayerKind kind{};
  void (*forward)(ProgramBuilder& to, LayerTensors& layer) = nullptr;
  int (*backward)(ProgramBuilder& to, const LayerTensors& layer, int gradient, bool wanted) = nullptr;
};

std::string gradient_name(const Layer& layer) {
  return layer.name + ".input_gradient";
}

/// What the layers with weights have in common: a product, and a bias.
struct Products {
  Op forward{}, backward_input{}, backward_weights{}, backward_bias{};
};
constexpr Products kConvolution{Op::conv2d_forward, Op::conv2d_backward_input, Op::conv2d_backward_weights,
                                Op::conv2d_backward_bias};
constexpr Products kLinear{Op::linear_forward, Op::linear_backward_input, Op::linear_backward_weights,
                           Op::linear_backward_bias};

/// `output` is the shape of what comes out.
void multiply(ProgramBuilder& to, LayerTensors& tensors, const Products& ops, const OpShape& output) {
  const Layer& layer = *tensors.layer;
  const std::string product = layer.bias ? layer.name + ".product" : layer.name;
  tensors.output = to.planned(product, ops.forward, Name::output, tensors.shape);
  to.node(ops.forward, layer.name, tensors.shape,
          {{Name::input, tensors.input},
           {Name::weights, to.weights(layer.name + ".weight")},
           {Name::output, tensors.output}});
  if (!layer.bias) return;
  const int biased = to.planned(layer.name, Op::bias_forward, Name::output, output);
  to.node(Op::bias_forward, layer.name, output,
          {{Name::input, tensors.output},
           {Name::bias, to.weights(layer.name + ".bias")},
           {Name::output, biased}});
  tensors.output = biased;
}

int multiply_backward(ProgramBuilder& to, const LayerTensors& tensors, const Products& ops, int gradient,
                      bool wanted) {
  const Layer& layer = *tensors.layer;
  if (tensors.training) {
    to.node(ops.backward_weights, layer.name, tensors.shape,
            {{Name::input, tensors.input},
             {Name::output_gradient, gradient},
             {Name::weights_gradient, to.gradient(layer.name + ".weight")}});
  }
  if (tensors.training && layer.bias) {
    to.node(ops.backward_bias, layer.name, tensors.shape,
            {{Name::output_gradient, gradient}, {Name::bias_gradient, to.gradient(layer.name + ".bias")}});
  }
  if (!wanted) return -1;
  const int result =
      to.planned(gradient_name(layer), ops.backward_input, Name::input_gradient, tensors.shape);
  to.node(ops.backward_input, layer.name, tensors.shape,
          {{Name::output_gradient, gradient},
           {Name::weights, to.weights(layer.name + ".weight")},
           {Name::input_gradient, result}});
  return result;
}

void forward_convolution(ProgramBuilder& to, LayerTensors& tensors) {
  const Layer& layer = *tensors.layer;
  tensors.shape = to.image_shape(tensors.extent);
  tensors.shape.out_channels = layer.out_channels;
  tensors.shape.kernel_height = layer.kernel_height();
  tensors.shape.kernel_width = layer.kernel_width();
  tensors.shape.stride = layer.stride;
  tensors.shape.dilation = layer.dilation;
  tensors.shape.valid = layer.valid;
  multiply(to, tensors, kConvolution, to.image_shape(tensors.output_extent()));
}
int backward_convolution(ProgramBuilder& to, const LayerTensors& tensors, int gradient, bool wanted) {
  return multiply_backward(to, tensors, kConvolution, gradient, wanted);
}

void forward_linear(ProgramBuilder& to, LayerTensors& tensors) {
  const Layer& layer = *tensors.layer;
  tensors.shape = to.linear_shape(layer.in_channels, layer.out_channels);
  multiply(to, tensors, kLinear, to.image_shape(1, 1, layer.out_channels));
}
int backward_linear(ProgramBuilder& to, const LayerTensors& tensors, int gradient, bool wanted) {
  return multiply_backward(to, tensors, kLinear, gradient, wanted);
}

/// An op of one input and one output, of the layer's shape.
void forward_shaped(ProgramBuilder& to, LayerTensors& tensors, Op op) {
  tensors.output = to.planned(tensors.layer->name, op, Name::output, tensors.shape);
  to.node(op, tensors.layer->name, tensors.shape,
          {{Name::input, tensors.input}, {Name::output, tensors.output}});
}

/// No gradient goes back: what comes before is the data.
void forward_one_hot(ProgramBuilder& to, LayerTensors& tensors) {
  tensors.shape = to.image_shape(tensors.extent);
  tensors.shape.out_channels = tensors.layer->symbols;
  forward_shaped(to, tensors, Op::one_hot_forward);
}
int backward_one_hot(ProgramBuilder&, const LayerTensors&, int, bool) {
  return -1;
}

void forward_embedding(ProgramBuilder& to, LayerTensors& tensors) {
  const Layer& layer = *tensors.layer;
  tensors.shape = to.image_shape(tensors.extent);
  tensors.shape.out_channels = layer.out_channels;
  tensors.shape.count = layer.symbols + 1;
  tensors.output = to.planned(layer.name, Op::embedding_forward, Name::output, tensors.shape);
  to.node(Op::embedding_forward, layer.name, tensors.shape,
          {{Name::input, tensors.input},
           {Name::weights, to.weights(layer.name + ".weight")},
           {Name::output, tensors.output}});
}
int backward_embedding(ProgramBuilder& to, const LayerTensors& tensors, int gradient, bool) {
  to.node(Op::embedding_backward_weights, tensors.layer->name, tensors.shape,
          {{Name::input, tensors.input},
           {Name::output_gradient, gradient},
           {Name::weights_gradient, to.gradient(tensors.layer->name + ".weight")}});
  return -1;
}

/// An op on an image, without parameters.
void forward_image(ProgramBuilder& to, LayerTensors& tensors, Op op) {
  tensors.shape = to.image_shape(tensors.extent);
  forward_shaped(to, tensors, op);
}

/// Its gradient by the input, from that of the output and `more`.
int backward_image(ProgramBuilder& to, const LayerTensors& tensors, Op op, int gradient, Operands more = {}) {
  const int result = to.planned(gradient_name(*tensors.layer), op, Name::input_gradient, tensors.shape);
  more.insert(more.end(), {{Name::output_gradient, gradient}, {Name::input_gradient, result}});
  to.node(op, tensors.layer->name, tensors.shape, more);
  return result;
}

void forward_relu(ProgramBuilder& to, LayerTensors& tensors) {
  forward_image(to, tensors, Op::relu_forward);
}
int backward_relu(ProgramBuilder& to, const LayerTensors& tensors, int gradient, bool) {
  return backward_image(to, tensors, Op::relu_backward, gradient, {{Name::output, tensors.output}});
}

void forward_gelu(ProgramBuilder& to, LayerTensors& tensors) {
  forward_image(to, tensors, Op::gelu_forward);
}
int backward_gelu(ProgramBuilder& to, const LayerTensors& tensors, int gradient, bool) {
  return backward_image(to, tensors, Op::gelu_backward, gradient, {{Name::input, tensors.input}});
}

void forward_maxpool(ProgramBuilder& to, LayerTensors& tensors) {
  const Layer& layer = *tensors.layer;
  tensors.shape = to.image_shape(tensors.extent);
  tensors.shape.kernel_height = layer.kernel_height();
  tensors.shape.kernel_width = layer.kernel_width();
  tensors.output = to.planned(layer.name, Op::maxpool2d_forward, Name::output, tensors.shape);
  tensors.argmax = to.planned(layer.name + ".argmax", Op::maxpool2d_forward, Name::argmax, tensors.shape);
  to.node(Op::maxpool2d_forward, layer.name, tensors.shape,
          {{Name::input, tensors.input}, {Name::output, tensors.output}, {Name::argmax, tensors.argmax}});
}
int backward_maxpool(ProgramBuilder& to, const LayerTensors& tensors, int gradient, bool) {
  return backward_image(to, tensors, Op::maxpool2d_backward, gradient, {{Name::argmax, tensors.argmax}});
}

void forward_global_average_pool(ProgramBuilder& to, LayerTensors& tensors) {
  forward_image(to, tensors, Op::global_average_pool_forward);
}
int backward_global_average_pool(ProgramBuilder& to, const LayerTensors& tensors, int gradient, bool) {
  return backward_image(to, tensors, Op::global_average_pool_backward, gradient);
}

void forward_upsample2d(ProgramBuilder& to, LayerTensors& tensors) {
  forward_image(to, tensors, Op::upsample2d_forward);
}
int backward_upsample2d(ProgramBuilder& to, const LayerTensors& tensors, int gradient, bool) {
  return backward_image(to, tensors, Op::upsample2d_backward, gradient);
}

void forward_scale(ProgramBuilder& to, LayerTensors& tensors) {
  tensors.shape = to.image_shape(tensors.extent);
  tensors.shape.factor = tensors.layer->factor;
  forward_shaped(to, tensors, Op::scale_forward);
}
int backward_scale(ProgramBuilder& to, const LayerTensors& tensors, int gradient, bool) {
  return backward_image(to, tensors, Op::scale_backward, gradient);
}

/// In inference nothing is dropped: the output is the input.
void forward_dropout(ProgramBuilder& to, LayerTensors& tensors) {
  tensors.output = tensors.input;
  if (!tensors.training) return;
  const std::string& name = tensors.layer->name;
  tensors.shape = to.image_shape(tensors.extent);
  tensors.shape.dropout_rate = tensors.layer->rate;
  tensors.shape.salt = static_cast<std::uint32_t>(tensors.number) + 1;
  tensors.output = to.planned(name, Op::dropout_forward, Name::output, tensors.shape);
  to.node(Op::dropout_forward, name, tensors.shape,
          {{Name::input, tensors.input}, {Name::control, to.control()}, {Name::output, tensors.output}});
}
int backward_dropout(ProgramBuilder& to, const LayerTensors& tensors, int gradient, bool) {
  if (!tensors.training) return gradient;
  return backward_image(to, tensors, Op::dropout_backward, gradient, {{Name::control, to.control()}});
}

/// A normalization that leaves its statistics for the backward pass.
void normalize(ProgramBuilder& to, LayerTensors& tensors, Op op) {
  const std::string& name = tensors.layer->name;
  tensors.shape = to.image_shape(tensors.extent);
  tensors.output = to.planned(name, op, Name::output, tensors.shape);
  tensors.statistics = to.planned(name + ".statistics", op, Name::statistics, tensors.shape);
  to.node(op, name, tensors.shape,
          {{Name::input, tensors.input},
           {Name::weights, to.weights(name + ".weight")},
           {Name::bias, to.weights(name + ".bias")},
           {Name::output, tensors.output},
           {Name::statistics, tensors.statistics}});
}

void forward_layer_norm(ProgramBuilder& to, LayerTensors& tensors) {
  normalize(to, tensors, Op::layer_norm_forward);
}
int backward_layer_norm(ProgramBuilder& to, const LayerTensors& tensors, int gradient, bool wanted) {
  const std::string& name = tensors.layer->name;
  if (tensors.training) {
    to.node(Op::layer_norm_backward_weights, name, tensors.shape,
            {{Name::input, tensors.input},
             {Name::output_gradient, gradient},
             {Name::statistics, tensors.statistics},
             {Name::weights_gradient, to.gradient(name + ".weight")},
             {Name::bias_gradient, to.gradient(name + ".bias")}});
  }
  if (!wanted) return -1;
  return backward_image(to, tensors, Op::layer_norm_backward_input, gradient,
                        {{Name::input, tensors.input},
                         {Name::weights, to.weights(name + ".weight")},
                         {Name::statistics, tensors.statistics}});
}

/// A single value has no deviation: what is normalized by it is 0 whatever it was.
void check_values(const LayerTensors& tensors) {
  if (tensors.shape.batch * tensors.shape.height * tensors.shape.width > 1) return;
  throw core::BadInput(fmt::format(
      "layer {} normalizes over the batch and the image, which is a single value for each channel where one "
      "image of 1x1 is a batch; take a larger batch",
      tensors.layer->name));
}

bool normalizes_over_ranks(const LayerTensors& tensors) {
  return tensors.training && tensors.recipe->norm_images > 0;
}

/// The shape of a sum over ranks.
OpShape channels_of(const LayerTensors& tensors) {
  OpShape shape;
  shape.in_channels = tensors.shape.in_channels;
  shape.linked = tensors.recipe->linked;
  shape.peers = tensors.recipe->peers > 0;
  return shape;
}

/// In pieces, none of which a chain around batch_norm.forward covers: the moments go over all ranks before the output
/// is written.
void forward_batch_norm_over_ranks(ProgramBuilder& to, LayerTensors& tensors) {
  const std::string& name = tensors.layer->name;
  const OpShape shape = tensors.shape = to.image_shape(tensors.extent);
  const OpShape channels = channels_of(tensors);
  const int moments = to.planned(name + ".moments", Op::batch_norm_moments, Name::moments, shape);
  tensors.statistics =
      to.planned(name + ".statistics", Op::batch_norm_allreduce_moments, Name::statistics, channels);
  to.node(Op::batch_norm_moments, name, shape, {{Name::input, tensors.input}, {Name::moments, moments}});
  to.node(Op::batch_norm_allreduce_moments, name, channels,
          {{Name::moments, moments}, {Name::statistics, tensors.statistics}});
  const auto half = [&](const char* what, int offset) {
    return to.add({name + what, Storage::part, ops::Role::parameter, shape.in_channels,
                   static_cast<std::size_t>(offset), false, moments});
  };
  tensors.output = to.planned(name, Op::batch_norm_infer, Name::output, shape);
  to.node(Op::batch_norm_infer, name, shape,
          {{Name::input, tensors.input},
           {Name::weights, to.weights(name + ".weight")},
           {Name::bias, to.weights(name + ".bias")},
           {Name::running_mean, half(".mean", 0)},
           {Name::running_variance, half(".variance", shape.in_channels)},
           {Name::output, tensors.output}});
  OpShape all = shape;
  all.batch = tensors.recipe->norm_images;
  to.node(Op::batch_norm_track, name, all,
          {{Name::statistics, tensors.statistics},
           {Name::control, to.control()},
           {Name::running_mean, to.kept(name + ".running_mean")},
           {Name::running_variance, to.kept(name + ".running_var")}});
}

int backward_batch_norm_over_ranks(ProgramBuilder& to, const LayerTensors& tensors, int gradient,
                                   bool wanted) {
  const std::string& name = tensors.layer->name;
  const int gamma = to.gradient(name + ".weight");
  const int beta = to.gradient(name + ".bias");
  to.node(Op::batch_norm_backward_sums, name, tensors.shape,
          {{Name::input, tensors.input},
           {Name::output_gradient, gradient},
           {Name::statistics, tensors.statistics},
           {Name::weights_gradient, gamma},
           {Name::bias_gradient, beta}});
  to.node(Op::batch_norm_allreduce_sums, name, channels_of(tensors),
          {{Name::weights_gradient, gamma}, {Name::bias_gradient, beta}});
  if (!wanted) return -1;
  return backward_image(to, tensors, Op::batch_norm_backward_input, gradient,
                        {{Name::input, tensors.input},
                         {Name::weights, to.weights(name + ".weight")},
                         {Name::statistics, tensors.statistics},
                         {Name::weights_gradient, gamma},
                         {Name::bias_gradient, beta}});
}

void forward_batch_norm(ProgramBuilder& to, LayerTensors& tensors) {
  const std::string& name = tensors.layer->name;
  if (normalizes_over_ranks(tensors)) return forward_batch_norm_over_ranks(to, tensors);
  if (tensors.training) {
    normalize(to, tensors, Op::batch_norm_forward);
    check_values(tensors);
    to.node(Op::batch_norm_track, name, tensors.shape,
            {{Name::statistics, tensors.statistics},
             {Name::control, to.control()},
             {Name::running_mean, to.kept(name + ".running_mean")},
             {Name::running_variance, to.kept(name + ".running_var")}});
    return;
  }
  tensors.shape = to.image_shape(tensors.extent);
  tensors.output = to.planned(name, Op::batch_norm_infer, Name::output, tensors.shape);
  to.node(Op::batch_norm_infer, name, tensors.shape,
          {{Name::input, tensors.input},
           {Name::weights, to.weights(name + ".weight")},
           {Name::bias, to.weights(name + ".bias")},
           {Name::running_mean, to.kept(name + ".running_mean")},
           {Name::running_variance, to.kept(name + ".running_var")},
           {Name::output, tensors.output}});
}
/// In inference the output is linear in the input: of a gradient it makes the gradient of the input by the same op,
/// with zeros for mean and shift.
int infer_batch_norm_backward(ProgramBuilder& to, const LayerTensors& tensors, int gradient) {
  const std::string& name = tensors.layer->name;
  const int result =
      to.planned(gradient_name(*tensors.layer), Op::batch_norm_infer, Name::output, tensors.shape);
  const int no_shift = to.persistent(name + ".no_shift", Op::batch_norm_infer, Name::bias, tensors.shape);
  const int no_mean =
      to.persistent(name + ".no_mean", Op::batch_norm_infer, Name::running_mean, tensors.shape);
  to.node(Op::batch_norm_infer, name, tensors.shape,
          {{Name::input, gradient},
           {Name::weights, to.weights(name + ".weight")},
           {Name::bias, no_shift},
           {Name::running_mean, no_mean},
           {Name::running_variance, to.kept(name + ".running_var")},
           {Name::output, result}});
  return result;
}

int backward_batch_norm(ProgramBuilder& to, const LayerTensors& tensors, int gradient, bool wanted) {
  if (!tensors.training) return infer_batch_norm_backward(to, tensors, gradient);
  if (normalizes_over_ranks(tensors)) return backward_batch_norm_over_ranks(to, tensors, gradient, wanted);
  const std::string& name = tensors.layer->name;
  const int result =
      to.planned(gradient_name(*tensors.layer), Op::batch_norm_backward, Name::input_gradient, tensors.shape);
  to.node(Op::batch_norm_backward, name, tensors.shape,
          {{Name::input, tensors.input},
           {Name::output_gradient, gradient},
           {Name::weights, to.weights(name + ".weight")},
           {Name::statistics, tensors.statistics},
           {Name::input_gradient, result},
           {Name::weights_gradient, to.gradient(name + ".weight")},
           {Name::bias_gradient, to.gradient(name + ".bias")}});
  return result;
}

void forward_add(ProgramBuilder& to, LayerTensors& tensors) {
  tensors.shape = to.image_shape(tensors.extent);
  tensors.output = to.planned(tensors.layer->name, Op::add_forward, Name::output, tensors.shape);
  to.node(Op::add_forward, tensors.layer->name, tensors.shape,
          {{Name::input, tensors.input}, {Name::addend, tensors.addend}, {Name::output, tensors.output}});
}
/// The gradient of either input is that of the sum.
int backward_add(ProgramBuilder&, const LayerTensors&, int gradient, bool) {
  return gradient;
}

constexpr std::array kLowerings{
    LoweringRow{LayerKind::conv2d, forward_convolution, backward_convolution},
    LoweringRow{LayerKind::conv1d, forward_convolution, backward_convolution},
    LoweringRow{LayerKind::linear, forward_linear, backward_linear},
    LoweringRow{LayerKind::relu, forward_relu, backward_relu},
    LoweringRow{LayerKind::gelu, forward_gelu, backward_gelu},
    LoweringRow{LayerKind::maxpool2d, forward_maxpool, backward_maxpool},
    LoweringRow{LayerKind::maxpool1d, forward_maxpool, backward_maxpool},
    LoweringRow{LayerKind::global_average_pool, forward_global_average_pool, backward_global_average_pool},
    LoweringRow{LayerKind::upsample2d, forward_upsample2d, backward_upsample2d},
    LoweringRow{LayerKind::layer_norm, forward_layer_norm, backward_layer_norm},
    LoweringRow{LayerKind::batch_norm, forward_batch_norm, backward_batch_norm},
    LoweringRow{LayerKind::scale, forward_scale, backward_scale},
    LoweringRow{LayerKind::dropout, forward_dropout, backward_dropout},
    LoweringRow{LayerKind::add, forward_add, backward_add},
    LoweringRow{LayerKind::one_hot, forward_one_hot, backward_one_hot},
    LoweringRow{LayerKind::embedding, forward_embedding, backward_embedding},
};

constexpr const LoweringRow* find_lowering(LayerKind kind) {
  const auto found = std::ranges::find(kLowerings, kind, &LoweringRow::kind);
  return found == kLowerings.end() ? nullptr : &*found;
}

constexpr bool every_kind_has_a_row() {
  for (int i = 0; i < core::enumerators<LayerKind>(); ++i) {
    if (find_lowering(static_cast<LayerKind>(i)) == nullptr) return false;
  }
  return true;
}
static_assert(every_kind_has_a_row());

}  // namespace

void forward_layer(ProgramBuilder& to, LayerTensors& layer) {
  find_lowering(layer.layer->kind)->forward(to, layer);
}

int backward_layer(ProgramBuilder& to, const LayerTensors& layer, int gradient, bool wanted) {
  return find_lowering(layer.layer->kind)->backward(to, layer, gradient, wanted);
}

int mask_pooled(ProgramBuilder& to, const LayerTensors& pool, const std::string& relu, int gradient) {
  const OpShape shape = to.image_shape(pool.output_extent());
  const int result = to.planned(relu + ".output_gradient", Op::relu_backward, Name::input_gradient, shape);
  to.node(Op::relu_backward, relu, shape,
          {{Name::output, pool.output}, {Name::output_gradient, gradient}, {Name::input_gradient, result}});
  return result;
}

}  // namespace warpscope::plan
