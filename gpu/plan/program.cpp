#include "gpu/plan/program.h"

#include "gpu/ops/mse/mse.h"

namespace warpscope::plan {
namespace {

using models::LayerKind;
using ops::Op;
using ops::OpShape;
using ops::Role;

/// What backward needs to know of a layer's forward.
struct LayerTensors {
  int input = -1;
  int output = -1;
  int argmax = -1;
  OpShape shape;
};

class Lowering {
 public:
  Lowering(const models::Model& model, int batch, std::int64_t image_count, std::int64_t ring_capacity)
      : model_(model),
        layout_(models::parameter_layout(model)),
        batch_(batch),
        image_count_(image_count),
        ring_capacity_(ring_capacity) {}

  Program run(Purpose purpose) {
    control_ = external("control", Storage::control, Role::control, 1);
    forward(purpose == Purpose::inference);
    if (purpose == Purpose::training) {
      backward();
      update();
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
    return add({name, storage, role, elements, offset, false});
  }
  /// A planned tensor of the size and role that operand `index` of `op` has.
  int planned(const std::string& name, Op op, int index, const OpShape& shape, bool kept = false) {
    const ops::Operand& operand = ops::contract(op).operands[static_cast<std::size_t>(index)];
    return add({name, Storage::planned, operand.role, operand.elements(shape), 0, kept});
  }
  void node(Op op, const std::string& layer, const OpShape& shape, std::vector<int> tensors) {
    program_.nodes.push_back({op, layer, shape, std::move(tensors)});
  }
  int parameter(const std::string& name, Storage storage) {
    const models::Parameter& found = layout_.find(name);
    const bool gradient = storage == Storage::gradients;
    return external(name + (gradient ? ".gradient" : ""), storage, gradient ? Role::gradient : Role::weight,
                    static_cast<std::int64_t>(found.elements), found.offset);
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

  void forward(bool keep) {
    OpShape shape = image_shape(model_.height, model_.width, model_.channels);
    shape.count = image_count_;
    const int images = external("images", Storage::images, Role::byte, 0);
    const int order = external("order", Storage::order, Role::index, image_count_);
    program_.target = planned("input", Op::batch_gather, 3, shape, keep);
    node(Op::batch_gather, "", shape, {images, order, control_, program_.target});
    int current = program_.target;
    shape.count = 1;
    for (const models::Layer& layer : model_.layers) current = forward_layer(layer, current, shape);
    program_.prediction = current;
    program_.tensors[static_cast<std::size_t>(current)].kept = keep;
    const OpShape output = image_shape(model_.height, model_.width, model_.channels);
    program_.image_errors =
        planned("image_errors", Op::mse_forward, ops::mse::kForwardImageErrors, output, keep);
    program_.loss = planned("loss", Op::mse_forward, ops::mse::kForwardLoss, output, keep);
    node(Op::mse_forward, "", output, {current, program_.target, program_.image_errors, program_.loss});
  }

  int forward_layer(const models::Layer& layer, int input, OpShape& shape) {
    LayerTensors saved{input, -1, -1, shape};
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

  void backward() {
    const OpShape output = image_shape(model_.height, model_.width, model_.channels);
    int gradient = planned("prediction.gradient", Op::mse_backward, ops::mse::kBackwardGradient, output);
    node(Op::mse_backward, "", output, {program_.prediction, program_.target, gradient});
    for (std::size_t i = model_.layers.size(); i-- > 0;) {
      gradient = backward_layer(model_.layers[i], layers_[i], gradient, i == 0);
    }
  }

  int backward_layer(const models::Layer& layer, const LayerTensors& saved, int gradient, bool first) {
    const std::string name = layer.name + ".input_gradient";
    int result = -1;
    switch (layer.kind) {
      case LayerKind::conv2d:
        node(Op::conv2d_backward_bias, layer.name, saved.shape,
             {gradient, parameter(layer.name + ".bias", Storage::gradients)});
        node(Op::conv2d_backward_weights, layer.name, saved.shape,
             {saved.input, gradient, parameter(layer.name + ".weight", Storage::gradients)});
        if (first) return -1;  // nobody needs the gradient of the images
        result = planned(name, Op::conv2d_backward_input, 2, saved.shape);
        node(Op::conv2d_backward_input, layer.name, saved.shape,
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

  void update() {
    OpShape shape;
    shape.count = static_cast<std::int64_t>(layout_.elements);
    node(Op::sgd_update, "", shape,
         {external("gradients", Storage::gradients, Role::gradient, shape.count), control_,
          external("parameters", Storage::parameters, Role::parameter, shape.count)});
    shape.count = ring_capacity_;
    shape.batch = batch_;
    node(Op::step_record, "", shape,
         {program_.loss, control_, external("ring", Storage::ring, Role::control, ring_capacity_)});
  }

  const models::Model& model_;
  models::ParameterLayout layout_;
  int batch_;
  std::int64_t image_count_;
  std::int64_t ring_capacity_;
  int control_ = -1;
  std::vector<LayerTensors> layers_;
  Program program_;
};

}  // namespace

Program lower(const models::Model& model, Purpose purpose, int batch, std::int64_t image_count,
              std::int64_t ring_capacity) {
  return Lowering(model, batch, image_count, ring_capacity).run(purpose);
}

}  // namespace warpscope::plan
