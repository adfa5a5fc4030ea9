#include "gpu/observers/feature_prober.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "gpu/classifiers/linear/linear.h"
#include "gpu/classifiers/metrics.h"
#include "gpu/classifiers/standardize.h"
#include "gpu/core/error.h"

namespace warpscope::training {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kImagesOnGpu = 3072, kImagesOnCpu = 192;
constexpr std::int64_t kLeastImages = 30;
/// C of softmax regression on standardized columns, times the rows: few rows of many columns need to be held back.
constexpr double kWeight = 10;
constexpr double kTolerance = 1e-2;  ///< a probe need not be exact

/// (count, H, W, C) averaged over 2 x 2 pixels where both extents are even, else as it is.
std::vector<float> averaged(const std::vector<float>& values, std::size_t count,
                            const models::Extent& extent) {
  if (extent.height % 2 != 0 || extent.width % 2 != 0) return values;
  const auto height = static_cast<std::size_t>(extent.height), width = static_cast<std::size_t>(extent.width),
             channels = static_cast<std::size_t>(extent.channels);
  std::vector<float> result(values.size() / 4, 0.0f);
  for (std::size_t row = 0; row < count * height; ++row) {
    for (std::size_t x = 0; x < width; ++x) {
      const float* const from = values.data() + (row * width + x) * channels;
      float* const to = result.data() + (row / 2 * (width / 2) + x / 2) * channels;
      for (std::size_t c = 0; c < channels; ++c) to[c] += 0.25f * from[c];
    }
  }
  return result;
}

/// Fits to the first `learned` rows and judges on the others.
double accuracy_of(std::vector<float>& rows, std::span<const int> labels, int classes, std::size_t learned) {
  const auto columns = static_cast<int>(rows.size() / labels.size());
  const std::shared_ptr<core::Device> cpu = core::open_device("cpu");
  const std::unique_ptr<core::Stream> stream = cpu->make_stream();
  const classifiers::Place place{cpu, stream.get()};
  float* const others = rows.data() + learned * static_cast<std::size_t>(columns);
  const classifiers::FeatureMatrix training{rows.data(), static_cast<std::int64_t>(learned), columns};
  const classifiers::FeatureMatrix test{others, static_cast<std::int64_t>(labels.size() - learned), columns};
  const auto by = classifiers::find_standardization(place, training);
  classifiers::standardize(place, by, training, rows.data());
  classifiers::standardize(place, by, test, others);
  classifiers::linear::LinearOptions options;
  options.loss = classifiers::linear::LinearLoss::softmax;
  options.c = kWeight / static_cast<double>(learned);
  options.tolerance = kTolerance;
  const auto fitted =
      classifiers::linear::fit_linear(place, {training, labels.first(learned), classes}, options);
  return classifiers::measure(labels.subspan(learned), fitted->predict(place, test).labels, classes).accuracy;
}

}  // namespace

FeatureProber::~FeatureProber() {
  forget();
}

/// The thread reads what the pass brought, so it ends first.
void FeatureProber::forget() {
  if (judging_.valid()) judging_.wait();
  judging_ = {};
  pass_.reset();
  pending_ = false;
  started_.reset();
}

bool FeatureProber::ask(const ObservationRequest& request) {
  return std::exchange(wanted_, request.feature_probe) != wanted_;
}

bool FeatureProber::start(const Scene& scene) {
  const auto now = Clock::now();
  if (pending_ || (started_ && now - *started_ < std::chrono::duration<double>(kSecondsBetween)))
    return false;
  const bool cpu = scene.device->kind() == core::DeviceKind::cpu;
  const std::int64_t images = std::min(scene.data.test.count, cpu ? kImagesOnCpu : kImagesOnGpu);
  if (scene.data.classes.size() < 2) {
    throw core::BadInput(fmt::format("{} has no classes by which features could be judged", scene.data.name));
  }
  if (images < kLeastImages) {
    throw core::BadInput(
        fmt::format("features are judged on {} held-out images or more; there are {}", kLeastImages, images));
  }
  if (pass_ && pass_->selection() != scene.selection) pass_.reset();
  if (!pass_) {
    pass_ = std::make_unique<LatentPass>(scene, images);
    labels_.assign(scene.data.test.labels.begin(), scene.data.test.labels.begin() + images);
    classes_ = static_cast<int>(scene.data.classes.size());
  }
  pass_->start(scene);
  pending_ = true;
  started_ = now;
  return true;
}

bool FeatureProber::take(Observations& seen) {
  if (!pending_ || !pass_->ready()) return false;
  if (!judging_.valid()) {
    seconds_ = pass_->seconds();
    judging_ = std::async(std::launch::async, [this] { return judge(); });
  }
  if (judging_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
  pending_ = false;
  seen.probe = std::make_shared<const FeatureProbe>(judging_.get());
  return true;
}

void FeatureProber::end(Observations& seen) {
  forget();
  seen.probe = nullptr;
}

FeatureProbe FeatureProber::judge() const {
  FeatureProbe probe;
  probe.step = pass_->step();
  probe.generation = pass_->generation();
  const std::vector<float> latents = pass_->values();
  if (!std::all_of(latents.begin(), latents.end(), [](float value) { return std::isfinite(value); })) {
    probe.problem = fmt::format("The latents of step {} hold numbers that are not finite.", probe.step);
    return probe;
  }
  std::vector<float> rows = averaged(latents, labels_.size(), pass_->latent().extent);
  const std::size_t learned = labels_.size() * 2 / 3;
  probe.learned_from = static_cast<int>(learned);
  probe.judged_on = static_cast<int>(labels_.size() - learned);
  try {
    probe.accuracy = accuracy_of(rows, labels_, classes_, learned);
  } catch (const core::Error& error) {
    probe.problem = error.what();
  }
  return probe;
}

}  // namespace warpscope::training
