#include "gpu/observers/activation_observer.h"

#include <algorithm>

#include <fmt/format.h>

#include "gpu/core/error.h"

namespace warpscope::training {

namespace {

std::size_t batch_of(const Scene& scene) {
  return static_cast<std::size_t>(std::min<std::int64_t>(inspected_at_once(scene), mapped_images(scene)));
}

}  // namespace

ActivationPass::ActivationPass(const Scene& scene)
    : images_(static_cast<std::size_t>(mapped_images(scene))),
      passes_((images_ + batch_of(scene) - 1) / batch_of(scene)),
      plan_(scene, scene.model, plan::Purpose::inspection, static_cast<int>(batch_of(scene)), passes_) {
  add_outputs(scene.model);
  std::int64_t most = 1;
  for (const Output& output : outputs_) most = std::max(most, output.channels);
  const std::size_t bytes = 2 * plan_.batch() * static_cast<std::size_t>(most) * sizeof(float);
  peaks_ = core::Buffer(scene.device, bytes);
  peaks_arrived_ = core::HostBuffer(scene.device, passes_ * bytes);
}

void ActivationPass::add_outputs(const models::Model& model) {
  models::Extent extent{model.height, model.width, model.channels};
  const auto add = [&](const plan::WrittenTensor& tensor) {
    outputs_.push_back({tensor, std::int64_t{extent.height} * extent.width, extent.channels});
  };
  add(plan_.plan().input());
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    extent.pass(model.layers[i]);
    add(plan_.plan().output(i));
  }
}

/// The last pass begins early enough to end with the last image.
std::size_t ActivationPass::first_image(std::size_t pass) const {
  return std::min(pass * plan_.batch(), images_ - plan_.batch());
}

/// What comes after the plan in each pass.
void ActivationPass::capture_search(const Scene& scene, std::size_t output) {
  if (searched_ == output) return;
  const Output& of = outputs_[output];
  const std::int64_t batch = plan_.plan().batch();
  statistics::ChannelPeaksCall call;
  call.values = of.tensor.data;
  call.type = of.tensor.type;
  call.images = batch;
  call.places = of.places;
  call.channels = of.channels;
  call.means = peaks_.as<float>();
  call.maxima = call.means + batch * of.channels;
  search_ = scene.stream.capture([device = scene.device, &stream = scene.stream, call] {
    statistics::find_channel_peaks(*device, stream, call);
  });
  searched_ = output;
}

void ActivationPass::enqueue(const Scene& scene, std::size_t output) {
  if (output >= outputs_.size()) {
    throw core::BadInput(
        fmt::format("there is no output {} of a layer; there are {}, from 0, which is the input", output,
                    outputs_.size()));
  }
  what_ = ChannelActivations{};
  what_.step = scene.step;
  what_.generation = scene.generation;
  what_.output = output;
  what_.images = images_;
  what_.channels = static_cast<std::size_t>(outputs_[output].channels);
  capture_search(scene, output);
  const std::size_t floats = 2 * plan_.batch() * what_.channels;
  for (std::size_t pass = 0; pass < passes_; ++pass) {
    plan_.launch(scene.stream, pass, first_image(pass));
    scene.stream.launch(*search_);
    scene.stream.copy(peaks_arrived_.as<float>() + pass * floats, peaks_.data(), floats * sizeof(float));
  }
}

ChannelActivations ActivationPass::made() const {
  ChannelActivations result = what_;
  result.means.resize(result.images * result.channels);
  result.maxima.resize(result.images * result.channels);
  const std::size_t values = plan_.batch() * result.channels;
  for (std::size_t pass = 0; pass < passes_; ++pass) {
    const float* const from = peaks_arrived_.as<const float>() + pass * 2 * values;
    const std::size_t place = first_image(pass) * result.channels;
    std::copy_n(from, values, result.means.data() + place);
    std::copy_n(from + values, values, result.maxima.data() + place);
  }
  return result;
}

}  // namespace warpscope::training
