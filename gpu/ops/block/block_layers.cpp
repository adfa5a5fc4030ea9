#include "gpu/ops/block/block_layers.h"

#include <cstddef>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "gpu/ops/block/block.h"

namespace warpscope::ops::block {
namespace {

/// The memory of a layer in between, and of the workspace of the op that makes it.
using Memory = std::vector<std::byte>;

Memory memory_of(Op op, int operand, const OpShape& shape, core::Precision precision) {
  return Memory(operand_bytes(op, operand, shape, precision));
}

/// Runs layers of one block.
struct Layers {
  const OpCall& call;
  std::string_view variant;

  void run(Op op, const OpShape& shape, std::initializer_list<void*> operands) const {
    const Variant* found = find_variant(op, core::DeviceKind::cpu, variant);
    if (found == nullptr) throw std::logic_error(fmt::format("{} has no {}", to_string(op), variant));
    Memory workspace(workspace_bytes(*found, shape, call.precision));
    const std::vector<void*> list(operands);
    OpCall layer;
    layer.shape = shape;
    layer.precision = call.precision;
    layer.operands = list;
    layer.workspace = workspace.data();
    layer.stream = call.stream;
    found->launch(layer);
  }
  Memory memory(Op op, int operand, const OpShape& shape) const {
    return memory_of(op, operand, shape, call.precision);
  }
};

OpShape image_shape(const OpShape& like, int height, int width, int channels) {
  OpShape shape;
  shape.batch = like.batch;
  shape.height = height;
  shape.width = width;
  shape.in_channels = shape.out_channels = channels;
  return shape;
}

/// The convolution's output, as the ops after it see it.
OpShape result_shape(const OpShape& block) {
  const OpShape conv = convolution_shape(block);
  return image_shape(conv, conv.height, conv.width, conv.out_channels);
}

OpShape input_shape(const OpShape& block) {
  return image_shape(block, block.height, block.width, block.in_channels);
}

/// The upsampled input, in `memory` if there is upsampling.
void* upsampled(const Layers& layers, Memory& memory, void* input) {
  const OpShape& block = layers.call.shape;
  if (!block.upsample) return input;
  memory = layers.memory(Op::upsample2d_forward, 1, input_shape(block));
  layers.run(Op::upsample2d_forward, input_shape(block), {input, memory.data()});
  return memory.data();
}

/// The gradient of the convolution's output, in `memory` if there is pooling.
void* unpooled(const Layers& layers, Memory& memory, void* gradient, const std::uint8_t* argmax) {
  const OpShape& block = layers.call.shape;
  if (!block.pool) return gradient;
  const OpShape shape = result_shape(block);
  std::vector<std::uint8_t> codes(operand_bytes(Op::maxpool2d_backward, 1, shape, layers.call.precision));
  unpack_codes(argmax, static_cast<std::int64_t>(codes.size()), codes.data());
  memory = layers.memory(Op::maxpool2d_backward, 2, shape);
  layers.run(Op::maxpool2d_backward, shape, {gradient, codes.data(), memory.data()});
  return memory.data();
}

}  // namespace

OpShape convolution_shape(const OpShape& block) {
  OpShape shape = block;
  shape.upsample = shape.relu = shape.pool = shape.masked = false;
  if (block.upsample) {
    shape.height *= 2;
    shape.width *= 2;
  }
  return shape;
}

void pack_codes(const std::uint8_t* codes, std::int64_t count, std::uint8_t* packed) {
  for (std::int64_t i = 0; i < count; i += 4) {
    unsigned byte = 0;
    for (std::int64_t j = i; j < i + 4 && j < count; ++j)
      byte |= static_cast<unsigned>(codes[j]) << 2 * (j - i);
    packed[i / 4] = static_cast<std::uint8_t>(byte);
  }
}

void unpack_codes(const std::uint8_t* packed, std::int64_t count, std::uint8_t* codes) {
  for (std::int64_t i = 0; i < count; ++i) {
    codes[i] = static_cast<std::uint8_t>(packed[i / 4] >> 2 * (i % 4) & 3);
  }
}

void layers_forward(const OpCall& call, std::string_view variant) {
  const Layers layers{call, variant};
  const OpShape& block = call.shape;
  const OpShape conv = convolution_shape(block);
  const OpShape result = result_shape(block);
  Memory large_input;
  void* const input = upsampled(layers, large_input, call.operands[kForwardInput]);
  Memory large_output;
  void* output = call.operands[kForwardOutput];
  if (block.pool) {
    large_output = layers.memory(Op::conv2d_forward, 2, conv);
    output = large_output.data();
  }
  layers.run(Op::conv2d_forward, conv, {input, call.operands[kForwardWeights], output});
  layers.run(Op::bias_forward, result, {output, call.operands[kForwardBias], output});
  if (block.relu) layers.run(Op::relu_forward, result, {output, output});
  if (!block.pool) return;
  std::vector<std::uint8_t> codes(operand_bytes(Op::maxpool2d_forward, 2, result, call.precision));
  layers.run(Op::maxpool2d_forward, result, {output, call.operands[kForwardOutput], codes.data()});
  pack_codes(codes.data(), static_cast<std::int64_t>(codes.size()),
             call.operand<std::uint8_t>(kForwardArgmax));
}

void layers_backward_weights(const OpCall& call, std::string_view variant) {
  const Layers layers{call, variant};
  const OpShape conv = convolution_shape(call.shape);
  Memory large_input;
  Memory large_gradient;
  void* const input = upsampled(layers, large_input, call.operands[kWeightsInput]);
  void* const gradient = unpooled(layers, large_gradient, call.operands[kWeightsOutputGradient],
                                  call.operand<const std::uint8_t>(kWeightsArgmax));
  layers.run(Op::conv2d_backward_weights, conv, {input, gradient, call.operands[kWeightsGradient]});
  layers.run(Op::conv2d_backward_bias, conv, {gradient, call.operands[kWeightsBiasGradient]});
}

void layers_backward_input(const OpCall& call, std::string_view variant) {
  const Layers layers{call, variant};
  const OpShape& block = call.shape;
  const OpShape conv = convolution_shape(block);
  Memory large_gradient;
  Memory large_result;
  void* const gradient = unpooled(layers, large_gradient, call.operands[kInputOutputGradient],
                                  call.operand<const std::uint8_t>(kInputArgmax));
  void* const result = call.operands[kInputInputGradient];
  void* wide = result;
  if (block.upsample) {
    large_result = layers.memory(Op::conv2d_backward_input, 2, conv);
    wide = large_result.data();
  }
  layers.run(Op::conv2d_backward_input, conv, {gradient, call.operands[kInputWeights], wide});
  if (block.upsample) layers.run(Op::upsample2d_backward, input_shape(block), {wide, result});
  if (block.masked) {
    layers.run(Op::relu_backward, input_shape(block), {call.operands[kInputInput], result, result});
  }
}

}  // namespace warpscope::ops::block
