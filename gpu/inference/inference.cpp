#include "gpu/inference/inference.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/phases.h"
#include "gpu/core/quantile.h"
#include "gpu/core/require.h"
#include "gpu/ops/op.h"

namespace warpscope::inference {
namespace {

using ops::step::StepControl;

constexpr double kMicroseconds = 1e6;
constexpr double kMostOfHalf = 65504;  // a number in FP16

std::size_t image_bytes(const models::Model& model) {
  return static_cast<std::size_t>(model.height) * static_cast<std::size_t>(model.width) *
         static_cast<std::size_t>(model.channels);
}

/// Whose time that of a node is: its layer's, or its op's.
std::string owner_of(const plan::PlanNode& node, const models::Model& model) {
  const bool layer = models::index_of(model, node.layer) < model.layers.size();
  return layer ? node.layer : std::string(ops::to_string(node.op));
}

/// The network with its norms folded, unless people have chosen what computes them.
Folded folded_for(const models::Model& model, std::span<const float> parameters,
                  const plan::Selection& selection) {
  const std::size_t own = models::parameter_layout(model).elements;
  core::require(parameters.size() >= own, "there are {} parameters of {}", parameters.size(), own);
  if (selection.variants.contains(ops::Op::batch_norm_infer))
    return {model, {parameters.begin(), parameters.begin() + static_cast<std::ptrdiff_t>(own)}, {}};
  return fold_norms(
      model, parameters,
      selection.precision == core::Precision::fp16 ? kMostOfHalf : double{std::numeric_limits<float>::max()});
}

/// Waits at its end for all that the stream still does, if an exception has left something.
class StreamGuard {
 public:
  explicit StreamGuard(core::Stream& stream) : stream_(stream) {}
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;
  ~StreamGuard() {
    try {
      stream_.synchronize();
    } catch (...) {
      // What failed is on its way already.
    }
  }

 private:
  core::Stream& stream_;
};

}  // namespace

std::vector<Guess> best_guesses(std::span<const double> logits, std::size_t most) {
  const std::size_t count = std::min(most, logits.size());
  std::vector<Guess> guesses;
  if (count == 0) return guesses;
  guesses.reserve(count);
  const bool ranked = std::ranges::none_of(logits, [](double logit) { return std::isnan(logit); });
  // Logits stand for the probabilities until all are seen.
  for (std::size_t label = 0; label < logits.size(); ++label) {
    const double logit = logits[label];
    if (guesses.size() == count) {
      if (!ranked || logit <= guesses.back().probability) continue;
      guesses.pop_back();
    }
    auto place = guesses.end();
    while (ranked && place != guesses.begin() && (place - 1)->probability < logit) --place;
    guesses.insert(place, {static_cast<int>(label), logit});
  }
  const double greatest = guesses.front().probability;
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - greatest);
  for (Guess& guess : guesses) guess.probability = std::exp(guess.probability - greatest) / sum;
  return guesses;
}

double psnr_of(double mse) {
  constexpr double kLeast = 1e-12;
  return -10.0 * std::log10(std::isnan(mse) ? mse : std::max(mse, kLeast));
}

void refuse_all(const std::vector<std::string>& refused, const std::string& title) {
  if (refused.size() == 1) throw core::BadInput(refused.front());
  if (refused.empty()) throw core::BadInput(fmt::format("there are no images: {}", title));
  throw core::BadInput(fmt::format("none of {} {} can be read: {}", refused.size(), title, refused.front()));
}

/// Counts seconds, but not those of what is done aside.
class Inference::Stopwatch {
 public:
  double seconds() const { return core::seconds_since(start_); }
  double aside() const { return aside_; }
  template <class Work>
  void aside(Work work) {
    const auto begin = core::Clock::now();
    work();
    const auto passed = core::Clock::now() - begin;
    start_ += passed;
    aside_ += std::chrono::duration<double>(passed).count();
  }

 private:
  core::Clock::time_point start_ = core::Clock::now();
  double aside_ = 0;
};

Latency latency_of(std::vector<double> microseconds) {
  if (microseconds.empty()) return {};
  std::ranges::sort(microseconds);
  return {core::quantile(microseconds, 0.5), core::quantile(microseconds, 0.99)};
}

RankTimes times_of(const Samples& samples) {
  const auto sum = [](const std::vector<double>& part) {
    return std::accumulate(part.begin(), part.end(), 0.0) / kMicroseconds;
  };
  RankTimes times;
  times.read = sum(samples.read);
  times.to_device = sum(samples.to_device);
  times.network = sum(samples.network);
  times.back = sum(samples.back);
  times.device = sum(samples.device);
  return times;
}

double RankShare::layer_milliseconds(std::size_t at) const {
  const double all = std::accumulate(layers.begin(), layers.end(), 0.0);
  return at < layers.size() && all > 0 ? kMillisecondsPerSecond * times.network * layers[at] / all : 0;
}

double Outcome::images_per_second() const {
  return seconds > 0 ? static_cast<double>(answers.size()) / seconds : 0;
}

double Outcome::device_images_per_second() const {
  if (ranks.empty()) return device_seconds > 0 ? static_cast<double>(answers.size()) / device_seconds : 0;
  double sum = 0;
  for (const RankShare& rank : ranks) {
    if (rank.times.device > 0) sum += static_cast<double>(rank.images) / rank.times.device;
  }
  return sum;
}

double Outcome::network_images_per_second() const {
  const auto answered = std::ranges::count_if(ranks, [](const RankShare& rank) { return rank.images > 0; });
  const auto devices = static_cast<double>(ranks.empty() ? 1 : answered);
  return network.median > 0 ? kMicroseconds * batch * devices / network.median : 0;
}

Inference::Inference(const models::Model& model, std::span<const float> parameters,
                     const plan::Selection& selection, int batch, std::shared_ptr<core::Device> device,
                     core::Stream& stream, const plan::ViewSettings& views)
    : Inference(folded_for(models::with_head(model, 0), parameters, selection), selection, batch,
                std::move(device), stream, views) {}

Inference::Inference(Folded network, const plan::Selection& selection, int batch,
                     std::shared_ptr<core::Device> device, core::Stream& stream,
                     const plan::ViewSettings& views)
    : model_(std::move(network.model)),
      norms_(std::move(network.norms)),
      view_settings_(views),
      views_(plan::views_of(views)),
      device_(std::move(device)),
      stream_(stream),
      weights_(core::upload(device_, stream_, std::span<const float>(network.parameters))),
      images_(device_, kBatches * static_cast<std::size_t>(batch) * image_bytes(model_)),
      copies_(device_->make_stream()) {
  plan::check_views(model_, view_settings_);
  const std::int64_t places = static_cast<std::int64_t>(kBatches) * batch;
  order_ = core::upload(device_, stream_, plan::in_order(places));
  std::vector<StepControl> controls(kBatches * views_.size());
  for (std::size_t i = 0; i < controls.size(); ++i) {
    plan::show(views_[i % views_.size()], controls[i]);
    controls[i].position = static_cast<std::uint32_t>(i / views_.size()) * static_cast<std::uint32_t>(batch);
  }
  controls_ = core::upload(device_, stream_, controls);
  control_ = core::upload(device_, stream_, std::span<const StepControl>(controls).first(1));
  stream_.fill(images_.data(), 0, images_.bytes());
  plan::Bindings bindings;
  bindings.images = images_.as<std::uint8_t>();
  bindings.image_count = places;
  bindings.order = order_.as<std::uint32_t>();
  bindings.control = control_.as<StepControl>();
  bindings.parameters = weights_.as<float>();
  bindings.fixed_parameters = true;
  // Without a loss no labels are needed.
  const plan::Purpose purpose = classifies() ? plan::Purpose::encoding : plan::Purpose::inference;
  plan_ = std::make_unique<plan::Plan>(model_, purpose, selection, batch, device_, stream_, bindings,
                                       view_settings_.several() ? plan::kViewsOnRequest : plan::Recipe{});
  output_ = classifies()
                ? plan_->output(model_.layers.size() - 1)
                : plan::WrittenTensor{"image_errors", core::ElementType::f32, batch, plan_->image_errors()};
  group_layers();
  const std::size_t whole_output = output_bytes(static_cast<std::size_t>(batch)) * views_.size();
  for (Batch& each : batches_) {
    each.place = static_cast<std::size_t>(&each - batches_.data());
    each.pixels = core::HostBuffer(device_, images_.bytes() / kBatches);
    each.output = core::HostBuffer(device_, whole_output);
    for (auto* event : {&each.begin, &each.copied, &each.started, &each.run, &each.done})
      *event = device_->make_event(true);
  }
  stream_.synchronize();
}

void Inference::group_layers() {
  const std::vector<plan::PlanNode>& nodes = plan_->nodes();
  std::vector<bool> launched;
  for (const plan::PlanNode& node : nodes) {
    if (ops::contract(node.op).scope == ops::Scope::parameters) {
      // The weights' cast is in no pass: its time, which is 0, may go to any layer.
      layer_of_.push_back(0);
      continue;
    }
    const std::string owner = owner_of(node, model_);
    const auto same = [&](const LayerLatency& layer) { return layer.layer == owner; };
    const auto found = std::ranges::find_if(layers_, same);
    layer_of_.push_back(static_cast<std::size_t>(found - layers_.begin()));
    if (found == layers_.end()) {
      layers_.push_back({owner, {}, {}});
      launched.push_back(false);
      const auto norm = std::ranges::find(norms_, owner, &FoldedNorm::layer);
      if (norm != norms_.end()) {
        layers_.push_back({norm->norm, owner, {}});
        launched.push_back(true);
      }
    }
    if (node.variant != nullptr) launched[layer_of_.back()] = true;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (launched[layer_of_[i]] || nodes[i].covered_by < 0) continue;
    layers_[layer_of_[i]].inside = owner_of(nodes[static_cast<std::size_t>(nodes[i].covered_by)], model_);
  }
}

std::size_t Inference::output_bytes(std::size_t count) const {
  const auto columns = static_cast<std::size_t>(output_.elements / plan_->batch());
  return count * columns * core::size_of(output_.type);
}

void Inference::enqueue(const Batch& batch, std::size_t count) {
  // The device may still work on the other batch, whose images lie elsewhere.
  core::Stream& copies = copies_beside_ ? *copies_ : stream_;
  copies.record(*batch.begin);
  copies.copy(images_.as<std::byte>() + batch.place * batch.pixels.bytes(), batch.pixels.data(),
              count * image_bytes(model_));
  copies.record(*batch.copied);
  if (copies_beside_) {
    stream_.wait(*batch.copied);
    stream_.record(*batch.started);
  }
  const std::size_t part = batch.output.bytes() / views_.size();
  const auto tell = [&](std::size_t view) {
    const std::size_t control = batch.place * views_.size() + view;
    if (std::exchange(told_, control) == control) return;
    stream_.copy(control_.data(), controls_.as<StepControl>() + control, sizeof(StepControl));
  };
  for (std::size_t view = views_.size() - 1; view > 0; --view) {
    tell(view);
    plan_->launch(stream_);
    stream_.copy(batch.output.as<std::byte>() + view * part, output_.data, output_bytes(count));
  }
  tell(0);  // the images themselves come last: theirs is the control block that layers are timed with
  plan_->launch(stream_);
  stream_.record(*batch.run);
  stream_.copy(batch.output.data(), output_.data, output_bytes(count));
  stream_.record(*batch.done);
}

void Inference::measure(const Batch& batch, Samples& samples) const {
  const double to_device = batch.copied->microseconds_since(*batch.begin);
  samples.to_device.push_back(to_device);
  samples.network.push_back(batch.run->microseconds_since(copies_beside_ ? *batch.started : *batch.copied));
  samples.back.push_back(batch.done->microseconds_since(*batch.run));
  samples.device.push_back(samples.network.back() + samples.back.back() + (copies_beside_ ? 0 : to_device));
}

void Inference::take(Batch& batch, const Stopwatch& watch, const Taken& taken, Findings& findings) const {
  Samples& samples = findings.samples;
  batch.done->synchronize();
  samples.total.push_back(kMicroseconds * (watch.seconds() - batch.start));
  measure(batch, samples);
  const std::size_t count = batch.images.size();
  core::require(findings.room.size() - findings.answered >= count, "there is no room for {} more answers",
                count);
  const std::span<Answer> newest = findings.room.subspan(findings.answered, count);
  answer(batch, newest);
  findings.answered += count;
  if (taken) taken(newest);
  findings.seconds = watch.seconds();
  findings.aside = watch.aside();
}

void Inference::time_layers(Samples& samples) {
  ++samples.layer_passes;
  plan_->launch_timed(stream_);
  stream_.synchronize();
  const std::optional<std::vector<double>> nodes = plan_->take_timings();
  if (!nodes) return;
  std::vector<double> sums(layers_.size());
  for (std::size_t i = 0; i < nodes->size(); ++i) sums[layer_of_[i]] += (*nodes)[i];
  for (std::size_t i = 0; i < sums.size(); ++i) samples.layers[i].push_back(sums[i]);
}

std::vector<double> Inference::rows_of(const Batch& batch) const {
  const std::span all(batch.output.as<const std::byte>(), batch.output.bytes());
  const std::size_t bytes = output_bytes(batch.images.size());
  return plan::mean_of_views(all, views_.size(), bytes, output_.type);
}

void Inference::answer(Batch& batch, std::span<Answer> answers) const {
  const std::size_t columns = static_cast<std::size_t>(output_.elements / plan_->batch());
  const std::vector<double> rows = rows_of(batch);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    Answer& answer = answers[i];
    answer.image = std::move(batch.images[i]);
    if (classifies()) {
      answer.guesses = best_guesses(std::span(rows).subspan(i * columns, columns));
      answer.finite = std::isfinite(answer.guesses.front().probability);
      if (!answer.finite) answer.guesses.clear();
    } else {
      answer.mse = rows[i];
      answer.psnr = psnr_of(answer.mse);
      answer.finite = std::isfinite(answer.mse);
    }
  }
}

void Inference::summarize(Samples samples, Outcome& outcome) const {
  outcome.views = view_settings_;
  const auto columns = static_cast<std::size_t>(output_.elements / plan_->batch());
  outcome.guesses = classifies() ? std::min(columns, kGuesses) : 0;
  outcome.batch = plan_->batch();
  outcome.batches = static_cast<std::int64_t>(samples.total.size());
  outcome.times = times_of(samples);
  outcome.device_seconds = outcome.times.device;
  outcome.times.idle = std::max(0.0, outcome.seconds - outcome.device_seconds);
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
    if (!answer.finite) {
      ++outcome.not_finite;
      continue;
    }
    mse += answer.mse;
    psnr += answer.psnr;
    if (answer.image.label < 0 || answer.guesses.empty()) continue;
    known += 1;
    right += answer.guesses.front().label == answer.image.label ? 1 : 0;
  }
  const double count = static_cast<double>(outcome.answers.size()) - static_cast<double>(outcome.not_finite);
  if (known > 0) outcome.accuracy = right / known;
  if (classifies() || count == 0) return;
  outcome.mse = mse / count;
  outcome.psnr = psnr / count;
}

void Inference::warm_up() {
  const StreamGuard guard(stream_), copies(*copies_);
  Batch& batch = batches_.front();
  std::fill_n(batch.pixels.as<std::uint8_t>(), batch.pixels.bytes(), std::uint8_t{0});
  enqueue(batch, static_cast<std::size_t>(plan_->batch()));
  Samples unused;
  unused.layers.resize(layers_.size());
  time_layers(unused);
}

Findings Inference::find(ImageSource& source, std::span<Answer> room, const GoOn& go_on, Pace pace,
                         const Taken& taken) {
  Findings findings;
  findings.room = room;
  Samples& samples = findings.samples;
  samples.layers.resize(layers_.size());
  const StreamGuard guard(stream_), copies(*copies_);
  copies_beside_ = pace == Pace::overlapped;
  Stopwatch watch;
  Batch* under_way = nullptr;  // on the device while the host reads the next
  std::int64_t asked = 0;
  for (std::size_t turn = 0;; ++turn) {
    const auto ask = [&] { findings.interrupted = go_on && !go_on(asked); };
    if (under_way == nullptr) {
      watch.aside(ask);
    } else {
      ask();
    }
    if (findings.interrupted) break;
    Batch& batch = batches_[copies_beside_ ? turn % kBatches : 0];
    batch.start = watch.seconds();
    batch.images = source.read(plan_->batch(), batch.pixels.as<std::uint8_t>());
    if (batch.images.empty()) break;
    samples.read.push_back(kMicroseconds * (watch.seconds() - batch.start));
    asked += static_cast<std::int64_t>(batch.images.size());
    enqueue(batch, batch.images.size());
    if (under_way != nullptr) take(*under_way, watch, taken, findings);
    under_way = &batch;
    if (pace == Pace::overlapped && !batch.done->ready()) continue;
    take(batch, watch, taken, findings);
    under_way = nullptr;
    if (samples.layer_passes < kLayerPasses) watch.aside([&] { time_layers(samples); });
  }
  if (under_way != nullptr) take(*under_way, watch, taken, findings);
  if (taken) taken({});
  const auto wanted = findings.interrupted ? std::size_t{1} : std::size_t{kLayerPasses};
  const auto passes = static_cast<int>(std::min(wanted, samples.total.size()));
  const auto goes_on = [&] { return samples.layer_passes == 0 || !go_on || go_on(asked); };
  while (samples.layer_passes < passes && goes_on()) time_layers(samples);
  findings.refused = source.refused();
  findings.turned = source.turned();
  return findings;
}

Outcome Inference::conclude(Findings findings, std::vector<Answer> answers) const {
  Outcome outcome;
  outcome.answers = std::move(answers);
  outcome.refused = std::move(findings.refused);
  outcome.turned = findings.turned;
  outcome.interrupted = findings.interrupted;
  outcome.seconds = findings.seconds;
  summarize(std::move(findings.samples), outcome);
  return outcome;
}

Outcome Inference::run(ImageSource& source, const GoOn& go_on, Pace pace) {
  warm_up();
  std::vector<Answer> answers(static_cast<std::size_t>(source.count()));
  Findings findings = find(source, answers, go_on, pace);
  if (findings.answered == 0 && !findings.interrupted) refuse_all(findings.refused, source.title());
  answers.resize(findings.answered);
  return conclude(std::move(findings), std::move(answers));
}

}  // namespace warpscope::inference
