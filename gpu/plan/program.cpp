#include "gpu/plan/program.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/models/latent.h"
#include "gpu/ops/step/step.h"
#include "gpu/plan/program_builder.h"

namespace warpscope::plan {
namespace {

using models::LayerKind;
using ops::Name;
using ops::Op;
using ops::OpShape;
using ops::Role;

class Lowering {
 public:
  Lowering(const models::Model& model, int batch, std::int64_t image_count, std::int64_t ring_capacity,
           core::Precision precision, const Recipe& recipe)
      : model_(model),
        recipe_(recipe),
        to_(model, batch, precision),
        batch_(batch),
        image_count_(image_count),
        ring_capacity_(ring_capacity),
        precision_(precision),
        others_(model.layers.size()) {}

  Program run(Purpose purpose) {
    training_ = purpose == Purpose::training;
    if (purpose == Purpose::encoding) encode();
    if (purpose == Purpose::decoding) decode();
    if (purpose == Purpose::attribution) attribute();
    if (purpose != Purpose::training && purpose != Purpose::inference && purpose != Purpose::inspection) {
      return std::move(program_);
    }
    if (training_ && shares_running()) begin_running();
    forward(purpose != Purpose::training);
    if (purpose == Purpose::inspection) keep_outputs();
    if (purpose == Purpose::training) {
      backward();
      const int gradients = gradients_of_step();
      program_.update = program_.nodes.size();
      if (recipe_.several_ranks) add_over_ranks(gradients);
      if (shares_running()) {
        const OpShape shape = running_shape();
        to_.node(Op::running_end, "", shape, {{Name::sums, running_}, {Name::running, running()}});
      }
      update(gradients);
    }
    return std::move(program_);
  }

 private:
  models::Extent input_extent() const { return {model_.height, model_.width, model_.channels}; }

  /// `tensor` in FP32, for those who look at it.
  int shown(int tensor, const OpShape& shape) {
    if (!to_.casts()) {
      to_.tensor(tensor).kept = true;
      return tensor;
    }
    const std::string name = to_.tensor(tensor).name;
    const int wide = to_.planned(name + ".shown", Op::images_widen, Name::output, shape, true);
    to_.node(Op::images_widen, name, shape, {{Name::input, tensor}, {Name::output, wide}});
    return wide;
  }

  /// Images become the batch's input; returns the tensor of the order.
  int gather_images() {
    OpShape shape = to_.image_shape(input_extent());
    shape.count = image_count_;
    const int images = to_.external("images", Storage::images, Role::byte, 0);
    const int order = to_.external("order", Storage::order, Role::index, image_count_);
    const Op op = recipe_.views || (training_ && recipe_.augment) ? Op::batch_augment : Op::batch_gather;
    program_.target = to_.planned("input", op, Name::output, shape);
    to_.node(op, "", shape,
             {{Name::images, images},
              {Name::order, order},
              {Name::control, to_.control()},
              {Name::output, program_.target}});
    return order;
  }

  /// Layers [first, end), from the tensor `current` of that size; returns the output of the last.
  int forward_layers(std::size_t first, std::size_t end, int current, models::Extent extent) {
    for (std::size_t i = first; i < end; ++i) {
      const models::Layer& layer = model_.layers[i];
      LayerTensors tensors{.layer = &layer,
                           .number = i,
                           .training = training_,
                           .recipe = &recipe_,
                           .input = current,
                           .extent = extent};
      if (!layer.from.empty()) tensors.addend = program_.outputs[models::index_of(model_, layer.from)];
      forward_layer(to_, tensors);
      layers_.push_back(tensors);
      program_.outputs[i] = current = tensors.output;
      extent.pass(layer);
    }
    return current;
  }

  void encode() {
    gather_images();
    const int last = forward_layers(0, model_.layers.size(), program_.target, input_extent());
    to_.tensor(last).kept = true;
  }

  void decode() {
    const models::Latent latent = models::latent_of(model_);
    if (!latent.decodes) {
      throw core::BadInput(
          fmt::format("model {} has no decoder: no layers make a picture of {}", model_.name, latent.layer));
    }
    const int latents = to_.external("latents", Storage::latents, Role::activation,
                                     batch_ * static_cast<std::int64_t>(latent.elements()));
    program_.prediction = forward_layers(latent.end, model_.layers.size(), latents, latent.extent);
    program_.shown_prediction = shown(program_.prediction, to_.image_shape(input_extent()));
  }

  /// The prediction chooses the row that the gradient of the scores begins with, as an embedding chooses one.
  int score_gradient(int order) {
    OpShape byte = to_.image_shape(1, 1, 1);
    byte.count = image_count_;
    const int code = to_.planned("predicted.code", Op::batch_gather, Name::output, byte);
    to_.node(Op::batch_gather, "", byte,
             {{Name::images, program_.predicted},
              {Name::order, order},
              {Name::control, to_.control()},
              {Name::output, code}});
    OpShape rows = to_.image_shape(1, 1, 1);
    rows.out_channels = model_.classes;
    rows.count = model_.classes;
    const int table = to_.external("score_rows", Storage::score_rows, Role::weight,
                                   static_cast<std::int64_t>(model_.classes) * model_.classes);
    const int gradient = to_.planned("prediction.gradient", Op::embedding_forward, Name::output, rows);
    to_.node(Op::embedding_forward, "", rows,
             {{Name::input, code}, {Name::weights, table}, {Name::output, gradient}});
    return gradient;
  }

  void attribute() {
    if (model_.loss != models::Loss::cross_entropy) {
      throw core::BadInput(
          fmt::format("model {} tells no classes apart: there is no score to go back from", model_.name));
    }
    const int order = gather_images();
    labels_ = to_.external("labels", Storage::labels, Role::byte, batch_);
    program_.prediction = forward_layers(0, model_.layers.size(), program_.target, input_extent());
    to_.tensor(program_.prediction).kept = true;
    metrics_ = to_.persistent("metrics", Op::step_record, Name::metrics, OpShape{});
    program_.loss = to_.element("loss", metrics_, ops::step::kLossMetric);
    classification_loss(true);
    const models::Layer& reader = model_.layers.front();
    const std::size_t first = reader.reads_symbols() ? 1 : 0;
    if (reader.kind == LayerKind::embedding) to_.tensor(program_.outputs.front()).kept = true;
    int gradient = layers_backward(score_gradient(order), first, true);
    if (first > 0) gradient = with_others(0, gradient);
    to_.tensor(gradient).kept = true;
    program_.input_gradient = gradient;
  }

  void forward(bool keep) {
    const int order = gather_images();
    if (model_.loss != models::Loss::mse || has_head()) gather_labels(order);
    program_.prediction = forward_layers(0, model_.layers.size(), program_.target, input_extent());
    OpShape record;
    record.count = ring_capacity_;
    metrics_ = to_.persistent("metrics", Op::step_record, Name::metrics, record);
    program_.loss = to_.element("loss", metrics_, ops::step::kLossMetric);
    model_.loss == models::Loss::mse ? reconstruction_loss(keep) : classification_loss(keep);
    if (has_head()) head_forward(keep);
  }

  bool has_head() const { return model_.head_classes > 0; }

  OpShape head_shape() const {
    return to_.linear_shape(static_cast<int>(models::latent_of(model_).elements()), model_.head_classes);
  }

  /// The head on the latents, and its loss.
  void head_forward(bool keep) {
    const std::string name = models::kHead;
    const int latent = program_.outputs[models::latent_of(model_).end - 1];
    const OpShape shape = head_shape();
    const OpShape logits = to_.image_shape(1, 1, model_.head_classes);
    const int product = to_.planned(name + ".product", Op::linear_forward, Name::output, shape);
    to_.node(
        Op::linear_forward, name, shape,
        {{Name::input, latent}, {Name::weights, to_.weights(name + ".weight")}, {Name::output, product}});
    logits_ = to_.planned(name, Op::bias_forward, Name::output, logits);
    to_.node(Op::bias_forward, name, logits,
             {{Name::input, product}, {Name::bias, to_.weights(name + ".bias")}, {Name::output, logits_}});
    head_loss_ = to_.element(name + ".loss", metrics_, ops::step::kHeadLossMetric);
    program_.head_losses = cross_entropy(name, name + ".image_losses", logits_, head_loss_, logits, keep);
  }

  /// The gradient of the latents, of which the layers behind them give `gradient`: the head's comes to it.
  int head_backward(int gradient) {
    const std::string name = models::kHead;
    const models::Latent latent = models::latent_of(model_);
    const OpShape shape = head_shape();
    const OpShape logits = to_.image_shape(1, 1, model_.head_classes);
    const int bare = cross_entropy_gradient(name, name + ".bare_gradient", logits_, logits);
    const int weighed = to_.planned(name + ".gradient", Op::joint_weigh, Name::gradient, logits);
    to_.node(Op::joint_weigh, name, logits,
             {{Name::output_gradient, bare},
              {Name::control, to_.control()},
              {Name::head_loss, head_loss_},
              {Name::loss, program_.loss},
              {Name::gradient, weighed}});
    to_.node(Op::linear_backward_weights, name, shape,
             {{Name::input, program_.outputs[latent.end - 1]},
              {Name::output_gradient, weighed},
              {Name::weights_gradient, to_.gradient(name + ".weight")}});
    to_.node(Op::linear_backward_bias, name, shape,
             {{Name::output_gradient, weighed}, {Name::bias_gradient, to_.gradient(name + ".bias")}});
    const int passed =
        to_.planned(name + ".input_gradient", Op::linear_backward_input, Name::input_gradient, shape);
    to_.node(Op::linear_backward_input, name, shape,
             {{Name::output_gradient, weighed},
              {Name::weights, to_.weights(name + ".weight")},
              {Name::input_gradient, passed}});
    const OpShape image = to_.image_shape(latent.extent);
    const int sum = to_.planned(latent.layer + ".output_gradient", Op::add_forward, Name::output, image);
    to_.node(Op::add_forward, name, image,
             {{Name::input, gradient}, {Name::addend, passed}, {Name::output, sum}});
    return sum;
  }

  void reconstruction_loss(bool keep) {
    const OpShape output = to_.image_shape(input_extent());
    program_.image_errors = to_.planned("image_errors", Op::mse_forward, Name::sample_losses, output, keep);
    to_.node(Op::mse_forward, "", output,
             {{Name::prediction, program_.prediction},
              {Name::target, program_.target},
              {Name::sample_losses, program_.image_errors},
              {Name::loss, program_.loss}});
    if (!keep) return;
    program_.shown_target = shown(program_.target, output);
    program_.shown_prediction = shown(program_.prediction, output);
  }

  void gather_labels(int order) {
    OpShape gather;
    gather.batch = batch_;
    gather.count = image_count_;
    labels_ = to_.planned("labels", Op::labels_gather, Name::labels, gather);
    to_.node(Op::labels_gather, "", gather,
             {{Name::all_labels, to_.external("all_labels", Storage::labels, Role::byte, 0)},
              {Name::order, order},
              {Name::control, to_.control()},
              {Name::labels, labels_}});
  }

  bool mixes() const { return training_ && recipe_.mixup; }

  /// The loss, classes and accuracy of `logits`; returns the tensor `losses`, the loss of each image.
  int cross_entropy(const std::string& layer, const std::string& losses, int logits, int loss,
                    const OpShape& shape, bool keep) {
    const Op op = mixes() ? Op::mixed_cross_entropy_forward : Op::cross_entropy_forward;
    const int result = to_.planned(losses, op, Name::sample_losses, shape, keep);
    program_.predicted = to_.planned("predicted", op, Name::predicted, shape, keep);
    Operands operands{{Name::logits, logits},
                      {Name::labels, labels_},
                      {Name::sample_losses, result},
                      {Name::predicted, program_.predicted},
                      {Name::loss, loss},
                      {Name::accuracy, to_.element("accuracy", metrics_, ops::step::kAccuracyMetric)}};
    if (mixes()) operands.emplace_back(Name::control, to_.control());
    to_.node(op, layer, shape, operands);
    return result;
  }

  /// Its gradient: the tensor `name`.
  int cross_entropy_gradient(const std::string& layer, const std::string& name, int logits,
                             const OpShape& shape) {
    const Op op = mixes() ? Op::mixed_cross_entropy_backward : Op::cross_entropy_backward;
    const int gradient = to_.planned(name, op, Name::gradient, shape);
    to_.node(op, layer, shape,
             {{Name::logits, logits},
              {Name::labels, labels_},
              {Name::control, to_.control()},
              {Name::gradient, gradient}});
    return gradient;
  }

  void classification_loss(bool keep) {
    const OpShape logits = to_.image_shape(1, 1, model_.classes);
    program_.image_errors =
        cross_entropy("", "image_losses", program_.prediction, program_.loss, logits, keep);
  }

  void keep_outputs() {
    to_.tensor(program_.target).kept = true;
    for (const int output : program_.outputs) to_.tensor(output).kept = true;
  }

  int loss_gradient() {
    if (model_.loss == models::Loss::mse) {
      const OpShape output = to_.image_shape(input_extent());
      const int gradient = to_.planned("prediction.gradient", Op::mse_backward, Name::gradient, output);
      to_.node(Op::mse_backward, "", output,
               {{Name::prediction, program_.prediction},
                {Name::target, program_.target},
                {Name::control, to_.control()},
                {Name::gradient, gradient}});
      return gradient;
    }
    const OpShape logits = to_.image_shape(1, 1, model_.classes);
    return cross_entropy_gradient("", "prediction.gradient", program_.prediction, logits);
  }

  void backward() { layers_backward(loss_gradient(), first_trained(), false); }

  /// From the gradient of the prediction back to layer `first`; returns the gradient of its input if that is `wanted`.
  int layers_backward(int gradient, std::size_t first, bool wanted) {
    const std::size_t joined = has_head() ? models::latent_of(model_).end : 0;
    for (std::size_t i = layers_.size(); i-- > first;) {
      if (i + 1 == joined) gradient = head_backward(gradient);
      gradient = with_others(i, gradient);
      if (pools_a_relu(i)) {
        gradient = mask_pooled(to_, layers_[i], layers_[i - 1].layer->name, gradient);
        gradient = backward_layer(to_, layers_[i], gradient, true);
        --i;
      } else {
        gradient = backward_layer(to_, layers_[i], gradient, wanted || i > first);
      }
      if (!layers_[i].layer->from.empty()) {
        others_[models::index_of(model_, layers_[i].layer->from)].push_back(gradient);
      }
    }
    return gradient;
  }

  /// Nobody needs the gradient of what comes before the first layer that learns.
  std::size_t first_trained() const {
    const auto found = std::ranges::find_if(model_.layers, models::has_parameters);
    return static_cast<std::size_t>(found - model_.layers.begin());
  }

  bool pools_a_relu(std::size_t i) const {
    return layers_[i].layer->pools() && i > 0 && layers_[i - 1].layer->kind == LayerKind::relu &&
           others_[i - 1].empty();
  }

  /// The gradient of the output of layer i, of which the layer behind it gives `gradient`: those of the layers that
  /// add it come to it.
  int with_others(std::size_t i, int gradient) {
    const OpShape image = to_.image_shape(layers_[i].output_extent());
    const std::string& name = layers_[i].layer->name;
    for (std::size_t n = 0; n < others_[i].size(); ++n) {
      const int sum =
          to_.planned(n == 0 ? name + ".output_gradient" : fmt::format("{}.output_gradient{}", name, n),
                      Op::add_forward, Name::output, image);
      to_.node(Op::add_forward, name, image,
               {{Name::input, gradient}, {Name::addend, others_[i][n]}, {Name::output, sum}});
      gradient = sum;
    }
    return gradient;
  }

  /// Elements of the buffers that the optimizer works on.
  std::int64_t learned() const {
    return static_cast<std::int64_t>(to_.layout().elements - to_.layout().kept);
  }

  OpShape running_shape() const {
    OpShape shape;
    shape.count = static_cast<std::int64_t>(to_.layout().kept);
    return shape;
  }

  /// The numbers that no optimizer learns.
  int running() {
    return to_.external("running", Storage::parameters, Role::parameter, running_shape().count);
  }

  /// Whether each micro-batch begins with the running statistics from before the step.
  bool shares_running() const {
    return recipe_.shards > 0 && recipe_.micro_batches > 1 && to_.layout().kept > 0;
  }

  void begin_running() {
    const OpShape shape = running_shape();
    to_.node(Op::running_begin, "", shape,
             {{Name::control, to_.control()},
              {Name::running, running()},
              {Name::saved, to_.persistent("running.saved", Op::running_begin, Name::saved, shape)}});
  }

  /// What this rank found becomes what all found together.
  void add_over_ranks(int gradients) {
    OpShape shape;
    shape.count = learned();
    shape.in_channels = static_cast<int>(running_shape().count);
    shape.linked = recipe_.linked;
    shape.peers = recipe_.peers > 0;
    shape.batch = std::max(1, recipe_.peers);
    to_.node(Op::gradients_allreduce, "", shape,
             {{Name::gradients, gradients},
              {Name::metrics, metrics_},
              {Name::running, shares_running() ? running_ : running()}});
  }

  /// What the update reads: the gradient buffer, or what several micro-batches left.
  int gradients_of_step() {
    OpShape shape;
    shape.count = learned();
    shape.shards = std::max(1, recipe_.shards);
    const int gradients =
        to_.external("gradients", Storage::gradients, Role::gradient, shape.count, to_.layout().kept);
    if (recipe_.micro_batches == 1 && !recipe_.per_sample) return gradients;
    int result = -1;
    if (recipe_.per_sample) {
      shape.batch = recipe_.micro_batches;
      result = to_.persistent("gradients.kept", Op::gradients_keep, Name::kept, shape);
      to_.node(Op::gradients_keep, "", shape,
               {{Name::gradients, gradients}, {Name::control, to_.control()}, {Name::kept, result}});
    } else {
      result = to_.persistent("gradients.sums", Op::gradients_accumulate, Name::sums, shape);
      to_.node(Op::gradients_accumulate, "", shape,
               {{Name::gradients, gradients}, {Name::control, to_.control()}, {Name::sums, result}});
    }
    if (shares_running()) {
      OpShape kept = running_shape();
      kept.shards = recipe_.shards;
      running_ = to_.persistent("running.sums", Op::gradients_accumulate, Name::sums, kept);
      to_.node(Op::gradients_accumulate, "", kept,
               {{Name::gradients, running()}, {Name::control, to_.control()}, {Name::sums, running_}});
    }
    OpShape record;
    record.batch = batch_;
    record.shards = shape.shards;
    const int sums = to_.persistent("metrics.sums", Op::micro_batch_record, Name::sums, record);
    to_.node(Op::micro_batch_record, "", record,
             {{Name::metrics, metrics_}, {Name::control, to_.control()}, {Name::sums, sums}});
    metrics_ = sums;
    return result;
  }

  void update(int gradients) {
    OpShape shape;
    shape.count = learned();
    shape.rule = recipe_.rule;
    const std::size_t kept = to_.layout().kept;
    const int parameters =
        to_.external("parameters", Storage::parameters, Role::parameter, shape.count, kept);
    const int states = ops::states_of(recipe_.rule);
    const int first = to_.external("first_state", Storage::first_state, Role::parameter,
                                   states >= 1 ? shape.count : 0, kept);
    const int second = to_.external("second_state", Storage::second_state, Role::parameter,
                                    states >= 2 ? shape.count : 0, kept);
    OpShape record;
    record.count = ring_capacity_;
    record.batch = recipe_.micro_batches == 1 && !recipe_.per_sample ? batch_ : 0;
    const int statistics = to_.persistent("statistics", Op::step_record, Name::statistics, record);
    if (recipe_.per_sample) {
      shape.batch = recipe_.micro_batches;
      to_.node(Op::optimizer_update_per_sample, "", shape,
               {{Name::gradients, gradients},
                {Name::control, to_.control()},
                {Name::parameters, parameters},
                {Name::first_state, first},
                {Name::second_state, second}});
    } else {
      const int parts = to_.persistent("gradients.norm", Op::gradients_norm, Name::norm_parts, shape);
      if (recipe_.clip_norm || precision_ == core::Precision::fp16) {
        OpShape norm;
        norm.count = shape.count;
        to_.node(Op::gradients_norm, "", norm,
                 {{Name::gradients, gradients}, {Name::control, to_.control()}, {Name::norm_parts, parts}});
      }
      to_.node(Op::optimizer_update, "", shape,
               {{Name::gradients, gradients},
                {Name::control, to_.control()},
                {Name::norm_parts, parts},
                {Name::metrics, metrics_},
                {Name::parameters, parameters},
                {Name::first_state, first},
                {Name::second_state, second},
                {Name::statistics, statistics}});
    }
    to_.node(Op::step_record, "", record,
             {{Name::metrics, metrics_},
              {Name::statistics, statistics},
              {Name::control, to_.control()},
              {Name::ring, to_.external("ring", Storage::ring, Role::control, ring_capacity_)}});
  }

  const models::Model& model_;
  const Recipe& recipe_;
  ProgramBuilder to_;
  Program& program_ = to_.program;
  int batch_;
  std::int64_t image_count_;
  std::int64_t ring_capacity_;
  core::Precision precision_;
  bool training_ = false;
  int metrics_ = -1;
  int running_ = -1;  ///< the running statistics of the step, where micro-batches share it
  int labels_ = -1;
  int logits_ = -1;     ///< the head's
  int head_loss_ = -1;  ///< its mean over the batch
  std::vector<LayerTensors> layers_;
  std::vector<std::vector<int>> others_;  ///< of each layer: gradients of its output by layers that add it
};

}  // namespace

Program lower(const models::Model& model, Purpose purpose, int batch, std::int64_t image_count,
              std::int64_t ring_capacity, core::Precision precision, const Recipe& recipe) {
  return Lowering(model, batch, image_count, ring_capacity, precision, recipe).run(purpose);
}

}  // namespace warpscope::plan
