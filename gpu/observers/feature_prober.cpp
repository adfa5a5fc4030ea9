// Judges the latents while the training goes on: a small classifier is fitted to those of some held-out images and
// judged on others.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/classifiers/linear/linear.h"
#include "gpu/classifiers/metrics.h"
#include "gpu/classifiers/standardize.h"
#include "gpu/core/error.h"
#include "gpu/features/collect.h"
#include "gpu/files/file.h"
#include "gpu/observers/latent_pass.h"
#include "gpu/observers/look.h"
#include "gpu/observers/observer_table.h"

namespace warpscope::training {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kProbedOnGpu = 3072, kProbedOnCpu = 192;
constexpr std::int64_t kLeastProbed = 30;
/// C of softmax regression on standardized columns, times the rows: few rows of many columns need to be held back.
constexpr double kWeight = 10;
constexpr double kTolerance = 1e-2;  ///< a probe need not be exact

/// Averaged over 2 x 2 pixels where both extents are even, else as they are: (count, C H W).
std::vector<float> columns_of(const core::Device& cpu, core::Stream& stream, const LatentPass& pass) {
  const models::Extent& extent = pass.latent().extent;
  const int window = extent.height % 2 == 0 && extent.width % 2 == 0 ? 2 : 1;
  const std::vector<float> values = pass.values();
  std::vector<float> rows(values.size() / static_cast<std::size_t>(window * window));
  features::collect(cpu, stream,
                    {.values = values.data(),
                     .count = static_cast<int>(pass.count()),
                     .height = extent.height,
                     .width = extent.width,
                     .channels = extent.channels,
                     .out_height = extent.height / window,
                     .out_width = extent.width / window,
                     .rows = rows.data(),
                     .row_columns = static_cast<std::int64_t>(rows.size() / pass.count())});
  return rows;
}

/// Fits to the first `learned` rows and judges on the others.
double accuracy_of(const classifiers::Place& place, std::vector<float>& rows, std::span<const int> labels,
                   int classes, std::size_t learned) {
  const auto columns = static_cast<int>(rows.size() / labels.size());
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

/// Observations::probe while ObservationRequest::feature_probe is set. Two thirds of the first 3,072 test images
/// (192 on a CPU) are learned from: softmax regression on their latents, averaged over 2 x 2 where that goes,
/// standardized. It is fitted on the host by a thread of its own.
class FeatureProber final : public Observer {
 public:
  static constexpr double kSecondsBetween = 3;  ///< two probes, at the least

  bool ask(const ObservationRequest& request) override {
    return std::exchange(wanted_, request.feature_probe) != wanted_;
  }
  bool wanted() const override { return wanted_; }
  /// Throws core::BadInput if the data set has fewer than two classes or too few test images.
  bool start(const Scene& scene) override {
    const auto now = Clock::now();
    if (look_.busy() || (started_ && now - *started_ < std::chrono::duration<double>(kSecondsBetween)))
      return false;
    const bool cpu = scene.device->kind() == core::DeviceKind::cpu;
    const std::int64_t images = std::min(scene.data.test.count, cpu ? kProbedOnCpu : kProbedOnGpu);
    if (scene.data.classes.size() < 2) {
      throw core::BadInput(
          fmt::format("{} has no classes by which features could be judged", scene.data.name));
    }
    if (images < kLeastProbed) {
      throw core::BadInput(fmt::format("features are judged on {} held-out images or more; there are {}",
                                       kLeastProbed, images));
    }
    labels_.assign(scene.data.test.labels.begin(), scene.data.test.labels.end());
    classes_ = static_cast<int>(scene.data.classes.size());
    look_.pass(scene, images);
    look_.start(scene);
    started_ = now;
    return true;
  }

  bool take(Observations& seen) override {
    std::optional<FeatureProbe> probe = look_.take([this](const LatentPass& pass) { return judge(pass); });
    if (!probe) return false;
    seen.probe = std::make_shared<const FeatureProbe>(std::move(*probe));
    return true;
  }

  void end(Observations& seen) override {
    look_.forget();
    started_.reset();
    seen.probe = nullptr;
  }
  double seconds() const override { return look_.seconds(); }
  double share() const override { return 1.0 / 100; }

 private:
  FeatureProbe judge(const LatentPass& pass) const {
    FeatureProbe probe;
    probe.step = pass.step();
    probe.generation = pass.generation();
    const std::shared_ptr<core::Device> cpu = core::open_device("cpu");
    const std::unique_ptr<core::Stream> stream = cpu->make_stream();
    std::vector<float> rows = columns_of(*cpu, *stream, pass);
    if (!std::ranges::all_of(rows, [](float value) { return std::isfinite(value); })) {
      probe.problem =
          fmt::format("The latents of step {} hold numbers that are not finite.", files::grouped(probe.step));
      return probe;
    }
    const std::size_t learned = pass.count() * 2 / 3;
    probe.learned_from = static_cast<int>(learned);
    probe.judged_on = static_cast<int>(pass.count() - learned);
    try {
      probe.accuracy =
          accuracy_of({cpu, stream.get()}, rows, std::span(labels_).first(pass.count()), classes_, learned);
    } catch (const core::Error& error) {
      probe.problem = error.what();
    }
    return probe;
  }

  bool wanted_ = false;
  std::vector<int> labels_;  ///< of all test images
  int classes_ = 0;
  std::optional<std::chrono::steady_clock::time_point> started_;
  PassLook<LatentPass, FeatureProbe> look_;  ///< last, so that its thread ends before what it reads
};

}  // namespace

std::unique_ptr<Observer> make_feature_prober() {
  return std::make_unique<FeatureProber>();
}

}  // namespace warpscope::training
