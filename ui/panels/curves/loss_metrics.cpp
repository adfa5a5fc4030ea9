#include "ui/panels/curves/loss_metrics.h"

#include <algorithm>

#include <fmt/format.h>

#include "gpu/runs/figure_table.h"

namespace warpscope::ui {
std::string tip_of(Metric metric) {
  const MetricFacts& facts = facts_of(metric);
  const training::Figure* const figure =
      training::find_series(facts.steps.empty() ? facts.test : facts.steps);
  return figure == nullptr ? std::string() : figure_tip(*figure);
}

std::array<bool, kMetrics> logarithmic_at_first() {
  std::array<bool, kMetrics> result{};
  for (std::size_t i = 0; i < kMetrics; ++i) result[i] = facts_of(static_cast<Metric>(i)).logarithmic;
  return result;
}

float shown_value(Metric metric, double value) {
  return static_cast<float>(value) * facts_of(metric).factor();
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
      if (snapshot.settings->optimizer.per_sample) {
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
      if (snapshot.state == training::TrainerState::preparing || snapshot.settings->optimizer.joint > 0)
        return {};
      if (const std::string why = training::why_no_head(snapshot); !why.empty()) return why;
      return "No head learns the classes beside the reconstruction: set joint above 0 in the tab Optimizer, "
             "or start with --joint.";
    case Metric::loss:
    case Metric::learning_rate:
    case Metric::images_per_second:
      return {};
  }
  return {};
}

Metric metric_for_another(std::span<const Metric> shown, const training::Snapshot& snapshot,
                          const MetricsSeen& seen) {
  for (const MetricFacts& facts : training::metrics()) {
    const bool taken = std::ranges::find(shown, facts.metric) != shown.end();
    if (!taken && why_missing(facts.metric, snapshot, seen).empty()) return facts.metric;
  }
  return Metric::loss;
}

}  // namespace warpscope::ui
