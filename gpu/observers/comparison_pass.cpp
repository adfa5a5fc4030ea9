#include "gpu/observers/comparison_pass.h"

#include <algorithm>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/models/parameters.h"
#include "gpu/observers/host_copies.h"

namespace warpscope::training {
namespace {

using ops::step::StepControl;

/// More images are reconstructed in several batches: on a CPU in small ones, so that it can be stopped between them.
constexpr int kLargestBatch = 128, kLargestCpuBatch = 8;

int batches_of(int count, core::DeviceKind device) {
  const int largest = device == core::DeviceKind::cpu ? kLargestCpuBatch : kLargestBatch;
  return (count + largest - 1) / largest;
}

void check(const ComparisonSetup& setup) {
  const models::Model& model = setup.model;
  if (model.loss != models::Loss::mse) {
    throw core::BadInput(fmt::format("model {} classifies images and reconstructs none", model.name));
  }
  if (setup.count < 1) throw core::BadInput("there are no images to reconstruct");
  if (!setup.own) return;
  const data::ImageSet& set = setup.own->set;
  if (set.count == setup.count && set.shape() == data::ImageShape{model.height, model.width, model.channels})
    return;
  throw core::BadInput(fmt::format("the images are {} x {} x {}, model {} takes {} x {} x {}", set.height,
                                   set.width, set.channels, model.name, model.height, model.width,
                                   model.channels));
}

}  // namespace

ComparisonSetup comparison_setup(const Scene& scene, const ComparisonRequest& request,
                                 const Reconstructor& reconstructor) {
  ComparisonSetup setup;
  setup.model = scene.model;
  setup.selection = scene.selection;
  if (reconstructor.selection) {
    setup.selection = *reconstructor.selection;
  } else if (reconstructor.precision) {
    setup.selection = plan::with_precision(scene.selection, *reconstructor.precision,
                                           ops::Context{scene.device, scene.variants});
  }
  setup.weights_file = reconstructor.weights_file;
  setup.copies_weights = scene.device->kind() == core::DeviceKind::cpu;
  setup.own = request.own;
  const auto tests = static_cast<int>(std::min<std::int64_t>(scene.data.test.count, request.count));
  setup.count = setup.own ? static_cast<int>(setup.own->set.count) : tests;
  setup.first = scene.first_test;
  setup.device = scene.device;
  setup.variants = scene.variants;
  setup.held_out = scene.held_out;
  return setup;
}

ComparisonPass::ComparisonPass(const ComparisonSetup& setup)
    : shape_{setup.count, setup.model.height, setup.model.width, setup.model.channels},
      first_(setup.own ? 0 : setup.first),
      bindings_(setup.held_out) {
  check(setup);
  const std::shared_ptr<core::Device>& device = setup.device;
  device->make_current();
  stream_ = device->make_stream();
  done_ = device->make_event(false);
  control_ = core::Buffer(device, sizeof(StepControl));
  bindings_.control = control_.as<StepControl>();
  if (!setup.weights_file.empty() || setup.copies_weights) load_weights(setup, *stream_);
  if (setup.own) upload_images(setup, *stream_);
  const int batches = batches_of(setup.count, device->kind()), batch = (setup.count + batches - 1) / batches;
  plan_ = std::make_unique<plan::Plan>(setup.model, plan::Purpose::inference, setup.selection, batch,
                                       ops::Context{device, setup.variants}, *stream_, bindings_);
  controls_ = core::HostBuffer(device, static_cast<std::size_t>(batches) * sizeof(StepControl));
  originals_ = core::HostBuffer(device, shape_.elements() * sizeof(float));
  values_ = core::HostBuffer(device, shape_.elements() * sizeof(float));
  errors_ = core::HostBuffer(device, static_cast<std::size_t>(setup.count) * sizeof(float));
  stream_->synchronize();
}

ComparisonPass::~ComparisonPass() {
  try {
    if (done_) done_->synchronize();
  } catch (const core::Error&) {
    // The error was reported when it happened; destruction goes on.
  }
}

void ComparisonPass::load_weights(const ComparisonSetup& setup, core::Stream& stream) {
  weights_ = core::Buffer(setup.device, models::parameter_layout(setup.model).elements * sizeof(float));
  from_file_ = !setup.weights_file.empty();
  if (from_file_) {
    const std::vector<float> weights = models::load_parameters(setup.weights_file, setup.model);
    stream.copy(weights_.data(), weights.data(), weights_.bytes());
    stream.synchronize();
  }
  bindings_.parameters = weights_.as<float>();
}

void ComparisonPass::upload_images(const ComparisonSetup& setup, core::Stream& stream) {
  const data::OwnImages& own = *setup.own;
  images_ = core::upload(setup.device, stream, own.set.pixels);
  order_ = core::upload(setup.device, stream, plan::in_order(own.set.count));
  bindings_.images = images_.as<std::uint8_t>();
  bindings_.image_count = own.set.count;
  bindings_.order = order_.as<std::uint32_t>();
}

void ComparisonPass::copy_weights(core::Stream& stream, const core::Buffer& parameters) {
  if (weights_.bytes() > 0 && !from_file_) stream.copy(weights_.data(), parameters.data(), weights_.bytes());
}

void ComparisonPass::enqueue(core::Stream& stream, bool with_originals, const std::atomic<bool>& stop) {
  const int batch = plan_->batch();
  const std::size_t image = shape_.elements() / static_cast<std::size_t>(shape_.count);
  auto* control = controls_.as<StepControl>();
  for (int begin = 0; begin < shape_.count && !stop; begin += batch, ++control) {
    // The last batch overlaps the one before, so that no batch goes beyond the images.
    const int from = std::min(begin, shape_.count - batch);
    *control = StepControl{};
    control->position = static_cast<std::uint32_t>(first_ + from);
    stream.copy(control_.data(), control, sizeof(StepControl));
    plan_->launch(stream);
    const std::size_t place = static_cast<std::size_t>(from) * image;
    const std::size_t bytes = static_cast<std::size_t>(batch) * image * sizeof(float);
    stream.copy(values_.as<float>() + place, plan_->prediction(), bytes);
    if (with_originals) stream.copy(originals_.as<float>() + place, plan_->target(), bytes);
    stream.copy(errors_.as<float>() + from, plan_->image_errors(),
                static_cast<std::size_t>(batch) * sizeof(float));
  }
  stream.record(*done_);
}

Reconstruction ComparisonPass::reconstruction() const {
  return {"", floats(values_), floats(errors_)};
}

std::vector<float> ComparisonPass::originals() const {
  return floats(originals_);
}

}  // namespace warpscope::training
