#include "gpu/plan/layer_lowering.h"

#include <array>
#include <stdexcept>
#include <string>

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
          {tensors.input, to.weights(layer.name + ".weight"), tensors.output});
  if (!layer.bias) return;
  const int biased = to.planned(layer.name, Op::bias_forward, Name::output, output);
  to.node(Op::bias_forward, layer.name, output, {tensors.output, to.weights(layer.name + ".bias"), biased});
  tensors.output = biased;
}

int multiply_backward(ProgramBuilder& to, const LayerTensors& tensors, const Products& ops, int gradient,
                      bool wanted) {
  const Layer& layer = *tensors.layer;
  to.node(ops.backward_weights, layer.name, tensors.shape,
          {tensors.input, gradient, to.gradient(layer.name + ".weight")});
  if (layer.bias) {
    to.node(ops.backward_bias, layer.name, tensors.shape, {gradient, to.gradient(layer.name + ".bias")});
  }
  if (!wanted) return -1;
  const int result =
      to.planned(gradient_name(layer), ops.backward_input, Name::input_gradient, tensors.shape);
  to.node(ops.backward_input, layer.name, tensors.shape,
          {gradient, to.weights(layer.name + ".weight"), result});
  return result;
}

void forward_conv2d(ProgramBuilder& to, LayerTensors& tensors) {
  const Layer& layer = *tensors.layer;
  tensors.shape = to.image_shape(tensors.extent);
  tensors.shape.out_channels = layer.out_channels;
  tensors.shape.kernel_height = tensors.shape.kernel_width = layer.kernel;
  multiply(to, tensors, kConvolution, to.image_shape(tensors.output_extent()));
}
int backward_conv2d(ProgramBuilder& to, const LayerTensors& tensors, int gradient, bool wanted) {
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

/// An op on an image, without parameters.
void forward_image(ProgramBuilder& to, LayerTensors& tensors, Op op) {
  tensors.shape = to.image_shape(tensors.extent);
  tensors.output = to.planned(tensors.layer->name, op, Name::output, tensors.shape);
  to.node(op, tensors.layer->name, tensors.shape, {tensors.input, tensors.output});
}

void forward_relu(ProgramBuilder& to, LayerTensors& tensors) {
  forward_image(to, tensors, Op::relu_forward);
}
int backward_relu(ProgramBuilder& to, const LayerTensors& tensors, int gradient, bool) {
  const int result =
      to.planned(gradient_name(*tensors.layer), Op::relu_backward, Name::input_gradient, tensors.shape);
  to.node(Op::relu_backward, tensors.layer->name, tensors.shape, {tensors.output, gradient, result});
  return result;
}

void forward_maxpool2d(ProgramBuilder& to, LayerTensors& tensors) {
  const std::string& name = tensors.layer->name;
  tensors.shape = to.image_shape(tensors.extent);
  tensors.shape.kernel_height = tensors.shape.kernel_width = 2;
  tensors.output = to.planned(name, Op::maxpool2d_forward, Name::output, tensors.shape);
  tensors.argmax = to.planned(name + ".argmax", Op::maxpool2d_forward, Name::argmax, tensors.shape);
  to.node(Op::maxpool2d_forward, name, tensors.shape, {tensors.input, tensors.output, tensors.argmax});
}
int backward_maxpool2d(ProgramBuilder& to, const LayerTensors& tensors, int gradient, bool) {
  const int result =
      to.planned(gradient_name(*tensors.layer), Op::maxpool2d_backward, Name::input_gradient, tensors.shape);
  to.node(Op::maxpool2d_backward, tensors.layer->name, tensors.shape, {gradient, tensors.argmax, result});
  return result;
}

void forward_upsample2d(ProgramBuilder& to, LayerTensors& tensors) {
  forward_image(to, tensors, Op::upsample2d_forward);
}
int backward_upsample2d(ProgramBuilder& to, const LayerTensors& tensors, int gradient, bool) {
  const int result =
      to.planned(gradient_name(*tensors.layer), Op::upsample2d_backward, Name::input_gradient, tensors.shape);
  to.node(Op::upsample2d_backward, tensors.layer->name, tensors.shape, {gradient, result});
  return result;
}

void forward_add(ProgramBuilder& to, LayerTensors& tensors) {
  tensors.shape = to.image_shape(tensors.extent);
  tensors.output = to.planned(tensors.layer->name, Op::add_forward, Name::output, tensors.shape);
  to.node(Op::add_forward, tensors.layer->name, tensors.shape,
          {tensors.input, tensors.addend, tensors.output});
}
/// The gradient of either input is that of the sum.
int backward_add(ProgramBuilder&, const LayerTensors&, int gradient, bool) {
  return gradient;
}

constexpr std::array kLowerings{
    LoweringRow{LayerKind::conv2d, forward_conv2d, backward_conv2d},
    LoweringRow{LayerKind::linear, forward_linear, backward_linear},
    LoweringRow{LayerKind::relu, forward_relu, backward_relu},
    LoweringRow{LayerKind::maxpool2d, forward_maxpool2d, backward_maxpool2d},
    LoweringRow{LayerKind::upsample2d, forward_upsample2d, backward_upsample2d},
    LoweringRow{LayerKind::add, forward_add, backward_add},
};

const LoweringRow& lowering_of(LayerKind kind) {
  for (const LoweringRow& row : kLowerings) {
    if (row.kind == kind) return row;
  }
  throw std::logic_error("a kind of layers lowers to nothing");
}

}  // namespace

void forward_layer(ProgramBuilder& to, LayerTensors& layer) {
  lowering_of(layer.layer->kind).forward(to, layer);
}

int backward_layer(ProgramBuilder& to, const LayerTensors& layer, int gradient, bool wanted) {
  return lowering_of(layer.layer->kind).backward(to, layer, gradient, wanted);
}

int mask_pooled(ProgramBuilder& to, const LayerTensors& pool, const std::string& relu, int gradient) {
  const OpShape shape = to.image_shape(pool.output_extent());
  const int result = to.planned(relu + ".output_gradient", Op::relu_backward, Name::input_gradient, shape);
  to.node(Op::relu_backward, relu, shape, {pool.output, gradient, result});
  return result;
}

}  // namespace warpscope::plan
