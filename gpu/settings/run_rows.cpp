// The rows of the settings that say when a training ends and what is kept of it.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "gpu/settings/setting_fields.h"
#include "gpu/settings/setting_rows.h"

namespace warpscope::training {
namespace {

using S = TrainingSettings;

std::vector<std::string> reaction_names() {
  return {"pause", "fail"};
}

std::vector<std::string> missing_rank_names() {
  return {"go-on", "stop"};
}

void check_time(const std::string& text) {
  if (!text.empty()) parse_time_span(text);
}

constexpr Range kSmallCount = {.most = 2147483647.0};
constexpr Range kFromOne = {.least = 1, .most = 2147483647.0};

static_assert(SpikeSettings{}.warm_up == 50, "the help of zscore tells it");
static_assert(kWatched == 8 && kLeaping == 5 && kWatchedLong == 20 && kForgetting == 16 &&
                  kWatchedAfterChange == 200,
              "the help of leap tells it");

constexpr auto kStopRows = beside_weights(of_table(
    "stop",
    std::array{
        Setting{.key = "epochs",
                .meaning = "passes over the training images",
                .unit = "epochs",
                .range = kCount,
                .field = field([](auto& s) -> auto& { return s.epochs; }),
                .zero = "no limit"},
        Setting{.key = "steps",
                .meaning = "training steps; the first limit that is reached ends the run",
                .unit = "steps",
                .range = kCount,
                .field = field([](auto& s) -> auto& { return s.steps; }),
                .zero = "no limit"},
        Setting{.key = "early_stop",
                .meaning = "evaluations without a better loss after which the run ends",
                .unit = "evaluations",
                .range = kSmallCount,
                .field = field([](auto& s) -> auto& { return s.stop.patience; }),
                .zero = "off"},
        Setting{.key = "target_loss",
                .meaning = "evaluated loss at which the run ends",
                .field = {.kind = Kind::real,
                          .get = [](const S& s) -> std::optional<Value> {
                            return s.stop.target_loss.value_or(0.0);
                          },
                          .set =
                              [](S& s, const Value& value) {
                                s.stop.target_loss.reset();
                                if (const double loss = std::get<double>(value); loss > 0)
                                  s.stop.target_loss = loss;
                              }},
                .zero = "none"},
        Setting{.key = "target_accuracy",
                .meaning = "evaluated accuracy, a share of the images, at which a run that classifies ends",
                .range = {.most = 1},
                .field = field([](auto& s) -> auto& { return s.stop.target_accuracy; }),
                .zero = "none"},
        Setting{.key = "time",
                .meaning = "time budget, such as 90s, 15m or 1h30m",
                .field = text_field(
                    [](const S& s) {
                      return s.stop.seconds > 0 ? format_time_span(s.stop.seconds) : std::string();
                    },
                    [](S& s, const std::string& text) {
                      s.stop.seconds = text.empty() ? 0.0 : parse_time_span(text);
                    }),
                .check = check_time,
                .example = "1h30m",
                .standard_text = "no limit"},
        Setting{.key = "zscore",
                .label = "loss spike",
                .meaning =
                    "a loss so many standard deviations above its running mean counts as divergence, as one "
                    "that is not finite always does; the first 50 losses are not judged",
                .range = kToMillion,
                .field = field([](auto& s) -> auto& { return s.spikes.threshold; }),
                .zero = "off",
                .slider = Slider{.low = 2, .high = 50, .logarithmic = true, .zero = true}},
        Setting{.key = "leap",
                .label = "loss leap",
                .meaning = "five of eight losses so many times above that of a network that has learned "
                           "nothing count as "
                           "divergence: above its first loss, and that of guessing. Within 200 steps after a "
                           "change of the "
                           "optimizer or the schedule, sixteen of twenty losses above twice their mean and "
                           "above half of "
                           "that loss count "
                           "too",
                .range = kToMillion,
                .field = field([](auto& s) -> auto& { return s.spikes.leap; }),
                .zero = "off"},
        Setting{.key = "on_divergence",
                .meaning = "what divergence does; without a window it always fails",
                .field = text_field(
                    [](const S& s) { return std::string(s.pause_on_divergence ? "pause" : "fail"); },
                    [](S& s, const std::string& name) { s.pause_on_divergence = name == "pause"; }),
                .names = reaction_names,
                .example = "fail",
                .changes = Changes::at_start},
        Setting{.key = "on_missing_rank",
                .meaning =
                    "what a training does whose rank has ended: go on with fewer from its last copy of the "
                    "weights, which is about a second old, or stop; ranks that mpirun started always stop",
                .field = text_field(
                    [](const S& s) { return std::string(s.go_on_without_ranks ? "go-on" : "stop"); },
                    [](S& s, const std::string& name) { s.go_on_without_ranks = name == "go-on"; }),
                .names = missing_rank_names,
                .example = "stop",
                .changes = Changes::at_start,
                .shapes_weights = false},
        Setting{.key = "rank_timeout",
                .meaning = "seconds after which a rank that stands still counts as missing and is killed",
                .unit = "seconds",
                .range = kToMillion,
                .field = field([](auto& s) -> auto& { return s.rank_timeout; }),
                .changes = Changes::at_start,
                .zero = "never",
                .shapes_weights = false}}));

constexpr auto kCheckpointRows = beside_weights(of_table(
    "checkpoints",
    std::array{Setting{.key = "every_epochs",
                       .name = "checkpoint_every",
                       .meaning = "epochs between checkpoints, which are half a second apart at least",
                       .unit = "epochs",
                       .range = kSmallCount,
                       .field = field([](auto& s) -> auto& { return s.checkpoint_epochs; }),
                       .zero = "only at the end"},
               Setting{.key = "keep",
                       .meaning = "newest checkpoints kept, beside the best",
                       .unit = "checkpoints",
                       .range = kFromOne,
                       .field = field([](auto& s) -> auto& { return s.keep_checkpoints; }),
                       .changes = Changes::at_start}}));

constexpr auto kRunRows = of_table(
    "run",
    std::array{
        Setting{.key = "folder",
                .name = "run_dir",
                .meaning = "folder to record the run in",
                .field = field([](auto& s) -> auto& { return s.run_dir; }),
                .example = "runs/a b",
                .placeholder = "DIR",
                .changes = Changes::at_start,
                .standard_text = "a window: a new folder among the user's data; else none",
                .shapes_weights = false},
        Setting{.key = "record",
                .meaning =
                    "without run_dir a window records its training in the user's data folder, named by date, "
                    "network and data; without a window nothing is recorded there",
                .field = field([](auto& s) -> auto& { return s.record; }),
                .changes = Changes::at_start,
                .shapes_weights = false},
        Setting{.key = "save",
                .meaning = "file for the weights at the end (safetensors)",
                .field = field([](auto& s) -> auto& { return s.save_file; }),
                .example = "last.safetensors",
                .placeholder = "FILE",
                .changes = Changes::at_start,
                .standard_text = "none",
                .shapes_weights = false},
        Setting{.key = "moments",
                .meaning = "host memory for moments of the training, to go back to any step",
                .unit = "MiB",
                .range = kSmallCount,
                .field = field([](auto& s) -> auto& { return s.moments_mib; }),
                .changes = Changes::at_start,
                .zero = "none are kept",
                .shapes_weights = false},
        Setting{.key = "moments_disk",
                .meaning =
                    "disk space for moments that host memory has no room for, or that another process goes "
                    "on with: in "
                    "the run's folder, else among the user's cached files as long as the training lasts",
                .unit = "MiB",
                .range = kSmallCount,
                .field = field([](auto& s) -> auto& { return s.moments_disk_mib; }),
                .changes = Changes::at_start,
                .zero = "none",
                .shapes_weights = false},
        Setting{.key = "keep_history",
                .meaning =
                    "host memory for what a window's views show at earlier steps: activations, "
                    "distributions (16 MiB at most), latents, kernel times, predictions; as much on the disk "
                    "where a run is recorded; pictures have 64 MiB of their own",
                .unit = "MiB",
                .range = kSmallCount,
                .field = field([](auto& s) -> auto& { return s.keep_history_mib; }),
                .changes = Changes::at_start,
                .zero = "only what is newest",
                .shapes_weights = false},
        Setting{.key = "deterministic",
                .meaning =
                    "the same weights, bit for bit, on 1, 2, 4 and 8 ranks: each batch is eight parts, whose "
                    "gradients are added in one order",
                .field = field([](auto& s) -> auto& { return s.deterministic; }),
                .changes = Changes::at_start},
        Setting{
            .key = "sync_batch_norm",
            .meaning =
                "batch norms take mean and variance over the batch of all ranks instead of a rank's part, "
                "at the cost of two sums over ranks a layer",
            .field = field([](auto& s) -> auto& { return s.sync_batch_norm; }),
            .changes = Changes::at_start},
        Setting{.key = "probe",
                .meaning =
                    "every few seconds, what the latents of held-out images are worth to a small classifier",
                .field = field([](auto& s) -> auto& { return s.probe; }),
                .changes = Changes::at_start,
                .shapes_weights = false}});

}  // namespace

std::span<const Setting> rows_of_stop() {
  return kStopRows;
}

std::span<const Setting> rows_of_checkpoints() {
  return kCheckpointRows;
}

std::span<const Setting> rows_of_run() {
  return kRunRows;
}

}  // namespace warpscope::training
