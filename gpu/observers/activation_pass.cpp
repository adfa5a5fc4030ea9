#include "gpu/observers/activation_pass.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/observers/held_out_batches.h"

namespace warpscope::training {

using ops::step::StepControl;

ActivationPass::ActivationPass(const Scene& scene)
    : selection_(scene.selection),
      device_(scene.device),
      stream_(scene.stream),
      control_(scene.device, sizeof(StepControl)) {
  plan::Bindings held_out = scene.held_out;
  held_out.control = control_.as<StepControl>();
  images_ = static_cast<std::size_t>(mapped_images(scene));
  const int batch = std::min(inspected_at_once(scene), static_cast<int>(images_));
  plan_ = std::make_unique<plan::Plan>(scene.model, plan::Purpose::inspection, selection_, batch,
                                       scene.device, stream_, held_out);
  passes_ = (images_ + static_cast<std::size_t>(batch) - 1) / static_cast<std::size_t>(batch);
  add_outputs(scene.model);
  std::int64_t most = 1;
  for (const Output& output : outputs_) most = std::max(most, output.channels);
  const std::size_t bytes = 2 * static_cast<std::size_t>(batch * most) * sizeof(float);
  peaks_ = core::Buffer(scene.device, bytes);
  peaks_arrived_ = core::HostBuffer(scene.device, passes_ * bytes);
  controls_ = core::HostBuffer(scene.device, passes_ * sizeof(StepControl));
  for (std::size_t pass = 0; pass < passes_; ++pass) {
    StepControl& control = controls_.as<StepControl>()[pass];
    control = StepControl{};
    control.position =
        static_cast<std::uint32_t>(static_cast<std::size_t>(scene.first_test) + first_image(pass));
  }
  begun_ = scene.device->make_event(true);
  done_ = scene.device->make_event(true);
}

ActivationPass::~ActivationPass() {
  try {
    if (ordering_.valid()) ordering_.wait();
    if (pending_) done_->synchronize();
  } catch (const core::Error&) {
    // The error was reported when it happened; destruction goes on.
  }
}

void ActivationPass::add_outputs(const models::Model& model) {
  models::Extent extent{model.height, model.width, model.channels};
  const auto add = [&](const plan::WrittenTensor& tensor) {
    outputs_.push_back({tensor, std::int64_t{extent.height} * extent.width, extent.channels});
  };
  add(plan_->input());
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    extent.pass(model.layers[i]);
    add(plan_->output(i));
  }
}

/// The last pass begins early enough to end with the last image.
std::size_t ActivationPass::first_image(std::size_t pass) const {
  const auto batch = static_cast<std::size_t>(plan_->batch());
  return std::min(pass * batch, images_ - batch);
}

/// What comes after the plan in each pass.
void ActivationPass::capture_search(std::size_t output) {
  if (searched_ == output) return;
  const Output& of = outputs_[output];
  const std::int64_t batch = plan_->batch();
  statistics::ChannelPeaksCall call;
  call.values = of.tensor.data;
  call.type = of.tensor.type;
  call.images = batch;
  call.places = of.places;
  call.channels = of.channels;
  call.means = peaks_.as<float>();
  call.maxima = call.means + batch * of.channels;
  search_ = stream_.capture(
      [this, device = device_, call] { statistics::find_channel_peaks(*device, stream_, call); });
  searched_ = output;
}

bool ActivationPass::start(const Scene& scene, std::size_t output) {
  if (pending_) return false;
  if (output >= outputs_.size()) {
    throw core::BadInput(
        fmt::format("there is no output {} of a layer; there are {}, from 0, which is the input", output,
                    outputs_.size()));
  }
  capture_search(output);
  const std::size_t floats = 2 * static_cast<std::size_t>(plan_->batch() * outputs_[output].channels);
  stream_.record(*begun_);
  for (std::size_t pass = 0; pass < passes_; ++pass) {
    stream_.copy(control_.data(), controls_.as<StepControl>() + pass, sizeof(StepControl));
    plan_->launch(stream_);
    stream_.launch(*search_);
    stream_.copy(peaks_arrived_.as<float>() + pass * floats, peaks_.data(), floats * sizeof(float));
  }
  stream_.record(*done_);
  what_ = ChannelActivations{};
  what_.step = scene.step;
  what_.generation = scene.generation;
  what_.output = output;
  what_.images = images_;
  what_.channels = static_cast<std::size_t>(outputs_[output].channels);
  pending_ = true;
  return true;
}

std::optional<ChannelActivations> ActivationPass::take() {
  if (!pending_ || !done_->ready()) return std::nullopt;
  if (!ordering_.valid()) {
    seconds_ = 1e-6 * done_->microseconds_since(*begun_);
    ordering_ = std::async(std::launch::async, [this] { return in_order(); });
  }
  if (ordering_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
  pending_ = false;
  return ordering_.get();
}

ChannelActivations ActivationPass::in_order() const {
  ChannelActivations result = what_;
  result.means.resize(result.images * result.channels);
  result.maxima.resize(result.images * result.channels);
  const std::size_t values = static_cast<std::size_t>(plan_->batch()) * result.channels;
  for (std::size_t pass = 0; pass < passes_; ++pass) {
    const float* const from = peaks_arrived_.as<const float>() + pass * 2 * values;
    const std::size_t place = first_image(pass) * result.channels;
    std::copy_n(from, values, result.means.data() + place);
    std::copy_n(from + values, values, result.maxima.data() + place);
  }
  return result;
}

}  // namespace warpscope::training
