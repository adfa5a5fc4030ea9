#include "gpu/inference/inference.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/ops/host_values.h"
#include "gpu/ops/op.h"

namespace warpscope::inference {
namespace {

using ops::step::StepControl;
using Clock = std::chrono::steady_clock;

constexpr double kMicroseconds = 1e6;

double seconds_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

std::size_t image_bytes(const models::Model& model) {
  return static_cast<std::size_t>(model.height) * static_cast<std::size_t>(model.width) *
         static_cast<std::size_t>(model.channels);
}

/// `values` in host memory as device memory.
template <class T>
core::Buffer upload(const std::shared_ptr<core::Device>& device, core::Stream& stream,
                    std::span<const T> values) {
  core::Buffer buffer(device, values.size_bytes());
  stream.copy(buffer.data(), values.data(), buffer.bytes());
  stream.synchronize();
  return buffer;
}

/// Whose time that of a node is: its layer's, or its op's.
std::string owner_of(const plan::PlanNode& node, const models::Model& model) {
  const bool layer = models::index_of(model, node.layer) < model.layers.size();
  return layer ? node.layer : std::string(ops::to_string(node.op));
}

double quantile_of(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

[[noreturn]] void refuse_all(const ImageSource& source) {
  const std::vector<std::string> refused = source.refused();
  if (refused.size() == 1) throw core::BadInput(refused.front());
  if (refused.empty()) throw core::BadInput(fmt::format("there are no images: {}", source.title()));
  throw core::BadInput(
      fmt::format("none of {} {} can be read: {}", refused.size(), source.title(), refused.front()));
}

}  // namespace

Latency latency_of(std::vector<double> microseconds) {
  if (microseconds.empty()) return {};
  std::sort(microseconds.begin(), microseconds.end());
  return {quantile_of(microseconds, 0.5), quantile_of(microseconds, 0.99)};
}

double Outcome::images_per_second() const {
  return seconds > 0 ? static_cast<double>(answers.size()) / seconds : 0;
}

double Outcome::device_images_per_second() const {
  const double rest = seconds - read_seconds;
  return rest > 0 ? static_cast<double>(answers.size()) / rest : 0;
}

Inference::Inference(const models::Model& model, std::span<const float> parameters,
                     const plan::Selection& selection, int batch, std::shared_ptr<core::Device> device,
                     core::Stream& stream)
    : model_(models::with_head(model, 0)),
      device_(std::move(device)),
      stream_(stream),
      weights_(upload(device_, stream_, parameters)),
      images_(device_, static_cast<std::size_t>(batch) * image_bytes(model)) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(batch));
  std::iota(order.begin(), order.end(), 0u);
  order_ = upload(device_, stream_, std::span<const std::uint32_t>(order));
  const StepControl control{};  // every batch begins at the first image
  control_ = upload(device_, stream_, std::span<const StepControl>(&control, 1));
  stream_.fill(images_.data(), 0, images_.bytes());
  plan::Bindings bindings;
  bindings.images = images_.as<std::uint8_t>();
  bindings.image_count = batch;
  bindings.order = order_.as<std::uint32_t>();
  bindings.control = control_.as<StepControl>();
  bindings.parameters = weights_.as<float>();
  // Without a loss no labels are needed.
  const plan::Purpose purpose = classifies() ? plan::Purpose::encoding : plan::Purpose::inference;
  plan_ = std::make_unique<plan::Plan>(model_, purpose, selection, batch, device_, stream_, bindings);
  output_ = classifies()
                ? plan_->output(model_.layers.size() - 1)
                : plan::WrittenTensor{"image_errors", core::ElementType::f32, batch, plan_->image_errors()};
  group_layers();
  pixels_ = core::HostBuffer(device_, images_.bytes());
  answers_ =
      core::HostBuffer(device_, static_cast<std::size_t>(output_.elements) * core::size_of(output_.type));
  for (auto* event : {&begin_, &copied_, &run_, &done_}) *event = device_->make_event(true);
  stream_.synchronize();
}

void Inference::group_layers() {
  const std::vector<plan::PlanNode>& nodes = plan_->nodes();
  std::vector<bool> launched;
  for (const plan::PlanNode& node : nodes) {
    const std::string owner = owner_of(node, model_);
    const auto same = [&](const LayerLatency& layer) { return layer.layer == owner; };
    const auto found = std::find_if(layers_.begin(), layers_.end(), same);
    layer_of_.push_back(static_cast<std::size_t>(found - layers_.begin()));
    if (found == layers_.end()) {
      layers_.push_back({owner, {}, {}});
      launched.push_back(false);
    }
    if (node.variant != nullptr) launched[layer_of_.back()] = true;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (launched[layer_of_[i]] || nodes[i].covered_by < 0) continue;
    layers_[layer_of_[i]].inside = owner_of(nodes[static_cast<std::size_t>(nodes[i].covered_by)], model_);
  }
}

void Inference::pass(int count) {
  const auto share = [&](std::size_t bytes) {
    return bytes / static_cast<std::size_t>(plan_->batch()) * static_cast<std::size_t>(count);
  };
  stream_.record(*begin_);
  stream_.copy(images_.data(), pixels_.data(), share(images_.bytes()));
  stream_.record(*copied_);
  plan_->launch(stream_);
  stream_.record(*run_);
  stream_.copy(answers_.data(), output_.data, share(answers_.bytes()));
  stream_.record(*done_);
  stream_.synchronize();
}

void Inference::take_times(Samples& samples) const {
  samples.to_device.push_back(copied_->microseconds_since(*begin_));
  samples.network.push_back(run_->microseconds_since(*copied_));
  samples.back.push_back(done_->microseconds_since(*run_));
}

void Inference::time_layers(Samples& samples) {
  plan_->launch_timed(stream_);
  stream_.synchronize();
  const std::optional<std::vector<double>> nodes = plan_->take_timings();
  if (!nodes) return;
  std::vector<double> sums(layers_.size());
  for (std::size_t i = 0; i < nodes->size(); ++i) sums[layer_of_[i]] += (*nodes)[i];
  for (std::size_t i = 0; i < sums.size(); ++i) samples.layers[i].push_back(sums[i]);
}

void Inference::answer(std::vector<ImageName> images, Outcome& outcome) const {
  const std::size_t columns = static_cast<std::size_t>(output_.elements / plan_->batch());
  const std::size_t bytes = images.size() * columns * core::size_of(output_.type);
  const std::vector<double> rows = ops::decode({answers_.as<const std::byte>(), bytes}, output_.type);
  for (std::size_t i = 0; i < images.size(); ++i) {
    Answer answer;
    answer.image = std::move(images[i]);
    if (classifies()) {
      answer.guesses = best_guesses(std::span(rows).subspan(i * columns, columns));
    } else {
      answer.mse = rows[i];
      answer.psnr = psnr_of(answer.mse);
    }
    outcome.answers.push_back(std::move(answer));
  }
}

void Inference::summarize(Samples samples, Outcome& outcome) const {
  outcome.batch = plan_->batch();
  outcome.batches = static_cast<std::int64_t>(samples.total.size());
  outcome.read_seconds = std::accumulate(samples.read.begin(), samples.read.end(), 0.0) / kMicroseconds;
  outcome.read = latency_of(std::move(samples.read));
  outcome.to_device = latency_of(std::move(samples.to_device));
  outcome.network = latency_of(std::move(samples.network));
  outcome.back = latency_of(std::move(samples.back));
  outcome.total = latency_of(std::move(samples.total));
  outcome.layers = layers_;
  for (std::size_t i = 0; i < layers_.size(); ++i)
    outcome.layers[i].time = latency_of(std::move(samples.layers[i]));
  if (outcome.answers.empty()) return;
  double mse = 0, psnr = 0, right = 0, known = 0;
  for (const Answer& answer : outcome.answers) {
    mse += answer.mse;
    psnr += answer.psnr;
    if (answer.image.label < 0 || answer.guesses.empty()) continue;
    known += 1;
    right += answer.guesses.front().label == answer.image.label ? 1 : 0;
  }
  const auto count = static_cast<double>(outcome.answers.size());
  if (known > 0) outcome.accuracy = right / known;
  if (classifies()) return;
  outcome.mse = mse / count;
  outcome.psnr = psnr / count;
}

Outcome Inference::run(ImageSource& source, const GoOn& go_on) {
  Outcome outcome;
  Samples samples;
  samples.layers.resize(layers_.size());
  std::fill_n(pixels_.as<std::uint8_t>(), pixels_.bytes(), std::uint8_t{0});
  pass(plan_->batch());
  time_layers(samples);
  for (std::vector<double>& layer : samples.layers) layer.clear();
  for (;;) {
    outcome.interrupted = go_on && !go_on(static_cast<std::int64_t>(outcome.answers.size()));
    if (outcome.interrupted) break;
    const auto start = Clock::now();
    std::vector<ImageName> images = source.read(plan_->batch(), pixels_.as<std::uint8_t>());
    const auto read = Clock::now();
    if (images.empty()) break;
    pass(static_cast<int>(images.size()));
    const auto back = Clock::now();
    answer(std::move(images), outcome);
    outcome.seconds += seconds_between(start, Clock::now());
    samples.read.push_back(kMicroseconds * seconds_between(start, read));
    samples.total.push_back(kMicroseconds * seconds_between(start, back));
    take_times(samples);
    if (samples.total.size() <= kLayerPasses) time_layers(samples);
  }
  outcome.refused = source.refused();
  if (outcome.answers.empty() && !outcome.interrupted) refuse_all(source);
  summarize(std::move(samples), outcome);
  return outcome;
}

}  // namespace warpscope::inference
