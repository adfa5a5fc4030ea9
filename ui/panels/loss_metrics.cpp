#include "ui/panels/loss_metrics.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "gpu/runs/figure_table.h"

namespace warpscope::ui {
namespace {

constexpr std::array<MetricFacts, kMetrics> kFacts{{
    {"Loss", "loss", 1, "train_loss", "test_loss", "validation_loss", true, true},
    {"Accuracy, %", "accuracy", 100, "train_accuracy", "test_accuracy", "validation_accuracy", true, false},
    {"Gradient norm", "gradient_norm", 1, "gradient_norm", "", "", true, true},
    {"Update ratio", "update_ratio", 1, "update_ratio", "", "", true, true},
    {"Learning rate", "learning_rate", 1, "scheduled_rate", "", "", false, true},
    {"Loss scale", "loss_scale", 1, "loss_scale", "", "", false, true},
    {"Images/s", "images_per_second", 1, "images_per_second", "", "", true, false},
    {"PSNR, dB", "psnr", 1, "", "test_psnr", "validation_psnr", false, false},
    {"Feature accuracy, %", "feature_accuracy", 100, "", "test_feature_accuracy", "", false, false},
    {"Head loss", "head_loss", 1, "train_head_loss", "test_head_loss", "validation_head_loss", true, true},
    {"Head accuracy, %", "head_accuracy", 100, "train_head_accuracy", "test_head_accuracy",
     "validation_head_accuracy", true, false},
}};

}  // namespace

const MetricFacts& facts_of(Metric metric) {
  return kFacts[static_cast<std::size_t>(metric)];
}

std::string tip_of(Metric metric) {
  const MetricFacts& facts = facts_of(metric);
  const training::Figure* const figure =
      training::find_series(*facts.steps != '\0' ? facts.steps : facts.test);
  return figure == nullptr ? std::string() : figure_tip(*figure);
}

std::array<bool, kMetrics> logarithmic_at_first() {
  std::array<bool, kMetrics> result{};
  for (std::size_t i = 0; i < kMetrics; ++i) result[i] = kFacts[i].logarithmic;
  return result;
}

float shown_value(Metric metric, double value) {
  const bool never_zero = metric == Metric::gradient_norm || metric == Metric::update_ratio ||
                          metric == Metric::images_per_second || metric == Metric::psnr;
  if (never_zero && value == 0) return std::numeric_limits<float>::quiet_NaN();
  return static_cast<float>(value) * facts_of(metric).factor;
}

std::string why_missing(Metric metric, const training::Snapshot& snapshot, const MetricsSeen& seen) {
  if (seen[static_cast<std::size_t>(metric)]) return {};
  switch (metric) {
    case Metric::accuracy:
      if (snapshot.state == training::TrainerState::preparing || snapshot.classifies) return {};
      return "This network does not classify: it rebuilds its input, and has no accuracy.";
    case Metric::loss_scale:
      if (snapshot.selection.precision == core::Precision::fp16) return {};
      return "Only FP16 scales the loss: choose fp16 above to see it.";
    case Metric::gradient_norm:
    case Metric::update_ratio:
      if (snapshot.step == 0) return {};
      if (snapshot.optimizer.per_sample) {
        return "Each image updates by itself: no step has one gradient to measure.";
      }
      return fmt::format("No step of this training has measured the {}.",
                         metric == Metric::gradient_norm ? "gradient norm" : "update-to-weight ratio");
    case Metric::feature_accuracy:
      if (!snapshot.data || snapshot.data->classes.size() > 1) return {};
      return "These images have no classes by which features could be judged.";
    case Metric::psnr:
      if (!snapshot.classifies) return {};
      return "This network classifies: it rebuilds no images, and has no PSNR.";
    case Metric::head_loss:
    case Metric::head_accuracy:
      if (snapshot.state == training::TrainerState::preparing || snapshot.optimizer.joint > 0) return {};
      if (const std::string why = training::why_no_head(snapshot); !why.empty()) return why;
      return "No head learns the classes beside the reconstruction: set joint above 0 in the tab Optimizer, "
             "or start with --joint.";
    default:
      return {};
  }
}

Metric metric_for_another(std::span<const int> shown, const training::Snapshot& snapshot,
                          const MetricsSeen& seen) {
  for (std::size_t i = 0; i < kMetrics; ++i) {
    const bool taken = std::find(shown.begin(), shown.end(), static_cast<int>(i)) != shown.end();
    const auto metric = static_cast<Metric>(i);
    if (!taken && why_missing(metric, snapshot, seen).empty()) return metric;
  }
  return Metric::loss;
}

}  // namespace warpscope::ui
