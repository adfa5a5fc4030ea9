#include "gpu/runs/figure_table.h"

#include <algorithm>
#include <array>

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
    Figure{"seconds", "time", "How long the training has run, pauses not counted.",
           "The sum of the steps' times by the device's clock.", &RunFigures::seconds, true}};

constexpr std::array kSeries{
    Figure{"train_loss", "train loss", kLoss,
           "The mean over the batch of one step, before its update, written by the device."},
    Figure{"train_accuracy", "train accuracy", kAccuracy, "The batch of one step, before its update."},
    Figure{"gradient_norm", "gradient norm",
           "The length of the gradient over all parameters, which tells how steep the loss is.",
           "L2 norm of the mean gradient of one step's batch, before clipping."},
    Figure{"update_ratio", "update ratio",
           "The length of an update over that of the weights: about a thousandth is usual.",
           "L2 norm of one step's update over that of the parameters; near 1 the weights are thrown about."},
    Figure{"scheduled_rate", "scheduled rate", "How far the weights move along the gradient in a step.",
           "The learning rate that the schedule gave one step; the setting is the schedule's base."},
    Figure{
        "loss_scale", "loss scale",
        "A factor that keeps small gradients from vanishing in FP16, taken out again before the update.",
        "It doubles after enough good steps and halves when a gradient overflows; such a step is skipped."},
    Figure{"images_per_second", "images/s", "How many images the training takes in a second.",
           "One step: its batch over the time since the step before, by the device's clock. The first step "
           "after a pause or a test has none."},
    Figure{"train_head_loss", "head loss", kHeadLoss,
           "The mean over the batch of one step, before joint multiplies it."},
    Figure{"train_head_accuracy", "head accuracy", kHeadAccuracy,
           "The batch of one step, before its update."},
    Figure{"test_loss", "test loss", kLoss, kTest},
    Figure{"test_psnr", "test PSNR", kPsnr, kTest},
    Figure{"test_accuracy", "test accuracy", kAccuracy, kTest},
    Figure{"test_head_loss", "test head loss", kHeadLoss, kTest},
    Figure{"test_head_accuracy", "test head accuracy", kHeadAccuracy, kTest},
    Figure{"test_feature_accuracy", "feature accuracy",
           "The share of held-out images whose class a small classifier tells from their latents.",
           "Softmax regression learns from the latents of two thirds of some held-out images and is judged "
           "on the "
           "others, every few seconds while this plot is open or the setting probe is on."},
    Figure{"validation_loss", "validation loss", kLoss, kValidation},
    Figure{"validation_psnr", "validation PSNR", kPsnr, kValidation},
    Figure{"validation_accuracy", "validation accuracy", kAccuracy, kValidation},
    Figure{"validation_head_loss", "validation head loss", kHeadLoss, kValidation},
    Figure{"validation_head_accuracy", "validation head accuracy", kHeadAccuracy, kValidation},
};

constexpr std::array kWindowFigures{
    Figure{"", "images/s now", "How many images the training takes in a second.",
           "The median over the steps of the last second, by the device's clock."},
    Figure{"", "its images/s", "How many images the training takes in a second with what stands in this row.",
           "The median over its steps whose time is known; not while something is measured beside the "
           "training."},
    Figure{"", "step memory",
           "What a training step holds on the device: activations, gradients and workspace.",
           "Planned before the first step, and the same in Results, Memory, Ladder and `warpscope models`."},
    Figure{"", "training memory", "What this training holds on the device in all.",
           "Its step memory, weights, optimizer, data, and the plans of tests and pictures; asked twice a "
           "second."},
    Figure{"", "device memory", "What all programs together hold of the memory of the device that trains.",
           "As the driver or the system tells it, twice a second."},
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
  return kSeries;
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
  const auto* const found =
      std::find_if(kSeries.begin(), kSeries.end(), [key](const Figure& figure) { return figure.key == key; });
  return found == kSeries.end() ? nullptr : found;
}

std::string figure_tip(const Figure& figure) {
  return std::string(figure.meaning) + "\n" + figure.measured;
}

}  // namespace warpscope::training
