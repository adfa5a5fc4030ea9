#include "ui/panels/training/results_rows.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ui/panels/data_texts.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

using training::Split;

constexpr const char* kUnknownFigure = "-";

std::string decibels(double mean_squared_error) {
  return mean_squared_error > 0 && std::isfinite(mean_squared_error)
             ? fmt::format("{:.2f}", -10 * std::log10(mean_squared_error))
             : kUnknownFigure;
}

// "30"; of a run whose steps were given "0.02", as the epochs so far are told.
std::string epochs_text(double epochs) {
  return with_thousands(epochs, epochs == std::round(epochs) ? 0 : 2);
}

std::string percent(double share) {
  return fmt::format("{:.2f}", 100 * share);
}

// Small numbers of any magnitude, in four digits. The sign of a NaN means nothing.
std::string small_number(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.4g}", value);
}

std::vector<ResultCell> train_cells(const training::Snapshot& snapshot) {
  const training::RunFigures& figures = snapshot.figures;
  const bool known = figures.steps > 0;
  const char* const what = snapshot.classifies ? "Cross-entropy." : "Mean squared error.";
  std::vector<ResultCell> cells;
  cells.push_back(
      {"mean train loss", known ? compact_number(figures.final_train_loss) : kUnknownFigure, "", what});
  if (snapshot.classifies) {
    cells.push_back({"mean train accuracy", known ? percent(figures.final_train_accuracy) : kUnknownFigure,
                     known ? "%" : "", ""});
  } else {
    const std::string ratio = known ? decibels(figures.final_train_loss) : kUnknownFigure;
    cells.push_back({"train PSNR", ratio, ratio == kUnknownFigure ? "" : "dB",
                     "What the mean train loss stands for: -10 log10(loss), for pixels in [0, 1]."});
  }
  return cells;
}

/// Which held-out images the last evaluation was of, or the first will be.
Split split_of(const training::Snapshot& snapshot) {
  if (snapshot.evaluation) return snapshot.evaluation->split;
  return snapshot.validation_images > 0 ? Split::validation : Split::test;
}

/// Those whose figures are shown. The test at the end comes right behind the last evaluation of the validation images,
/// which stays; a test that validation images have followed is of an earlier training and not shown.
std::vector<Split> splits_of(const training::Snapshot& snapshot) {
  const bool validated = !std::isnan(snapshot.figures.validation_loss);
  const bool tested = !std::isnan(snapshot.figures.test_loss);
  const Split last = split_of(snapshot);
  if (last == Split::test && validated) return {Split::validation, Split::test};
  if (!snapshot.evaluation && last == Split::validation && tested) return {Split::validation, Split::test};
  return {last};
}

/// By the last evaluation where that was of these images, else by what the run tells of them.
std::vector<ResultCell> held_out_cells(const training::Snapshot& snapshot, Split split) {
  const bool of_checkpoint = snapshot.revival && snapshot.revival->ready;  // any one of the run's
  const bool last = snapshot.evaluation && snapshot.evaluation->split == split && !of_checkpoint;
  const bool validation = split == Split::validation;
  const training::RunFigures& run = snapshot.figures;
  const double of_run = validation ? run.validation_loss : run.test_loss;
  const bool known = last || !std::isnan(of_run);
  const double loss = last ? snapshot.evaluation->loss : of_run;
  const std::string name(to_string(split));
  const std::string when = last ? fmt::format("At step {}.", with_thousands(snapshot.evaluation->step)) : "";
  const std::string several = views_sentence(snapshot);
  std::vector<ResultCell> cells;
  cells.push_back({name + " loss", known ? compact_number(loss) : kUnknownFigure,
                   several.empty() ? "" : fmt::format("{} views", snapshot.test_views), when + several});
  if (snapshot.classifies) {
    const double accuracy = last         ? snapshot.evaluation->accuracy
                            : validation ? run.validation_accuracy
                                         : run.accuracy;
    cells.push_back(
        {name + " accuracy", known ? percent(accuracy) : kUnknownFigure, known ? "%" : "", when + several});
  } else {
    const double psnr = last ? snapshot.evaluation->psnr : validation ? run.validation_psnr : run.psnr;
    cells.push_back(
        {name + " PSNR", known ? fmt::format("{:.2f}", psnr) : kUnknownFigure, known ? "dB" : "", when});
  }
  return cells;
}

/// The cells of the head on the latents, if there is one.
std::vector<ResultCell> head_cells(const training::Snapshot& snapshot) {
  if (!(snapshot.settings->optimizer.joint > 0)) return {};
  const auto& evaluation = snapshot.evaluation;
  const bool judged = evaluation && evaluation->head;
  const std::string split(to_string(split_of(snapshot)));
  std::vector<ResultCell> cells;
  cells.push_back(
      {split + " head loss", judged ? compact_number(evaluation->head_loss) : kUnknownFigure, "", ""});
  cells.push_back({split + " head accuracy", judged ? percent(evaluation->head_accuracy) : kUnknownFigure,
                   judged ? "%" : "", ""});
  return cells;
}

ResultCell checkpoint_cell(const training::Snapshot& snapshot, const LastCheckpoint& last, double now) {
  if (snapshot.checkpoint_step == 0) {
    const bool recorded = !snapshot.run_dir.empty();
    return {"checkpoint", kUnknownFigure, recorded ? "none yet" : "not written",
            !recorded ? "No run is written, so there are no checkpoints."
                      : "None has been written yet: they come every few epochs and at the end."};
  }
  std::string when = last.seen >= 0 ? ago_text(now - last.seen) : "";
  const std::string steps = snapshot.checkpoint_step == 1 ? "step" : "steps";
  return {
      "checkpoint", with_thousands(snapshot.checkpoint_step), when.empty() ? steps : steps + ", " + when,
      "Steps done at the newest checkpoint: weights, optimizer state and all that is needed to go on from "
      "there with --resume."};
}

}  // namespace

LastCheckpoint observe_checkpoint(LastCheckpoint last, std::uint64_t checkpoint_step, double now,
                                  bool first) {
  if (first) return {checkpoint_step, -1};
  if (checkpoint_step != last.step) return {checkpoint_step, now};
  return last;
}

std::string ago_text(double seconds) {
  const double rounded = std::max(0.0, std::floor(seconds));
  if (rounded < 60) return fmt::format("{:.0f} s ago", rounded);
  if (rounded < 3600) return fmt::format("{:.0f} min ago", std::floor(rounded / 60));
  return fmt::format("{:.0f} h ago", std::floor(rounded / 3600));
}

double ago_text_end(double seconds) {
  const double unit = seconds < 60 ? 1 : seconds < 3600 ? 60 : 3600;
  return (std::floor(std::max(0.0, seconds) / unit) + 1) * unit;
}

Speed speed_of(const training::Snapshot& snapshot) {
  if (snapshot.state == training::TrainerState::running) {
    // No step is made while a rank is waited for.
    return {"images/s now", snapshot.awaited.empty() ? snapshot.images_per_second : 0};
  }
  const double median = snapshot.figures.median_images_per_second;
  return {"median images/s", std::isnan(median) ? 0 : median};
}

std::vector<ResultCell> loss_cells(const training::Snapshot& snapshot) {
  std::vector<ResultCell> cells = train_cells(snapshot);
  for (const Split split : splits_of(snapshot)) {
    for (ResultCell& cell : held_out_cells(snapshot, split)) cells.push_back(std::move(cell));
  }
  for (ResultCell& cell : head_cells(snapshot)) cells.push_back(std::move(cell));
  return cells;
}

std::vector<ResultCell> step_cells(const training::Snapshot& snapshot) {
  // A training that has just gone on knows only the loss of its last step.
  const float rate = snapshot.last[training::Metric::learning_rate];
  const bool known = snapshot.step > 0 && !std::isnan(rate);
  const bool one_update = known && !snapshot.settings->optimizer.per_sample;
  const char* const of_what = snapshot.settings->optimizer.per_sample
                                  ? "Each image updates by itself: no step has one gradient to measure."
                                  : "That of the last step.";
  const auto of_update = [&](training::Metric metric) -> std::string {
    return one_update ? small_number(static_cast<double>(snapshot.last[metric])) : kUnknownFigure;
  };
  std::vector<ResultCell> cells;
  cells.push_back({"gradient norm", of_update(training::Metric::gradient_norm), "", of_what});
  cells.push_back({"update ratio", of_update(training::Metric::update_ratio), "", of_what});
  if (known && rate != snapshot.settings->optimizer.learning_rate) {
    cells.push_back({"scheduled rate", small_number(static_cast<double>(rate)), "",
                     fmt::format("Learning rate of the last step: the schedule {} from the base rate {:g}.",
                                 to_string(snapshot.settings->schedule.kind),
                                 snapshot.settings->optimizer.learning_rate)});
  }
  const bool scaled = snapshot.selection.precision == core::Precision::fp16;
  if (scaled) {
    const float scale = snapshot.last[training::Metric::loss_scale];
    cells.push_back({"loss scale", known ? with_thousands(static_cast<double>(scale)) : kUnknownFigure, "",
                     "That of the last step."});
  }
  if (scaled || snapshot.skipped_steps > 0) {
    cells.push_back(
        {"skipped", with_thousands(snapshot.skipped_steps), snapshot.skipped_steps == 1 ? "step" : "steps",
         "Steps whose gradients overflowed: their update was skipped, the weights stayed as they were."});
  }
  return cells;
}

std::vector<ResultCell> run_cells(const training::Snapshot& snapshot, const LastCheckpoint& last,
                                  double now) {
  std::vector<ResultCell> cells;
  cells.push_back({"epochs", snapshot.step > 0 ? with_thousands(snapshot.epoch, 2) : kUnknownFigure,
                   snapshot.total_epochs > 0 ? "of " + epochs_text(snapshot.total_epochs) : "",
                   "Behind it the length of the run, if it has one."});
  cells.push_back({"time", clock_text(snapshot.seconds), "", ""});
  cells.push_back(checkpoint_cell(snapshot, last, now));
  cells.push_back({"parameters",
                   snapshot.parameters > 0 ? with_thousands(snapshot.parameters) : kUnknownFigure, "",
                   "Trained parameters of the network."});
  const auto bytes = [&](const char* label, std::size_t count) {
    cells.push_back({label, count > 0 ? bytes_text(static_cast<double>(count)) : kUnknownFigure, "", ""});
  };
  bytes("step memory", snapshot.plan_bytes);
  bytes("training memory", snapshot.memory.allocated_bytes);
  return cells;
}

}  // namespace warpscope::ui
