#include "gpu/runs/figure_table.h"

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <vector>

#include "gpu/messages/metrics.h"

namespace warpscope::training {
namespace {

constexpr const char *
    kLoss = "How far the answers of the network are from the right ones.",
   *kAccuracy = "The share of images whose most probable class is the true one.",
   *kPsnr = "How close pictures are to the originals, in decibels: 10 more are a tenth of the squared error.",
   *kHeadLoss = "The loss of a linear head that learns the classes from the latents.",
   *kHeadAccuracy = "The share of images whose class a linear head tells from their latents.",
   *kLastTest = "Over the test images, at the last test.",
   *kLastValidation = "Over the validation images, at the last evaluation; where there are any.",
   *kTest = "Over the test images, in each test.",
   *kValidation = "Over the validation images, in each evaluation of them.";

constexpr std::array kRunFigures{
    Figure{"epochs", "epochs", "Passes over the training images.", "Whole and part, up to the last step.",
           &RunFigures::epochs, true},
    Figure{"final_train_loss", "mean train loss", kLoss,
           "The mean over the last 50 steps, each of its own batch; over all if there are fewer.",
           &RunFigures::final_train_loss, true},
    Figure{"final_train_accuracy", "mean train accuracy", kAccuracy,
           "The mean over the last 50 steps, each of its own batch before its update; of networks that "
           "classify.",
           &RunFigures::final_train_accuracy},
    Figure{"validation_loss", "validation loss", kLoss, kLastValidation, &RunFigures::validation_loss},
    Figure{"validation_psnr", "validation PSNR", kPsnr, kLastValidation, &RunFigures::validation_psnr},
    Figure{"validation_accuracy", "validation accuracy", kAccuracy, kLastValidation,
           &RunFigures::validation_accuracy},
    Figure{"test_loss", "test loss", kLoss, kLastTest, &RunFigures::test_loss, true},
    Figure{"psnr", "test PSNR", kPsnr,
           "The mean over the test images, at the last test; of networks that reconstruct.",
           &RunFigures::psnr, true},
    Figure{"accuracy", "test accuracy", kAccuracy,
           "Over the test images, at the last test; of networks that classify.", &RunFigures::accuracy},
    Figure{"head_loss", "test head loss", kHeadLoss, kLastTest, &RunFigures::head_loss},
    Figure{"head_accuracy", "test head accuracy", kHeadAccuracy, kLastTest, &RunFigures::head_accuracy},
    Figure{"median_images_per_second", "median images/s", "How many images the training takes in a second.",
           "The median over all steps whose time is known; the first after a pause or a test has none.",
           &RunFigures::median_images_per_second, true},
    Figure{
        "seconds", "time", "How long the training has run, pauses not counted.",
        "The sum of the steps' times by the device's clock; one behind a test or a pause counts as most do.",
        &RunFigures::seconds, true}};

/// The names of the series of metrics, which the figures point to.
struct SeriesFigures {
  std::deque<std::string> names;
  std::vector<Figure> figures;

  void add(const MetricRow& row, const std::string& key, const char* before, const char* measured) {
    if (!key.empty())
      figures.push_back({key.c_str(), names.emplace_back(before + row.name).c_str(), row.meaning, measured});
  }
};

SeriesFigures make_series() {
  SeriesFigures made;
  for (const MetricRow& row : metrics())
    made.add(row, row.steps, row.test.empty() ? "" : "train ", row.measured);
  for (const MetricRow& row : metrics()) {
    const bool only_tests = row.steps.empty() && row.validation.empty();
    made.add(row, row.test, only_tests ? "" : "test ", only_tests ? row.measured : kTest);
  }
  for (const MetricRow& row : metrics()) made.add(row, row.validation, "validation ", kValidation);
  return made;
}

constexpr std::array kWindowFigures{
    Figure{"", "images/s now", "How many images the training takes in a second.",
           "The median over the steps of the last second, by the device's clock; while the training runs."},
    Figure{"", "its images/s", "How many images the training takes in a second with what stands in this row.",
           "The median over its steps whose time is known; not while something is measured beside the "
           "training."},
    Figure{"", "step memory",
           "What a training step holds on the device: activations, gradients and workspace.",
           "Planned before the first step, and the same in Results, Memory, Ladder and `warpscope models`."},
    Figure{"", "training memory", "What this training holds on the device in all.",
           "Its step memory, weights, optimizer, data, and the plans of tests and pictures; asked twice a "
           "second while it is open, so a run that has ended has its last answer."},
    Figure{"", "device memory", "What all programs together hold of the memory of the device that trains.",
           "As the driver or the system tells it, twice a second while the training is open; a run that has "
           "ended has the last answer."},
};

const Figure* find(std::span<const Figure> figures, std::string_view name) {
  const auto found = std::find_if(figures.begin(), figures.end(),
                                  [name](const Figure& figure) { return figure.name == name; });
  return found == figures.end() ? nullptr : &*found;
}

}  // namespace

std::span<const Figure> run_figures() {
  return kRunFigures;
}

std::span<const Figure> series_figures() {
  static const SeriesFigures series = make_series();
  return series.figures;
}

std::span<const Figure> window_figures() {
  return kWindowFigures;
}

const Figure* find_figure(std::string_view name) {
  for (const std::span<const Figure> figures : {run_figures(), series_figures(), window_figures()}) {
    if (const Figure* const found = find(figures, name)) return found;
  }
  return nullptr;
}

const Figure* find_series(std::string_view key) {
  const std::span<const Figure> all = series_figures();
  const auto found =
      std::find_if(all.begin(), all.end(), [key](const Figure& figure) { return figure.key == key; });
  return found == all.end() ? nullptr : &*found;
}

std::string figure_tip(const Figure& figure) {
  return std::string(figure.meaning) + "\n" + figure.measured;
}

}  // namespace warpscope::training
