#include "gpu/messages/metrics.h"

#include <cctype>
#include <iterator>
#include <string_view>
#include <vector>

namespace warpscope::training {
namespace {

enum class Of : std::uint8_t { step, held_out, both, tests };

struct Facts {
  Metric metric;
  const char* key;
  const char* name;
  const char* unit;
  Of of;
  bool always, smooths, logarithmic;
  const char* meaning;
  const char* measured;
};

constexpr const char *kHeadLoss = "The loss of a linear head that learns the classes from the latents.",
                     *kHeadAccuracy =
                         "The share of images whose class a linear head tells from their latents.";

constexpr Facts kFacts[] = {
    {Metric::loss, "loss", "loss", "", Of::both, true, true, true,
     "How far the answers of the network are from the right ones.",
     "The mean over the batch of one step, before its update, written by the device."},
    {Metric::accuracy, "accuracy", "accuracy", "%", Of::both, false, true, false,
     "The share of images whose most probable class is the true one.",
     "Over the batch of one step, before its update."},
    {Metric::gradient_norm, "gradient_norm", "gradient norm", "", Of::step, true, true, true,
     "The length of the gradient over all parameters, which tells how steep the loss is.",
     "L2 norm of the mean gradient of one step's batch, before clipping."},
    {Metric::update_ratio, "update_ratio", "update ratio", "", Of::step, true, true, true,
     "The length of an update over that of the weights: about a thousandth is usual.",
     "L2 norm of one step's update over that of the parameters; near 1 the weights are thrown about."},
    {Metric::learning_rate, "learning_rate", "learning rate", "", Of::step, true, false, true,
     "How far the weights move along the gradient in a step.",
     "The learning rate that the schedule gave one step; the setting is the schedule's base."},
    {Metric::loss_scale, "loss_scale", "loss scale", "", Of::step, false, false, true,
     "A factor that keeps small gradients from vanishing in FP16, taken out again before the update.",
     "It doubles after enough good steps and halves when a gradient overflows; such a step is skipped."},
    {Metric::images_per_second, "images_per_second", "images/s", "", Of::step, true, true, false,
     "How many images the training takes in a second.",
     "One step: its batch over the time since the step before, by the device's clock. The first step after a "
     "pause or a test has none."},
    {Metric::psnr, "psnr", "PSNR", "dB", Of::held_out, false, false, false,
     "How close pictures are to the originals, in decibels: 10 more are a tenth of the squared error.", ""},
    {Metric::feature_accuracy, "feature_accuracy", "feature accuracy", "%", Of::tests, false, false, false,
     "The share of held-out images whose class a small classifier tells from their latents.",
     "Softmax regression learns from the latents of two thirds of some held-out images and is judged on the "
     "others, every few seconds while this plot is open or the setting probe is on."},
    {Metric::head_loss, "head_loss", "head loss", "", Of::both, false, true, true, kHeadLoss,
     "The mean over the batch of one step, before joint multiplies it."},
    {Metric::head_accuracy, "head_accuracy", "head accuracy", "%", Of::both, false, true, false,
     kHeadAccuracy, "Over the batch of one step, before its update."},
};

constexpr bool rows_stand_in_order() {
  for (std::size_t i = 0; i < std::size(kFacts); ++i) {
    if (static_cast<std::size_t>(kFacts[i].metric) != i) return false;
  }
  return std::size(kFacts) == kMetrics;
}
static_assert(rows_stand_in_order());

std::string label_of(const Facts& facts) {
  std::string label = facts.name;
  label.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(label.front())));
  return *facts.unit == '\0' ? label : label + ", " + facts.unit;
}

/// The name of a series is one number in the whole run: the setting is another learning rate than that of a step.
std::string steps_of(const Facts& facts) {
  if (facts.of == Of::both) return std::string("train_") + facts.key;
  if (facts.of != Of::step) return "";
  return facts.key == std::string_view("learning_rate") ? "scheduled_rate" : facts.key;
}

std::vector<MetricRow> make_rows() {
  std::vector<MetricRow> rows;
  for (const Facts& facts : kFacts) {
    const std::string key = facts.key;
    const bool held_out = facts.of == Of::both || facts.of == Of::held_out;
    rows.push_back({.metric = facts.metric,
                    .key = key,
                    .name = facts.name,
                    .unit = facts.unit,
                    .label = label_of(facts),
                    .steps = steps_of(facts),
                    .test = held_out || facts.of == Of::tests ? "test_" + key : "",
                    .validation = held_out ? "validation_" + key : "",
                    .always = facts.always,
                    .smooths = facts.smooths,
                    .logarithmic = facts.logarithmic,
                    .meaning = facts.meaning,
                    .measured = facts.measured});
  }
  return rows;
}

}  // namespace

std::span<const MetricRow> metrics() {
  static const std::vector<MetricRow> rows = make_rows();
  return rows;
}

}  // namespace warpscope::training
