#include "ui/panels/pictures/picture_figures.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "gpu/inspect/ssim.h"
#include "ui/images/psnr.h"
#include "ui/text/terms.h"

namespace warpscope::ui {
namespace {

constexpr std::size_t kStepsAJob = 8;

template <class T>
bool ready(const std::future<T>& job) {
  return job.valid() && job.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

double mean_squared_error(const float* a, const float* b, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  return sum / static_cast<double>(count);
}

std::vector<double> similarities(const std::vector<float>& original, const std::vector<float>& pictures,
                                 const training::ImageShape& shape) {
  const auto image = shape.elements() / static_cast<std::size_t>(std::max(1, shape.count));
  std::vector<double> result;
  for (std::size_t at = 0; at < shape.elements(); at += image) {
    result.push_back(inspect::ssim(original.data() + at, pictures.data() + at,
                                   {shape.height, shape.width, shape.channels}));
  }
  return result;
}

constexpr double kSeconds = 1.0;

}  // namespace

std::vector<double> PictureFigures::values(PictureMetric metric) const {
  if (metric == PictureMetric::ssim) return ssim;
  if (metric == PictureMetric::mse) return mse;
  std::vector<double> result;
  for (const double error : mse) result.push_back(images::psnr(static_cast<float>(error)));
  return result;
}

std::string tip_of(PictureMetric metric) {
  static constexpr std::array<const char*, 3> kMeasured{
      "-10 log10 of the mean squared error over the image's pixels and channels, from the full-precision "
      "values. Larger is better.",
      "From means, variances and covariance under a Gaussian window of 11 x 11 pixels (sigma 1.5), per "
      "channel, then the mean (Wang et al. 2004). Larger is better.",
      "Over the image's pixels and channels, from the full-precision values. Smaller is better."};
  const auto i = static_cast<std::size_t>(metric);
  return label_tip(kPictureMetrics[i], kMeasured[i]);
}

const char* unit_of(PictureMetric metric) {
  return metric == PictureMetric::psnr ? "dB" : "";
}

std::string figure_text(PictureMetric metric, double value, bool narrow) {
  if (std::isnan(value)) return "-";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const int less = narrow ? 1 : 0;
  if (metric == PictureMetric::psnr) return fmt::format("{:.{}f}", value, 2 - less);
  if (metric == PictureMetric::ssim) return fmt::format("{:.{}f}", value, 3 - less);
  const bool tiny = value != 0 && value < 1e-4;
  return tiny ? fmt::format("{:.{}e}", value, 1 - less) : fmt::format("{:.{}f}", value, 4 - less);
}

double mean_figure(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

PictureFigures figures_of(const std::vector<float>& original, const std::vector<float>& pictures,
                          const training::ImageShape& shape, bool with_ssim) {
  const auto image = shape.elements() / static_cast<std::size_t>(std::max(1, shape.count));
  PictureFigures figures;
  for (std::size_t at = 0; at < shape.elements(); at += image) {
    figures.mse.push_back(mean_squared_error(original.data() + at, pictures.data() + at, image));
  }
  if (with_ssim) figures.ssim = similarities(original, pictures, shape);
  return figures;
}

void RowFigures::want(PictureRow row, const SharedValues& original, const SharedValues& pictures,
                      const training::ImageShape& shape, bool with_ssim) {
  Slot& slot = slots_[index_of(row)];
  if (!original || !pictures) {
    slot.figures = nullptr;
    slot.of = nullptr;
    return;
  }
  if (slot.job.valid() || (slot.of == pictures && slot.with_ssim >= with_ssim)) return;
  slot.computing = pictures;
  slot.with_ssim = with_ssim;
  slot.job = std::async(std::launch::async, [original, pictures, shape, with_ssim] {
    return figures_of(*original, *pictures, shape, with_ssim);
  });
}

const PictureFigures* RowFigures::find(PictureRow row) const {
  return slots_[index_of(row)].figures.get();
}

bool RowFigures::advance() {
  bool any = false;
  for (Slot& slot : slots_) {
    if (!ready(slot.job)) continue;
    slot.figures = std::make_shared<PictureFigures>(slot.job.get());
    slot.of = std::exchange(slot.computing, nullptr);
    any = true;
  }
  return any;
}

void HistoryFigures::update(const std::shared_ptr<const training::ImageHistory>& history, bool with_ssim) {
  with_ssim_ = with_ssim;
  const std::uint64_t version = history ? history->version() : 0;
  if (history != history_ || version != seen_) {
    if (history != history_) moments_.clear();
    history_ = history;
    seen_ = version;
    std::map<std::uint64_t, PictureFigures> before;
    for (Moment& moment : moments_) before[moment.step] = std::move(moment.figures);
    moments_.clear();
    for (const auto& errors : history ? history->errors() : std::vector<training::ImageHistory::Errors>{}) {
      Moment moment{errors.step, {{errors.images.begin(), errors.images.end()}, {}}};
      const auto known = before.find(errors.step);
      if (known != before.end() && known->second.mse == moment.figures.mse) moment.figures = known->second;
      moments_.push_back(std::move(moment));
    }
    ++version_;
  }
  if (with_ssim_ && !job_.valid()) start();
}

void HistoryFigures::start() {
  std::vector<std::uint64_t> missing;
  for (const Moment& moment : moments_) {
    if (moment.figures.ssim.empty() && missing.size() < kStepsAJob) missing.push_back(moment.step);
  }
  if (missing.empty()) return;
  job_ = std::async(std::launch::async, [history = history_, missing] {
    Computed computed;
    for (const std::uint64_t step : missing) {
      const auto images = history->at(step);
      if (!images || images->step != step) continue;
      computed[step] = {{images->errors.begin(), images->errors.end()},
                        similarities(images->original, images->reconstruction, images->shape)};
    }
    return computed;
  });
}

bool HistoryFigures::advance() {
  if (!ready(job_)) return false;
  const Computed computed = job_.get();
  for (Moment& moment : moments_) {
    const auto found = computed.find(moment.step);
    // Another training may have come to the same step meanwhile: then its errors are others.
    if (found != computed.end() && found->second.mse == moment.figures.mse) moment.figures = found->second;
  }
  ++version_;
  if (with_ssim_) start();
  return true;
}

void KeptPictureOrder::update(const OrderChoice& choice, const OrderNumbers& numbers,
                              std::span<const std::uint8_t> labels, double now, bool held) {
  renewal_.reset();
  const bool sorts = choice.order != PictureOrder::stored;
  const bool same = any_ && choice == choice_;
  if (same && sorts) {
    if (numbers == numbers_ || held) return;
    if (now < made_ + kSeconds) {
      renewal_ = made_ + kSeconds;
      return;
    }
  }
  OrderFigures figures;
  std::vector<double> quality = numbers.figures[index_of(PictureRow::now)];
  if (choice.metric == PictureMetric::mse) {
    for (double& value : quality) value = -value;
  }
  figures.quality = quality;
  figures.change = numbers.changes;
  figures.labels = labels;
  images_ = arrange_pictures(choice.count, choice.order, choice.wanted_class, figures);
  choice_ = choice;
  numbers_ = numbers;
  made_ = now;
  any_ = true;
}

}  // namespace warpscope::ui
