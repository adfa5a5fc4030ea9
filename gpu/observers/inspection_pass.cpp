#include "gpu/observers/inspection_pass.h"

#include <chrono>
#include <utility>

#include "gpu/core/error.h"
#include "gpu/observers/host_copies.h"

namespace warpscope::training {
namespace {

using ops::step::StepControl;

/// Places begin at multiples of this, so that copies are aligned.
constexpr std::size_t kAlignment = 256;

}  // namespace

InspectionPass::InspectionPass(const Scene& scene)
    : model_(scene.model),
      selection_(scene.selection),
      stream_(scene.stream),
      control_(scene.device, sizeof(StepControl)) {
  plan::Bindings held_out = scene.held_out;
  held_out.control = control_.as<StepControl>();
  plan_ = std::make_unique<plan::Plan>(model_, plan::Purpose::inspection, selection_, 1, scene.device,
                                       stream_, held_out);
  add_all();
  const std::size_t weights = models::parameter_layout(model_).elements * sizeof(float);
  outputs_ = core::HostBuffer(scene.device, bytes_);
  parameters_ = core::HostBuffer(scene.device, weights);
  gradients_ = core::HostBuffer(scene.device, weights);
  controls_ = core::HostBuffer(scene.device, 2 * sizeof(StepControl));
  begun_ = scene.device->make_event(true);
  done_ = scene.device->make_event(true);
}

InspectionPass::~InspectionPass() {
  try {
    if (decoding_.valid()) decoding_.wait();
    if (pending_) done_->synchronize();
  } catch (const core::Error&) {
    // The error was reported when it happened; destruction goes on.
  }
}

void InspectionPass::add(const plan::WrittenTensor& tensor, const LayerOutput& shape) {
  pieces_.push_back({tensor, shape, bytes_});
  bytes_ += (pieces_.back().bytes() + kAlignment - 1) / kAlignment * kAlignment;
}

void InspectionPass::add_all() {
  models::Extent extent{model_.height, model_.width, model_.channels};
  add(plan_->input(), {"input", extent.height, extent.width, extent.channels, {}});
  for (std::size_t i = 0; i < model_.layers.size(); ++i) {
    extent.pass(model_.layers[i]);
    add(plan_->output(i), {model_.layers[i].name, extent.height, extent.width, extent.channels, {}});
  }
}

bool InspectionPass::start(const Scene& scene, std::int64_t image) {
  if (pending_) return false;
  auto* const controls = controls_.as<StepControl>();
  controls[0] = StepControl{};
  controls[0].position = static_cast<std::uint32_t>(scene.first_test + image);
  stream_.record(*begun_);
  stream_.copy(control_.data(), controls, sizeof(StepControl));
  plan_->launch(stream_);
  for (const Piece& piece : pieces_) {
    stream_.copy(outputs_.as<std::byte>() + piece.offset, piece.tensor.data, piece.bytes());
  }
  stream_.copy(parameters_.data(), scene.parameters.data(), parameters_.bytes());
  stream_.copy(gradients_.data(), scene.gradients.data(), gradients_.bytes());
  stream_.copy(controls + 1, scene.control, sizeof(StepControl));
  stream_.record(*done_);
  what_ = Inspection{};
  what_.step = scene.step;
  what_.generation = scene.generation;
  what_.image = image;
  what_.precision = selection_.precision;
  pending_ = true;
  return true;
}

std::optional<Inspection> InspectionPass::take() {
  if (!pending_ || !done_->ready()) return std::nullopt;
  if (!decoding_.valid()) {
    seconds_ = 1e-6 * done_->microseconds_since(*begun_);
    decoding_ = std::async(std::launch::async, [this] { return decode(); });
  }
  if (decoding_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
  pending_ = false;
  return decoding_.get();
}

Inspection InspectionPass::decode() const {
  Inspection result = what_;
  for (const Piece& piece : pieces_) {
    const std::byte* const from = outputs_.as<const std::byte>() + piece.offset;
    result.outputs.push_back(piece.shape);
    result.outputs.back().values = widened({from, piece.bytes()}, piece.tensor.type);
  }
  result.parameters = floats(parameters_);
  result.gradients = floats(gradients_);
  const float scale = controls_.as<const StepControl>()[1].gradient_scale;
  if (scale != 1.0f) {
    for (float& gradient : result.gradients) gradient /= scale;
  }
  return result;
}

}  // namespace warpscope::training
