#include "gpu/plan/program.h"

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/models/latent.h"
#include "gpu/ops/step/step.h"

namespace warpscope::plan {
namespace {

using models::LayerKind;
using ops::Name;
using ops::Op;
using ops::OpShape;
using ops::Role;

/// What backward needs to know of a layer's forward.
struct LayerTensors {
  int input = -1;
  int output = -1;
  int argmax = -1;
  OpShape shape;
  const models::Layer* layer = nullptr;
};

class Lowering {
 public:
  Lowering(const models::Model& model, int batch, std::int64_t image_count, std::int64_t ring_capacity,
           core::Precision precision, const Recipe& recipe)
      : model_(model),
        recipe_(recipe),
        layout_(models::parameter_layout(model)),
        batch_(batch),
        image_count_(image_count),
        ring_capacity_(ring_capacity),
        precision_(precision),
        casts_(ops::element_type(Role::weight, precision) != ops::element_type(Role::parameter, precision)) {}

  Program run(Purpose purpose) {
    control_ = external("control", Storage::control, Role::control, 1);
    if (casts_) cast_weights();
    program_.outputs.assign(model_.layers.size(), -1);
    if (purpose == Purpose::encoding) encode();
    if (purpose == Purpose::decoding) decode();
    if (purpose == Purpose::encoding || purpose == Purpose::decoding) return std::move(program_);
    forward(purpose != Purpose::training);
    if (purpose == Purpose::inspection) keep_outputs();
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
  /// A planned tensor of the size and role that the operand `which` of `op` has.
  int planned(const std::string& name, Op op, Name which, const OpShape& shape, bool kept = false) {
    const ops::Operand& operand = ops::operand_of(op, which);
    return add({name, Storage::planned, operand.role, operand.elements(shape), 0, kept, -1});
  }
  /// The same, and it lives as long as the plan.
  int persistent(const std::string& name, Op op, Name which, const OpShape& shape) {
    const int tensor = planned(name, op, which, shape);
    program_.tensors[static_cast<std::size_t>(tensor)].persistent = true;
    return tensor;
  }
  /// Element `offset` of the planned tensor `parent`.
  int element(const std::string& name, int parent, int offset) {
    return add({name, Storage::part, Role::scalar, 1, static_cast<std::size_t>(offset), false, parent});
  }
  void node(Op op, const std::string& layer, const OpShape& shape, std::vector<int> tensors) {
    program_.nodes.push_back({op, layer, shape, std::move(tensors)});
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
    working_ = planned("weights", Op::weights_cast, Name::weights, shape);
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
    const int wide = planned(name + ".shown", Op::images_widen, Name::output, shape, true);
    node(Op::images_widen, name, shape, {tensor, wide});
    return wide;
  }

  /// Images become the batch's input; returns the tensor of the order.
  int gather_images() {
    OpShape shape = image_shape(model_.height, model_.width, model_.channels);
    shape.count = image_count_;
    const int images = external("images", Storage::images, Role::byte, 0);
    const int order = external("order", Storage::order, Role::index, image_count_);
    program_.target = planned("input", Op::batch_gather, Name::output, shape);
    node(Op::batch_gather, "", shape, {images, order, control_, program_.target});
    return order;
  }

  /// Layers [first, end), from the tensor `current` of that size; returns the output of the last.
  int forward_layers(std::size_t first, std::size_t end, int current, OpShape shape) {
    for (std::size_t i = first; i < end; ++i) {
      current = forward_layer(model_.layers[i], current, shape);
      program_.outputs[i] = current;
    }
    return current;
  }

  void encode() {
    gather_images();
    const OpShape shape = image_shape(model_.height, model_.width, model_.channels);
    const int last = forward_layers(0, model_.layers.size(), program_.target, shape);
    program_.tensors[static_cast<std::size_t>(last)].kept = true;
  }

  void decode() {
    const models::Latent latent = models::latent_of(model_);
    if (!latent.decodes) {
      throw core::BadInput(
          fmt::format("model {} has no decoder: no layers make a picture of {}", model_.name, latent.layer));
    }
    const models::Extent& extent = latent.extent;
    const int latents = external("latents", Storage::latents, Role::activation,
                                 batch_ * static_cast<std::int64_t>(latent.elements()));
    program_.prediction = forward_layers(latent.end, model_.layers.size(), latents,
                                         image_shape(extent.height, extent.width, extent.channels));
    program_.shown_prediction =
        shown(program_.prediction, image_shape(model_.height, model_.width, model_.channels));
  }

  void forward(bool keep) {
    const int order = gather_images();
    if (model_.loss != models::Loss::mse || has_head()) gather_labels(order);
    program_.prediction = forward_layers(0, model_.layers.size(), program_.target,
                                         image_shape(model_.height, model_.width, model_.channels));
    OpShape record;
    record.count = ring_capacity_;
    metrics_ = persistent("metrics", Op::step_record, Name::metrics, record);
    program_.loss = element("loss", metrics_, ops::step::kLossMetric);
    model_.loss == models::Loss::mse ? reconstruction_loss(keep) : classification_loss(keep);
    if (has_head()) head_forward(keep);
  }

  bool has_head() const { return model_.head_classes > 0; }

  OpShape head_shape() const {
    OpShape shape = image_shape(1, 1, static_cast<int>(models::latent_of(model_).elements()));
    shape.out_channels = model_.head_classes;
    return shape;
  }

  /// The head on the latents, and its loss.
  void head_forward(bool keep) {
    const std::string name = models::kHead;
    const int latent = program_.outputs[models::latent_of(model_).end - 1];
    const OpShape shape = head_shape();
    const OpShape logits = image_shape(1, 1, model_.head_classes);
    const int product = planned(name + ".product", Op::linear_forward, Name::output, shape);
    node(Op::linear_forward, name, shape,
         {latent, parameter(name + ".weight", Storage::parameters), product});
    logits_ = planned(name, Op::bias_forward, Name::output, logits);
    node(Op::bias_forward, name, logits, {product, parameter(name + ".bias", Storage::parameters), logits_});
    program_.head_losses =
        planned(name + ".image_losses", Op::cross_entropy_forward, Name::sample_losses, logits, keep);
    program_.predicted = planned("predicted", Op::cross_entropy_forward, Name::predicted, logits, keep);
    head_loss_ = element(name + ".loss", metrics_, ops::step::kHeadLossMetric);
    node(Op::cross_entropy_forward, name, logits,
         {logits_, labels_, program_.head_losses, program_.predicted, head_loss_,
          element("accuracy", metrics_, ops::step::kAccuracyMetric)});
  }

  /// The gradient of the latents, of which the layers behind them give `gradient`: the head's comes to it.
  int head_backward(int gradient) {
    const std::string name = models::kHead;
    const models::Latent latent = models::latent_of(model_);
    const OpShape shape = head_shape();
    const OpShape logits = image_shape(1, 1, model_.head_classes);
    const int bare = planned(name + ".bare_gradient", Op::cross_entropy_backward, Name::gradient, logits);
    node(Op::cross_entropy_backward, name, logits, {logits_, labels_, control_, bare});
    const int weighed = planned(name + ".gradient", Op::joint_weigh, Name::gradient, logits);
    node(Op::joint_weigh, name, logits, {bare, control_, head_loss_, program_.loss, weighed});
    node(Op::linear_backward_weights, name, shape,
         {program_.outputs[latent.end - 1], weighed, parameter(name + ".weight", Storage::gradients)});
    node(Op::linear_backward_bias, name, shape, {weighed, parameter(name + ".bias", Storage::gradients)});
    const int passed =
        planned(name + ".input_gradient", Op::linear_backward_input, Name::input_gradient, shape);
    node(Op::linear_backward_input, name, shape,
         {weighed, parameter(name + ".weight", Storage::parameters), passed});
    const OpShape image = image_shape(latent.extent.height, latent.extent.width, latent.extent.channels);
    const int sum = planned(latent.layer + ".output_gradient", Op::add_forward, Name::output, image);
    node(Op::add_forward, name, image, {gradient, passed, sum});
    return sum;
  }

  void reconstruction_loss(bool keep) {
    const OpShape output = image_shape(model_.height, model_.width, model_.channels);
    program_.image_errors = planned("image_errors", Op::mse_forward, Name::sample_losses, output, keep);
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
    labels_ = planned("labels", Op::labels_gather, Name::labels, gather);
    node(Op::labels_gather, "", gather,
         {external("all_labels", Storage::labels, Role::byte, 0), order, control_, labels_});
  }

  void classification_loss(bool keep) {
    const OpShape logits = image_shape(1, 1, model_.classes);
    program_.image_errors =
        planned("image_losses", Op::cross_entropy_forward, Name::sample_losses, logits, keep);
    program_.predicted = planned("predicted", Op::cross_entropy_forward, Name::predicted, logits, keep);
    node(Op::cross_entropy_forward, "", logits,
         {program_.prediction, labels_, program_.image_errors, program_.predicted, program_.loss,
          element("accuracy", metrics_, ops::step::kAccuracyMetric)});
  }

  int forward_layer(const models::Layer& layer, int input, OpShape& shape) {
    LayerTensors saved{input, -1, -1, shape, &layer};
    switch (layer.kind) {
      case LayerKind::conv2d: {
        shape.out_channels = layer.out_channels;
        shape.kernel_height = shape.kernel_width = layer.kernel;
        saved.shape = shape;
        const int product = planned(layer.name + ".product", Op::conv2d_forward, Name::output, shape);
        node(Op::conv2d_forward, layer.name, shape,
             {input, parameter(layer.name + ".weight", Storage::parameters), product});
        shape = image_shape(shape.height, shape.width, layer.out_channels);
        saved.output = planned(layer.name, Op::bias_forward, Name::output, shape);
        node(Op::bias_forward, layer.name, shape,
             {product, parameter(layer.name + ".bias", Storage::parameters), saved.output});
        break;
      }
      case LayerKind::linear: {
        shape = linear_shape(layer);
        saved.shape = shape;
        const int product = planned(layer.name + ".product", Op::linear_forward, Name::output, shape);
        node(Op::linear_forward, layer.name, shape,
             {input, parameter(layer.name + ".weight", Storage::parameters), product});
        shape = image_shape(1, 1, layer.out_channels);
        saved.output = planned(layer.name, Op::bias_forward, Name::output, shape);
        node(Op::bias_forward, layer.name, shape,
             {product, parameter(layer.name + ".bias", Storage::parameters), saved.output});
        break;
      }
      case LayerKind::relu:
        saved.output = planned(layer.name, Op::relu_forward, Name::output, shape);
        node(Op::relu_forward, layer.name, shape, {input, saved.output});
        break;
      case LayerKind::maxpool2d:
        shape.kernel_height = shape.kernel_width = 2;
        saved.shape = shape;
        saved.output = planned(layer.name, Op::maxpool2d_forward, Name::output, shape);
        saved.argmax = planned(layer.name + ".argmax", Op::maxpool2d_forward, Name::argmax, shape);
        node(Op::maxpool2d_forward, layer.name, shape, {input, saved.output, saved.argmax});
        shape = image_shape(shape.height / shape.kernel_height, shape.width / shape.kernel_width,
                            shape.in_channels);
        break;
      case LayerKind::upsample2d:
        saved.output = planned(layer.name, Op::upsample2d_forward, Name::output, shape);
        node(Op::upsample2d_forward, layer.name, shape, {input, saved.output});
        shape.height *= 2;
        shape.width *= 2;
        break;
    }
    layers_.push_back(saved);
    return saved.output;
  }

  void keep_outputs() {
    program_.tensors[static_cast<std::size_t>(program_.target)].kept = true;
    for (const int output : program_.outputs) program_.tensors[static_cast<std::size_t>(output)].kept = true;
  }

  int loss_gradient() {
    if (model_.loss == models::Loss::mse) {
      const OpShape output = image_shape(model_.height, model_.width, model_.channels);
      const int gradient = planned("prediction.gradient", Op::mse_backward, Name::gradient, output);
      node(Op::mse_backward, "", output, {program_.prediction, program_.target, control_, gradient});
      return gradient;
    }
    const OpShape logits = image_shape(1, 1, model_.classes);
    const int gradient = planned("prediction.gradient", Op::cross_entropy_backward, Name::gradient, logits);
    node(Op::cross_entropy_backward, "", logits, {program_.prediction, labels_, control_, gradient});
    return gradient;
  }

  void backward() {
    int gradient = loss_gradient();
    const std::size_t joined = has_head() ? models::latent_of(model_).end : 0;
    for (std::size_t i = layers_.size(); i-- > 0;) {
      const LayerTensors& saved = layers_[i];
      if (i + 1 == joined) gradient = head_backward(gradient);
      const bool pools_a_relu =
          saved.layer->kind == LayerKind::maxpool2d && i > 0 && layers_[i - 1].layer->kind == LayerKind::relu;
      if (pools_a_relu) {
        gradient = mask_pooled(saved, layers_[i - 1].layer->name, gradient);
        gradient = backward_layer(*saved.layer, saved, gradient, false);
        --i;
      } else {
        gradient = backward_layer(*saved.layer, saved, gradient, i == 0);
      }
    }
  }

  /// The ReLU before a pooling takes its gradient's zeros from the pooled output: what a window passes on is
  /// its largest, so the result is the same as of the whole image, from a part of it.
  int mask_pooled(const LayerTensors& pool, const std::string& relu, int gradient) {
    const OpShape& s = pool.shape;
    const OpShape pooled = image_shape(s.height / s.kernel_height, s.width / s.kernel_width, s.in_channels);
    const int result = planned(relu + ".output_gradient", Op::relu_backward, Name::input_gradient, pooled);
    node(Op::relu_backward, relu, pooled, {pool.output, gradient, result});
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
        result = planned(name, Op::conv2d_backward_input, Name::input_gradient, saved.shape);
        node(Op::conv2d_backward_input, layer.name, saved.shape,
             {gradient, parameter(layer.name + ".weight", Storage::parameters), result});
        break;
      case LayerKind::linear:
        node(Op::linear_backward_weights, layer.name, saved.shape,
             {saved.input, gradient, parameter(layer.name + ".weight", Storage::gradients)});
        node(Op::linear_backward_bias, layer.name, saved.shape,
             {gradient, parameter(layer.name + ".bias", Storage::gradients)});
        if (first) return -1;
        result = planned(name, Op::linear_backward_input, Name::input_gradient, saved.shape);
        node(Op::linear_backward_input, layer.name, saved.shape,
             {gradient, parameter(layer.name + ".weight", Storage::parameters), result});
        break;
      case LayerKind::relu:
        result = planned(name, Op::relu_backward, Name::input_gradient, saved.shape);
        node(Op::relu_backward, layer.name, saved.shape, {saved.output, gradient, result});
        break;
      case LayerKind::maxpool2d:
        result = planned(name, Op::maxpool2d_backward, Name::input_gradient, saved.shape);
        node(Op::maxpool2d_backward, layer.name, saved.shape, {gradient, saved.argmax, result});
        break;
      case LayerKind::upsample2d:
        result = planned(name, Op::upsample2d_backward, Name::input_gradient, saved.shape);
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
      result = persistent("gradients.kept", Op::gradients_keep, Name::kept, shape);
      node(Op::gradients_keep, "", shape, {gradients, control_, result});
    } else {
      result = persistent("gradients.sums", Op::gradients_accumulate, Name::sums, shape);
      node(Op::gradients_accumulate, "", shape, {gradients, control_, result});
    }
    OpShape record;
    record.batch = batch_;
    const int sums = persistent("metrics.sums", Op::micro_batch_record, Name::sums, record);
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
    const int statistics = persistent("statistics", Op::step_record, Name::statistics, record);
    if (recipe_.per_sample) {
      shape.batch = recipe_.micro_batches;
      node(Op::optimizer_update_per_sample, "", shape, {gradients, control_, parameters, first, second});
    } else {
      const int parts = persistent("gradients.norm", Op::gradients_norm, Name::norm_parts, shape);
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
  bool casts_;  ///< the working weights are not the master weights
  int control_ = -1;
  int working_ = -1;
  int metrics_ = -1;
  int labels_ = -1;
  int logits_ = -1;     ///< the head's
  int head_loss_ = -1;  ///< its mean over the batch
  std::vector<LayerTensors> layers_;
  Program program_;
};

}  // namespace

Program lower(const models::Model& model, Purpose purpose, int batch, std::int64_t image_count,
              std::int64_t ring_capacity, core::Precision precision, const Recipe& recipe) {
  return Lowering(model, batch, image_count, ring_capacity, precision, recipe).run(purpose);
}

}  // namespace warpscope::plan
