#include "gpu/plan/program.h"

#include "gpu/ops/block/block.h"
#include "gpu/ops/cross_entropy/cross_entropy.h"
#include "gpu/ops/mse/mse.h"
#include "gpu/ops/step/step.h"

namespace warpscope::plan {
namespace {

using models::LayerKind;
using ops::Op;
using ops::OpShape;
using ops::Role;

constexpr int kCastOutput = 1;  ///< of weights.cast and images.widen

/// What backward needs to know of a layer's forward, or of a block's.
struct LayerTensors {
  int input = -1;
  int output = -1;
  int argmax = -1;
  OpShape shape;
  const models::Layer* layer = nullptr;  ///< a block's convolution
  bool block = false;
};

/// The layers of one block: [upsample2d] conv2d [relu] [maxpool2d].
struct Block {
  const models::Layer* convolution = nullptr;  ///< nullptr: no block begins here
  std::size_t layers = 0;
  bool upsample = false;
  bool relu = false;
  bool pool = false;
};

Block block_at(const std::vector<models::Layer>& layers, std::size_t first) {
  Block block;
  std::size_t at = first;
  const auto take = [&](LayerKind kind) {
    const bool is = at < layers.size() && layers[at].kind == kind;
    at += is;
    return is;
  };
  block.upsample = take(LayerKind::upsample2d);
  if (!take(LayerKind::conv2d)) return {};
  block.convolution = &layers[at - 1];
  block.relu = take(LayerKind::relu);
  block.pool = take(LayerKind::maxpool2d);
  block.layers = at - first;
  return block;
}

class Lowering {
 public:
  Lowering(const models::Model& model, int batch, std::int64_t image_count, std::int64_t ring_capacity,
           core::Precision precision, const Recipe& recipe, bool blocks)
      : model_(model),
        recipe_(recipe),
        layout_(models::parameter_layout(model)),
        batch_(batch),
        image_count_(image_count),
        ring_capacity_(ring_capacity),
        precision_(precision),
        blocks_(blocks),
        casts_(ops::element_type(Role::weight, precision) != ops::element_type(Role::parameter, precision)) {}

  Program run(Purpose purpose) {
    control_ = external("control", Storage::control, Role::control, 1);
    if (casts_) cast_weights();
    forward(purpose == Purpose::inference);
    if (purpose == Purpose::training) {
      backward();
      const int gradients = gradients_of_step();
      program_.update = program_.nodes.size();
      update(gradients);
    }
    return std::move(program_);
  }

 private:
  int add(Tensor tensor) {
    program_.tensors.push_back(std::move(tensor));
    return static_cast<int>(program_.tensors.size()) - 1;
  }
  int external(const std::string& name, Storage storage, Role role, std::int64_t elements,
               std::size_t offset = 0) {
    return add({name, storage, role, elements, offset, false, -1});
  }
  /// A planned tensor of the size and role that operand `index` of `op` has.
  int planned(const std::string& name, Op op, int index, const OpShape& shape, bool kept = false) {
    const ops::Operand& operand = ops::contract(op).operands[static_cast<std::size_t>(index)];
    return add({name, Storage::planned, operand.role, operand.elements(shape), 0, kept, -1});
  }
  /// The same, and it lives as long as the plan.
  int persistent(const std::string& name, Op op, int index, const OpShape& shape) {
    const int tensor = planned(name, op, index, shape);
    program_.tensors[static_cast<std::size_t>(tensor)].persistent = true;
    return tensor;
  }
  /// Element `offset` of the planned tensor `parent`.
  int element(const std::string& name, int parent, int offset) {
    return add({name, Storage::part, Role::scalar, 1, static_cast<std::size_t>(offset), false, parent});
  }
  void node(Op op, const std::string& layer, const OpShape& shape, std::vector<int> tensors) {
    program_.nodes.push_back({op, layer, shape, std::move(tensors), 0, -1});
  }
  int parameter(const std::string& name, Storage storage) {
    const models::Parameter& found = layout_.find(name);
    const bool gradient = storage == Storage::gradients;
    const auto elements = static_cast<std::int64_t>(found.elements);
    if (casts_ && !gradient) {
      return add({name, Storage::part, Role::weight, elements, found.offset, false, working_});
    }
    return external(name + (gradient ? ".gradient" : ""), storage, gradient ? Role::gradient : Role::weight,
                    elements, found.offset);
  }
  OpShape image_shape(int height, int width, int channels) const {
    OpShape shape;
    shape.batch = batch_;
    shape.height = height;
    shape.width = width;
    shape.in_channels = channels;
    shape.out_channels = channels;
    return shape;
  }

  OpShape linear_shape(const models::Layer& layer) const {
    OpShape shape = image_shape(1, 1, layer.in_channels);
    shape.out_channels = layer.out_channels;
    return shape;
  }

  void cast_weights() {
    OpShape shape;
    shape.count = static_cast<std::int64_t>(layout_.elements);
    working_ = planned("weights", Op::weights_cast, kCastOutput, shape);
    node(Op::weights_cast, "", shape,
         {external("parameters", Storage::parameters, Role::parameter, shape.count), working_});
  }

  /// `tensor` in FP32, for those who look at it.
  int shown(int tensor, const OpShape& shape) {
    if (!casts_) {
      program_.tensors[static_cast<std::size_t>(tensor)].kept = true;
      return tensor;
    }
    const std::string name = program_.tensors[static_cast<std::size_t>(tensor)].name;
    const int wide = planned(name + ".shown", Op::images_widen, kCastOutput, shape, true);
    node(Op::images_widen, name, shape, {tensor, wide});
    return wide;
  }

  void forward(bool keep) {
    OpShape shape = image_shape(model_.height, model_.width, model_.channels);
    shape.count = image_count_;
    const int images = external("images", Storage::images, Role::byte, 0);
    const int order = external("order", Storage::order, Role::index, image_count_);
    program_.target = planned("input", Op::batch_gather, 3, shape);
    node(Op::batch_gather, "", shape, {images, order, control_, program_.target});
    if (model_.loss != models::Loss::mse) gather_labels(order);
    int current = program_.target;
    shape.count = 1;
    for (std::size_t i = 0; i < model_.layers.size();) {
      const Block block = blocks_ ? block_at(model_.layers, i) : Block{};
      if (block.convolution != nullptr) {
        current = forward_block(block, current, shape);
        i += block.layers;
      } else {
        current = forward_layer(model_.layers[i++], current, shape);
      }
    }
    program_.prediction = current;
    OpShape record;
    record.count = ring_capacity_;
    metrics_ = persistent("metrics", Op::step_record, ops::step::kRecordMetrics, record);
    program_.loss = element("loss", metrics_, ops::step::kLossMetric);
    model_.loss == models::Loss::mse ? reconstruction_loss(keep) : classification_loss(keep);
  }

  void reconstruction_loss(bool keep) {
    const OpShape output = image_shape(model_.height, model_.width, model_.channels);
    program_.image_errors =
        planned("image_errors", Op::mse_forward, ops::mse::kForwardImageErrors, output, keep);
    node(Op::mse_forward, "", output,
         {program_.prediction, program_.target, program_.image_errors, program_.loss});
    if (!keep) return;
    program_.shown_target = shown(program_.target, output);
    program_.shown_prediction = shown(program_.prediction, output);
  }

  void gather_labels(int order) {
    OpShape gather;
    gather.batch = batch_;
    gather.count = image_count_;
    labels_ = planned("labels", Op::labels_gather, 3, gather);
    node(Op::labels_gather, "", gather,
         {external("all_labels", Storage::labels, Role::byte, 0), order, control_, labels_});
  }

  void classification_loss(bool keep) {
    const OpShape logits = image_shape(1, 1, model_.classes);
    program_.image_errors = planned("image_losses", Op::cross_entropy_forward,
                                    ops::cross_entropy::kForwardImageLosses, logits, keep);
    program_.predicted =
        planned("predicted", Op::cross_entropy_forward, ops::cross_entropy::kForwardPredicted, logits, keep);
    node(Op::cross_entropy_forward, "", logits,
         {program_.prediction, labels_, program_.image_errors, program_.predicted, program_.loss,
          element("accuracy", metrics_, ops::step::kAccuracyMetric)});
  }

  int forward_block(const Block& block, int input, OpShape& shape) {
    const std::string& name = block.convolution->name;
    const bool after_relu = !layers_.empty() && layers_.back().block && layers_.back().shape.relu;
    shape.out_channels = block.convolution->out_channels;
    shape.kernel_height = shape.kernel_width = block.convolution->kernel;
    shape.upsample = block.upsample;
    shape.relu = block.relu;
    shape.pool = block.pool;
    shape.masked = after_relu;
    LayerTensors saved{input, -1, -1, shape, block.convolution, true};
    saved.output = planned(name, Op::block_forward, ops::block::kForwardOutput, shape);
    saved.argmax = planned(name + ".argmax", Op::block_forward, ops::block::kForwardArgmax, shape);
    node(Op::block_forward, name, shape,
         {input, parameter(name + ".weight", Storage::parameters),
          parameter(name + ".bias", Storage::parameters), saved.output, saved.argmax});
    layers_.push_back(saved);
    const int up = block.upsample ? 2 : 1;
    const int down = block.pool ? 2 : 1;
    shape = image_shape(shape.height * up / down, shape.width * up / down, block.convolution->out_channels);
    return saved.output;
  }

  int forward_layer(const models::Layer& layer, int input, OpShape& shape) {
    LayerTensors saved{input, -1, -1, shape, &layer, false};
    switch (layer.kind) {
      case LayerKind::conv2d: {
        shape.out_channels = layer.out_channels;
        shape.kernel_height = shape.kernel_width = layer.kernel;
        saved.shape = shape;
        const int product = planned(layer.name + ".product", Op::conv2d_forward, 2, shape);
        node(Op::conv2d_forward, layer.name, shape,
             {input, parameter(layer.name + ".weight", Storage::parameters), product});
        shape = image_shape(shape.height, shape.width, layer.out_channels);
        saved.output = planned(layer.name, Op::bias_forward, 2, shape);
        node(Op::bias_forward, layer.name, shape,
             {product, parameter(layer.name + ".bias", Storage::parameters), saved.output});
        break;
      }
      case LayerKind::linear: {
        shape = linear_shape(layer);
        saved.shape = shape;
        const int product = planned(layer.name + ".product", Op::linear_forward, 2, shape);
        node(Op::linear_forward, layer.name, shape,
             {input, parameter(layer.name + ".weight", Storage::parameters), product});
        shape = image_shape(1, 1, layer.out_channels);
        saved.output = planned(layer.name, Op::bias_forward, 2, shape);
        node(Op::bias_forward, layer.name, shape,
             {product, parameter(layer.name + ".bias", Storage::parameters), saved.output});
        break;
      }
      case LayerKind::relu:
        saved.output = planned(layer.name, Op::relu_forward, 1, shape);
        node(Op::relu_forward, layer.name, shape, {input, saved.output});
        break;
      case LayerKind::maxpool2d:
        saved.output = planned(layer.name, Op::maxpool2d_forward, 1, shape);
        saved.argmax = planned(layer.name + ".argmax", Op::maxpool2d_forward, 2, shape);
        node(Op::maxpool2d_forward, layer.name, shape, {input, saved.output, saved.argmax});
        shape.height /= 2;
        shape.width /= 2;
        break;
      case LayerKind::upsample2d:
        saved.output = planned(layer.name, Op::upsample2d_forward, 1, shape);
        node(Op::upsample2d_forward, layer.name, shape, {input, saved.output});
        shape.height *= 2;
        shape.width *= 2;
        break;
    }
    layers_.push_back(saved);
    return saved.output;
  }

  int loss_gradient() {
    if (model_.loss == models::Loss::mse) {
      const OpShape output = image_shape(model_.height, model_.width, model_.channels);
      const int gradient =
          planned("prediction.gradient", Op::mse_backward, ops::mse::kBackwardGradient, output);
      node(Op::mse_backward, "", output, {program_.prediction, program_.target, control_, gradient});
      return gradient;
    }
    const OpShape logits = image_shape(1, 1, model_.classes);
    const int gradient = planned("prediction.gradient", Op::cross_entropy_backward,
                                 ops::cross_entropy::kBackwardGradient, logits);
    node(Op::cross_entropy_backward, "", logits, {program_.prediction, labels_, control_, gradient});
    return gradient;
  }

  void backward() {
    int gradient = loss_gradient();
    bool masked = false;  // the gradient is zero already where the ReLU before was not active
    for (std::size_t i = layers_.size(); i-- > 0;) {
      if (layers_[i].block) {
        gradient = backward_block(layers_[i], gradient, masked, i == 0);
        masked = layers_[i].shape.masked;
      } else {
        gradient = backward_layer(*layers_[i].layer, layers_[i], gradient, i == 0);
        masked = false;
      }
    }
  }

  int backward_block(const LayerTensors& saved, int gradient, bool masked, bool first) {
    const std::string& name = saved.layer->name;
    if (saved.shape.relu && !masked) {
      const OpShape& s = saved.shape;
      const int up = s.upsample ? 2 : 1;
      const int down = s.pool ? 2 : 1;
      const OpShape output = image_shape(s.height * up / down, s.width * up / down, s.out_channels);
      const int unmasked = gradient;
      gradient = planned(name + ".output_gradient", Op::relu_backward, 2, output);
      node(Op::relu_backward, name, output, {saved.output, unmasked, gradient});
    }
    node(Op::block_backward_weights, name, saved.shape,
         {saved.input, gradient, saved.argmax, parameter(name + ".weight", Storage::gradients),
          parameter(name + ".bias", Storage::gradients)});
    if (first) return -1;  // nobody needs the gradient of the images
    const int result = planned(name + ".input_gradient", Op::block_backward_input,
                               ops::block::kInputInputGradient, saved.shape);
    node(Op::block_backward_input, name, saved.shape,
         {gradient, saved.argmax, parameter(name + ".weight", Storage::parameters), saved.input, result});
    return result;
  }

  int backward_layer(const models::Layer& layer, const LayerTensors& saved, int gradient, bool first) {
    const std::string name = layer.name + ".input_gradient";
    int result = -1;
    switch (layer.kind) {
      case LayerKind::conv2d:
        node(Op::conv2d_backward_weights, layer.name, saved.shape,
             {saved.input, gradient, parameter(layer.name + ".weight", Storage::gradients)});
        node(Op::conv2d_backward_bias, layer.name, saved.shape,
             {gradient, parameter(layer.name + ".bias", Storage::gradients)});
        if (first) return -1;  // nobody needs the gradient of the images
        result = planned(name, Op::conv2d_backward_input, 2, saved.shape);
        node(Op::conv2d_backward_input, layer.name, saved.shape,
             {gradient, parameter(layer.name + ".weight", Storage::parameters), result});
        break;
      case LayerKind::linear:
        node(Op::linear_backward_weights, layer.name, saved.shape,
             {saved.input, gradient, parameter(layer.name + ".weight", Storage::gradients)});
        node(Op::linear_backward_bias, layer.name, saved.shape,
             {gradient, parameter(layer.name + ".bias", Storage::gradients)});
        if (first) return -1;
        result = planned(name, Op::linear_backward_input, 2, saved.shape);
        node(Op::linear_backward_input, layer.name, saved.shape,
             {gradient, parameter(layer.name + ".weight", Storage::parameters), result});
        break;
      case LayerKind::relu:
        result = planned(name, Op::relu_backward, 2, saved.shape);
        node(Op::relu_backward, layer.name, saved.shape, {saved.output, gradient, result});
        break;
      case LayerKind::maxpool2d:
        result = planned(name, Op::maxpool2d_backward, 2, saved.shape);
        node(Op::maxpool2d_backward, layer.name, saved.shape, {gradient, saved.argmax, result});
        break;
      case LayerKind::upsample2d:
        result = planned(name, Op::upsample2d_backward, 1, saved.shape);
        node(Op::upsample2d_backward, layer.name, saved.shape, {gradient, result});
        break;
    }
    return result;
  }

  /// What the update reads: the gradient buffer, or what several micro-batches left.
  int gradients_of_step() {
    OpShape shape;
    shape.count = static_cast<std::int64_t>(layout_.elements);
    const int gradients = external("gradients", Storage::gradients, Role::gradient, shape.count);
    if (recipe_.micro_batches == 1 && !recipe_.per_sample) return gradients;
    int result = -1;
    if (recipe_.per_sample) {
      shape.batch = recipe_.micro_batches;
      result = persistent("gradients.kept", Op::gradients_keep, 2, shape);
      node(Op::gradients_keep, "", shape, {gradients, control_, result});
    } else {
      result = persistent("gradients.sums", Op::gradients_accumulate, 2, shape);
      node(Op::gradients_accumulate, "", shape, {gradients, control_, result});
    }
    OpShape record;
    record.batch = batch_;
    const int sums = persistent("metrics.sums", Op::micro_batch_record, ops::step::kMicroBatchSums, record);
    node(Op::micro_batch_record, "", record, {metrics_, control_, sums});
    metrics_ = sums;
    return result;
  }

  void update(int gradients) {
    OpShape shape;
    shape.count = static_cast<std::int64_t>(layout_.elements);
    shape.rule = recipe_.rule;
    const int parameters = external("parameters", Storage::parameters, Role::parameter, shape.count);
    const int states = ops::states_of(recipe_.rule);
    const int first =
        external("first_state", Storage::first_state, Role::parameter, states >= 1 ? shape.count : 0);
    const int second =
        external("second_state", Storage::second_state, Role::parameter, states >= 2 ? shape.count : 0);
    OpShape record;
    record.count = ring_capacity_;
    record.batch = recipe_.micro_batches == 1 && !recipe_.per_sample ? batch_ : 0;
    const int statistics = persistent("statistics", Op::step_record, ops::step::kRecordStatistics, record);
    if (recipe_.per_sample) {
      shape.batch = recipe_.micro_batches;
      node(Op::optimizer_update_per_sample, "", shape, {gradients, control_, parameters, first, second});
    } else {
      const int parts = persistent("gradients.norm", Op::gradients_norm, 2, shape);
      if (recipe_.clip_norm || precision_ == core::Precision::fp16) {
        OpShape norm;
        norm.count = shape.count;
        node(Op::gradients_norm, "", norm, {gradients, control_, parts});
      }
      node(Op::optimizer_update, "", shape,
           {gradients, control_, parts, metrics_, parameters, first, second, statistics});
    }
    node(Op::step_record, "", record,
         {metrics_, statistics, control_, external("ring", Storage::ring, Role::control, ring_capacity_)});
  }

  const models::Model& model_;
  const Recipe& recipe_;
  models::ParameterLayout layout_;
  int batch_;
  std::int64_t image_count_;
  std::int64_t ring_capacity_;
  core::Precision precision_;
  bool blocks_;
  bool casts_;  ///< the working weights are not the master weights
  int control_ = -1;
  int working_ = -1;
  int metrics_ = -1;
  int labels_ = -1;
  std::vector<LayerTensors> layers_;
  Program program_;
};

}  // namespace

Program lower(const models::Model& model, Purpose purpose, int batch, std::int64_t image_count,
              std::int64_t ring_capacity, core::Precision precision, const Recipe& recipe, bool blocks) {
  return Lowering(model, batch, image_count, ring_capacity, precision, recipe, blocks).run(purpose);
}

namespace {

/// Operand positions that absorbing joins: the contract's order of the ops in question.
constexpr std::size_t kProductOutput = 2;       // conv2d.forward, linear.forward
constexpr std::size_t kElementwiseInput = 0;    // bias.forward, relu.forward
constexpr std::size_t kOutputGradient = 1;      // backward_weights
constexpr std::size_t kBiasOutputGradient = 0;  // backward_bias
constexpr std::size_t kBiasGradient = 1;
constexpr std::size_t kInputWeights = 1;  // linear.backward_input
constexpr std::size_t kInputGradient = 2;
constexpr std::size_t kGatherFrom = 0;  // batch.gather, labels.gather
constexpr std::size_t kGatherOrder = 1;
constexpr std::size_t kGatherTo = 3;
constexpr std::size_t kLogits = 0;  // cross_entropy
constexpr std::size_t kLabels = 1;
constexpr std::size_t kReluOutput = 0;  // relu.backward
constexpr std::size_t kReluOutputGradient = 1;
constexpr std::size_t kReluInputGradient = 2;

/// Adds to `node` a tensor that an absorbed op writes.
void write_too(Node& node, int tensor) {
  node.tensors.push_back(tensor);
  node.written_too.push_back(tensor);
}

/// Moves `next` into `node` and says true, if their tensors fit together.
bool take(Node& node, const Node& next) {
  switch (next.op) {
    case Op::bias_forward:
    case Op::relu_forward:
      if (next.tensors[kElementwiseInput] != node.tensors[kProductOutput]) return false;
      node.tensors[kProductOutput] = next.tensors.back();
      if (next.op == Op::bias_forward) node.tensors.push_back(next.tensors[1]);
      return true;
    case Op::conv2d_backward_bias:
    case Op::linear_backward_bias:
      if (next.tensors[kBiasOutputGradient] != node.tensors[kOutputGradient]) return false;
      write_too(node, next.tensors[kBiasGradient]);
      return true;
    case Op::linear_backward_input:
      if (next.tensors[kBiasOutputGradient] != node.tensors[kOutputGradient]) return false;
      node.tensors.push_back(next.tensors[kInputWeights]);
      write_too(node, next.tensors[kInputGradient]);
      return true;
    case Op::relu_backward: {
      // What it goes on with is the last that the node writes.
      if (node.written_too.empty() || next.tensors[kReluOutputGradient] != node.written_too.back())
        return false;
      node.tensors.back() = node.written_too.back() = next.tensors[kReluInputGradient];
      node.tensors.push_back(next.tensors[kReluOutput]);
      return true;
    }
    case Op::labels_gather:
      if (next.tensors[kGatherOrder] != node.tensors[kGatherOrder]) return false;
      node.tensors.push_back(next.tensors[kGatherFrom]);
      write_too(node, next.tensors[kGatherTo]);
      return true;
    case Op::cross_entropy_backward:
      if (next.tensors[kLogits] != node.tensors[kLogits] || next.tensors[kLabels] != node.tensors[kLabels]) {
        return false;
      }
      node.tensors.push_back(next.tensors[ops::cross_entropy::kBackwardControl]);
      write_too(node, next.tensors[ops::cross_entropy::kBackwardGradient]);
      return true;
    default:
      return false;
  }
}

}  // namespace

void absorb(Program& program, const std::vector<const ops::Variant*>& variants) {
  for (std::size_t n = 0; n < program.nodes.size(); ++n) {
    const ops::Variant* variant = variants[n];
    if (variant == nullptr || program.nodes[n].absorbed_by >= 0) continue;
    for (std::size_t k = 0; k < variant->fuses.size() && n + 1 + k < program.nodes.size(); ++k) {
      Node& next = program.nodes[n + 1 + k];
      const ops::Variant* other = variants[n + 1 + k];
      const bool asked = other != nullptr && other->launch == nullptr;
      if (next.op != variant->fuses[k] || (variant->fuses_on_request && !asked)) break;
      if (!take(program.nodes[n], next)) break;
      next.tensors.clear();
      next.absorbed_by = static_cast<int>(n);
      ++program.nodes[n].absorbed;
    }
  }
}

}  // namespace warpscope::plan
