// The rows of all settings.

#include <array>
#include <cstddef>
#include <utility>

#include "gpu/core/device.h"
#include "gpu/core/error.h"
#include "gpu/models/model_file.h"
#include "gpu/ops/optimizer/update_rule.h"
#include "gpu/settings/configuration.h"
#include "gpu/settings/numbers.h"
#include "gpu/settings/setting.h"
#include "gpu/settings/setting_fields.h"

namespace warpscope::training {
namespace {

using S = TrainingSettings;

std::optional<Value> text_of_precision(const S& s) {
  if (!s.precision) return std::nullopt;
  return std::string(core::to_string(*s.precision));
}

// --- names that are valid

std::vector<std::string> precision_names() {
  std::vector<std::string> names;
  for (const core::Precision precision : core::selectable_precisions()) {
    names.emplace_back(core::to_string(precision));
  }
  return names;
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const ops::RuleRow& row : ops::kUpdateRules) names.emplace_back(row.name);
  return names;
}

std::vector<std::string> update_names() {
  return {"batch", "per_sample"};
}

std::vector<std::string> reaction_names() {
  return {"pause", "fail"};
}

void check_time(const std::string& text) {
  if (!text.empty()) parse_time_span(text);
}

void check_schedule(const std::string& text) {
  parse_schedule(text);
}

// --- defaults that depend on something

std::optional<Value> of_rule(const Setting& row, const Configuration& known, const core::DeviceInfo*) {
  return shortest(defaults_of(ops::parse_update_rule(known.text("optimizer"))).*row.field.number);
}

std::optional<Value> schedule_by_rule(const Setting&, const Configuration& known, const core::DeviceInfo*) {
  return to_string(schedule_of(ops::parse_update_rule(known.text("optimizer"))));
}

std::optional<Value> precision_of_device(const Setting&, const Configuration&,
                                         const core::DeviceInfo* device) {
  if (device == nullptr) return std::nullopt;
  return std::string(core::to_string(standard_precision(*device)));
}

std::optional<Value> batch_of_device(const Setting&, const Configuration&, const core::DeviceInfo* device) {
  if (device == nullptr) return std::nullopt;
  return std::int64_t{standard_batch(*device)};
}

std::optional<Value> clip_norm_of_precision(const Setting&, const Configuration& known,
                                            const core::DeviceInfo*) {
  if (!known.has("precision")) return 0.0;
  return shortest(standard_clip_norm(core::parse_precision(known.text("precision"))));
}

constexpr const char* kOfRule = "the optimizer's own";

// --- ranges

constexpr Range kCount = {.most = 9223372036854775807.0};  ///< of TOML's integers
constexpr Range kSmallCount = {.most = 2147483647.0};
constexpr Range kFromOne = {.least = 1, .most = 2147483647.0};
constexpr Range kBatch = {.least = 1, .most = 65536};
constexpr Range kDecay = {.most = 1, .below_most = true};
constexpr Range kToMillion = {.most = 1e6};
constexpr Range kToThousand = {.most = 1e3};

static_assert(SpikeSettings{}.warm_up == 50, "the help of zscore tells it");

// --- the rows

constexpr std::array kModelRows{
    Setting{.table = "model",
            .key = "name",
            .name = "model",
            .meaning = "network",
            .unit = "",
            .field = text_field([](const S& s) { return models::text_of(s.model); },
                                [](S& s, const std::string& text) { s.model = models::model_of(text); }),
            .names = models::model_names,
            .settle = [](const std::string& text) { return models::text_of(models::model_of(text)); },
            .example = "classifier",
            .fixed_in_run = true},
    Setting{
        .table = "model",
        .key = "init",
        .name = "init",
        .meaning = "initial weights (safetensors, PyTorch layout, or a run's folder: its last checkpoint)",
        .unit = "",
        .field = field([](auto& s) -> auto& { return s.init_file; }),
        .example = "first \"weights\".safetensors",
        .placeholder = "FILE",
        .fixed_in_run = true,
        .standard_text = "random, from the seed"},
    Setting{.table = "model",
            .key = "init_partly",
            .name = "init_partly",
            .meaning = "takes from init the layers that fit, and the others from the seed",
            .unit = "",
            .field = field([](auto& s) -> auto& { return s.init_partly; }),
            .fixed_in_run = true},
};

constexpr std::array kDataRows{
    Setting{.table = "data",
            .key = "source",
            .name = "data_source",
            .option = "data",
            .meaning = "training images: builtin, a set's name, a folder or NAME:FOLDER",
            .unit = "",
            .field = field([](auto& s) -> auto& { return s.data; }),
            .example = "cifar10",
            .fixed_in_run = true,
            .standard_text = "$WARPSCOPE_DATA or the cache, else builtin"},
    Setting{.table = "data",
            .key = "validation",
            .name = "validation",
            .meaning = "share of the training images held out to steer by",
            .unit = "",
            .range = {.most = 0.9},
            .field = field([](auto& s) -> auto& { return s.validation; }),
            .fixed_in_run = true},
    Setting{.table = "data",
            .key = "shuffle",
            .name = "shuffle",
            .meaning = "a fresh order of the images in each epoch",
            .unit = "",
            .field = field([](auto& s) -> auto& { return s.shuffle; }),
            .fixed_in_run = true},
    Setting{.table = "data",
            .key = "seed",
            .name = "seed",
            .meaning = "seed of weights and order",
            .unit = "",
            .range = kCount,
            .field = field([](auto& s) -> auto& { return s.seed; }),
            .fixed_in_run = true},
    Setting{.table = "data",
            .key = "test_images",
            .name = "test_images",
            .meaning = "images of an evaluation",
            .unit = "images",
            .range = kCount,
            .field = field([](auto& s) -> auto& { return s.test_images; }),
            .zero = "all, 256 on the CPU"},
    Setting{.table = "data",
            .key = "test_every",
            .name = "test_every",
            .meaning = "steps from one evaluation to the next",
            .unit = "steps",
            .range = kCount,
            .field = field([](auto& s) -> auto& { return s.test_every; }),
            .zero = "once five times its images were trained on, 20 steps at least; not 1"},
    Setting{.table = "data",
            .key = "test_mirrored",
            .name = "test_mirrored",
            .meaning =
                "evaluates a classifier on each held-out image and on its mirror image, left to right, "
                "by the mean of the logits of both (with test_shift, of all ten views)",
            .unit = "",
            .field = field([](auto& s) -> auto& { return s.test_mirrored; })},
    Setting{
        .table = "data",
        .key = "test_shift",
        .name = "test_shift",
        .meaning =
            "evaluates a classifier on each held-out image and on it shifted by so many pixels each way to "
            "the four corners, reflected at the borders, by the mean of the logits of all five (with "
            "test_mirrored, of their mirror images too)",
        .unit = "pixels",
        .range = {.most = 16},
        .field = field([](auto& s) -> auto& { return s.test_shift; }),
        .zero = "off"},
};

constexpr std::array kAugmentRows{
    Setting{.table = "augment",
            .key = "flip",
            .name = "flip",
            .meaning = "mirrors half of the training images, left to right",
            .unit = "",
            .field = field([](auto& s) -> auto& { return s.augment.flip; })},
    Setting{
        .table = "augment",
        .key = "crop",
        .name = "crop",
        .meaning = "shifts each training image by up to so many pixels each way, reflected at the borders",
        .unit = "pixels",
        .range = {.most = 16},
        .field = field([](auto& s) -> auto& { return s.augment.crop; }),
        .zero = "off",
        .slider = Slider{.low = 0, .high = 16}},
    Setting{.table = "augment",
            .key = "cutout",
            .name = "cutout",
            .meaning = "side of a square of each training image that becomes grey (0.5)",
            .unit = "pixels",
            .range = {.most = 32},
            .field = field([](auto& s) -> auto& { return s.augment.cutout; }),
            .zero = "off",
            .slider = Slider{.low = 0, .high = 32}},
    Setting{
        .table = "augment",
        .key = "jitter",
        .name = "jitter",
        .meaning =
            "strength with which brightness, contrast and, of three channels, saturation of each training "
            "image change",
        .unit = "",
        .range = {.most = 1},
        .field = field([](auto& s) -> auto& { return s.augment.jitter; }),
        .zero = "off",
        .slider = Slider{.low = 0, .high = 1}},
    Setting{.table = "augment",
            .key = "mixup",
            .name = "mixup",
            .meaning =
                "mixes each training image and its label with the next of the batch; the share is drawn from "
                "Beta(alpha, alpha) with this alpha",
            .unit = "",
            .range = {.most = 2},
            .field = field([](auto& s) -> auto& { return s.augment.mixup; }),
            .zero = "off",
            .slider = Slider{.low = 0, .high = 2}},
};

constexpr std::array kDeviceRows{
    Setting{.table = "device",
            .key = "name",
            .name = "device",
            .meaning = "where to train: auto, cpu or cuda:N",
            .unit = "",
            .field = field([](auto& s) -> auto& { return s.device; }),
            .example = "cuda:3"},
    Setting{.table = "device",
            .key = "precision",
            .name = "precision",
            .meaning = "arithmetic",
            .unit = "",
            .field = {.kind = Kind::text,
                      .get = text_of_precision,
                      .set =
                          [](S& s, const Value& value) {
                            s.precision = core::parse_precision(std::get<std::string>(value));
                          }},
            .names = precision_names,
            .example = "tf32",
            .standard = precision_of_device,
            .standard_text = "bf16 where CUDA has tensor cores for it (compute capability 8.0), else fp32"},
    Setting{.table = "device",
            .key = "select",
            .name = "select",
            .meaning =
                "variants: conv2d.forward=naive,..., all=naive or preset=tensor_cores; an op that is chosen "
                "runs by itself",
            .unit = "",
            .field = field([](auto& s) -> auto& { return s.select; }),
            .example = "conv2d.forward=naive,all=naive",
            .placeholder = "OP=VARIANT,...",
            .standard_text = "the fastest"},
};

constexpr std::array kOptimizerRows{
    Setting{.table = "optimizer",
            .key = "name",
            .name = "optimizer",
            .meaning = "rule that changes the weights",
            .unit = "",
            .field = text_field(
                [](const S& s) { return std::string(ops::to_string(s.optimizer.rule)); },
                [](S& s, const std::string& name) { s.optimizer.rule = ops::parse_update_rule(name); }),
            .names = optimizer_names,
            .example = "nesterov"},
    Setting{.table = "optimizer",
            .key = "learning_rate",
            .name = "learning_rate",
            .option = "lr",
            .meaning = "length of an update along its direction",
            .unit = "",
            .range = kToMillion,
            .field = number<&OptimizerSettings::learning_rate>(),
            .slider = Slider{.low = 1e-6, .high = 1, .logarithmic = true},
            .standard = of_rule,
            .standard_text = kOfRule},
    Setting{.table = "optimizer",
            .key = "momentum",
            .name = "momentum",
            .meaning = "share of the velocity that each step keeps",
            .unit = "",
            .range = kDecay,
            .field = number<&OptimizerSettings::momentum>(),
            .slider = Slider{.low = 0, .high = 0.999},
            .standard = of_rule,
            .standard_text = kOfRule},
    Setting{.table = "optimizer",
            .key = "beta1",
            .name = "beta1",
            .label = "beta 1",
            .meaning = "decay of the running mean of the gradients",
            .unit = "",
            .range = kDecay,
            .field = number<&OptimizerSettings::beta1>(),
            .slider = Slider{.low = 0, .high = 0.999},
            .standard = of_rule,
            .standard_text = kOfRule},
    Setting{.table = "optimizer",
            .key = "beta2",
            .name = "beta2",
            .label = "beta 2",
            .meaning = "decay of the running mean of the squared gradients; of lion's running mean",
            .unit = "",
            .range = kDecay,
            .field = number<&OptimizerSettings::beta2>(),
            .slider = Slider{.low = 0.9, .high = 0.9999},
            .standard = of_rule,
            .standard_text = kOfRule},
    Setting{.table = "optimizer",
            .key = "alpha",
            .name = "alpha",
            .meaning = "decay of the running mean of the squared gradients",
            .unit = "",
            .range = kDecay,
            .field = number<&OptimizerSettings::alpha>(),
            .slider = Slider{.low = 0.5, .high = 0.9999},
            .standard = of_rule,
            .standard_text = kOfRule},
    Setting{.table = "optimizer",
            .key = "epsilon",
            .name = "epsilon",
            .meaning = "added to the root of the mean square, so that no update divides by 0",
            .unit = "",
            .range = {.least = 1e-16, .most = 1},
            .field = number<&OptimizerSettings::epsilon>(),
            .slider = Slider{.low = 1e-10, .high = 1e-2, .logarithmic = true},
            .standard = of_rule,
            .standard_text = kOfRule},
    Setting{.table = "optimizer",
            .key = "weight_decay",
            .name = "weight_decay",
            .meaning = "pulls parameters to 0: as L2 in the gradient; decoupled from it in adamw and lion",
            .unit = "",
            .range = kToMillion,
            .field = number<&OptimizerSettings::weight_decay>(),
            .slider = Slider{.low = 1e-6, .high = 1, .logarithmic = true, .zero = true},
            .standard = of_rule,
            .standard_text = kOfRule},
    Setting{.table = "optimizer",
            .key = "clip_norm",
            .name = "clip_norm",
            .meaning = "largest global norm of the gradient, which is scaled down to it",
            .unit = "",
            .range = kToMillion,
            .field = number<&OptimizerSettings::clip_norm>(),
            .zero = "off",
            .slider = Slider{.low = 1e-3, .high = 100, .logarithmic = true, .zero = true},
            .standard = clip_norm_of_precision,
            .standard_text = "1 in fp16, else 0"},
    Setting{.table = "optimizer",
            .key = "clip_value",
            .name = "clip_value",
            .meaning = "largest magnitude of an element of the gradient",
            .unit = "",
            .range = kToMillion,
            .field = number<&OptimizerSettings::clip_value>(),
            .zero = "off",
            .slider = Slider{.low = 1e-4, .high = 10, .logarithmic = true, .zero = true}},
    Setting{.table = "optimizer",
            .key = "joint",
            .name = "joint",
            .meaning =
                "a linear head learns the classes from the latents, and its cross-entropy counts so many "
                "times beside the reconstruction's error",
            .unit = "",
            .range = kToThousand,
            .field = number<&OptimizerSettings::joint>(),
            .zero = "no head",
            .slider = Slider{.low = 1e-4, .high = 10, .logarithmic = true, .zero = true}},
    Setting{.table = "optimizer",
            .key = "batch",
            .name = "batch",
            .meaning = "images of a step, or of each micro-batch if gradients are accumulated",
            .unit = "images",
            .range = kBatch,
            .field = {
                .kind = Kind::integer,
                .get = [](const S& s) -> std::optional<Value> {
                  if (s.batch == 0) return std::nullopt;
                  return held_value(s.batch);
                },
                .set = [](S& s,
                          const Value& value) { s.batch = static_cast<int>(std::get<std::int64_t>(value)); }},
            .standard = batch_of_device,
            .standard_text = "64 on a GPU; on a CPU 8 up to 4 cores, 16 up to 16, else 64"},
    Setting{.table = "optimizer",
            .key = "accumulate",
            .name = "accumulate",
            .label = "micro-batches",
            .meaning =
                "micro-batches whose gradients are added up before one update with their mean: the same "
                "as one large batch, in the memory of a small one",
            .unit = "micro-batches",
            .range = {.least = 1, .most = kMostMicroBatches},
            .field = field([](auto& s) -> auto& { return s.optimizer.accumulate; })},
    Setting{.table = "optimizer",
            .key = "update",
            .name = "update",
            .meaning = "scheme: batch, or per_sample, historic and faulty, to watch it fail",
            .unit = "",
            .field = text_field(
                [](const S& s) { return std::string(s.optimizer.per_sample ? "per_sample" : "batch"); },
                [](S& s, const std::string& name) { s.optimizer.per_sample = name == "per_sample"; }),
            .names = update_names,
            .example = "per_sample"},
};

constexpr std::array kScheduleRows{
    Setting{.table = "schedule",
            .key = "text",
            .name = "schedule",
            .meaning = "how the learning rate changes over the run, such as cosine:warmup=1",
            .unit = "",
            .field = text_field([](const S& s) { return to_string(s.schedule); },
                                [](S& s, const std::string& text) { s.schedule = parse_schedule(text); }),
            .check = check_schedule,
            .example = "cosine:warmup=1,final=0.01",
            .standard = schedule_by_rule,
            .standard_text = "constant, with a warm-up of 0.01 epochs for adam, adamw, rmsprop and lion"},
};

constexpr std::array kStopRows{
    Setting{.table = "stop",
            .key = "epochs",
            .name = "epochs",
            .meaning = "passes over the training images",
            .unit = "epochs",
            .range = kCount,
            .field = field([](auto& s) -> auto& { return s.epochs; }),
            .zero = "no limit"},
    Setting{.table = "stop",
            .key = "steps",
            .name = "steps",
            .meaning = "training steps; the first limit that is reached ends the run",
            .unit = "steps",
            .range = kCount,
            .field = field([](auto& s) -> auto& { return s.steps; }),
            .zero = "no limit"},
    Setting{.table = "stop",
            .key = "early_stop",
            .name = "early_stop",
            .meaning = "evaluations without a better loss after which the run ends",
            .unit = "evaluations",
            .range = kSmallCount,
            .field = field([](auto& s) -> auto& { return s.stop.patience; }),
            .zero = "off"},
    Setting{
        .table = "stop",
        .key = "target_loss",
        .name = "target_loss",
        .meaning = "evaluated loss at which the run ends",
        .unit = "",
        .field = {.kind = Kind::real,
                  .get = [](const S& s) -> std::optional<Value> { return s.stop.target_loss.value_or(0.0); },
                  .set =
                      [](S& s, const Value& value) {
                        s.stop.target_loss.reset();
                        if (const double loss = std::get<double>(value); loss > 0) s.stop.target_loss = loss;
                      }},
        .zero = "none"},
    Setting{
        .table = "stop",
        .key = "time",
        .name = "time",
        .meaning = "time budget, such as 90s, 15m or 1h30m",
        .unit = "",
        .field = text_field(
            [](const S& s) { return s.stop.seconds > 0 ? format_time_span(s.stop.seconds) : std::string(); },
            [](S& s, const std::string& text) {
              s.stop.seconds = text.empty() ? 0.0 : parse_time_span(text);
            }),
        .check = check_time,
        .example = "1h30m",
        .standard_text = "no limit"},
    Setting{.table = "stop",
            .key = "zscore",
            .name = "zscore",
            .label = "loss z-score",
            .meaning =
                "a loss so many standard deviations above its running mean counts as divergence, as one "
                "that is not finite always does; the first 50 losses are not judged",
            .unit = "",
            .range = kToMillion,
            .field = field([](auto& s) -> auto& { return s.spikes.threshold; }),
            .zero = "off",
            .slider = Slider{.low = 2, .high = 50, .logarithmic = true, .zero = true}},
    Setting{
        .table = "stop",
        .key = "on_divergence",
        .name = "on_divergence",
        .meaning = "what divergence does; without a window it always fails",
        .unit = "",
        .field = text_field([](const S& s) { return std::string(s.pause_on_divergence ? "pause" : "fail"); },
                            [](S& s, const std::string& name) { s.pause_on_divergence = name == "pause"; }),
        .names = reaction_names,
        .example = "fail"},
};

constexpr std::array kRunRows{
    Setting{.table = "checkpoints",
            .key = "every_epochs",
            .name = "checkpoint_every",
            .meaning = "epochs between checkpoints",
            .unit = "epochs",
            .range = kSmallCount,
            .field = field([](auto& s) -> auto& { return s.checkpoint_epochs; }),
            .zero = "only at the end"},
    Setting{.table = "checkpoints",
            .key = "keep",
            .name = "keep",
            .meaning = "newest checkpoints kept, beside the best",
            .unit = "checkpoints",
            .range = kFromOne,
            .field = field([](auto& s) -> auto& { return s.keep_checkpoints; })},
    Setting{.table = "run",
            .key = "folder",
            .name = "run_dir",
            .meaning = "folder to record the run in",
            .unit = "",
            .field = field([](auto& s) -> auto& { return s.run_dir; }),
            .example = "runs/a b",
            .placeholder = "DIR",
            .standard_text = "nothing is recorded"},
    Setting{.table = "run",
            .key = "save",
            .name = "save",
            .meaning = "file for the weights at the end (safetensors)",
            .unit = "",
            .field = field([](auto& s) -> auto& { return s.save_file; }),
            .example = "last.safetensors",
            .placeholder = "FILE",
            .standard_text = "none"},
    Setting{
        .table = "run",
        .key = "probe",
        .name = "probe",
        .meaning = "every few seconds, what the latents of held-out images are worth to a small classifier",
        .unit = "",
        .field = field([](auto& s) -> auto& { return s.probe; })},
};

std::vector<Setting> all_rows() {
  std::vector<Setting> rows;
  const auto add = [&rows](const auto& part) { rows.insert(rows.end(), part.begin(), part.end()); };
  add(kModelRows);
  add(kDataRows);
  add(kAugmentRows);
  add(kDeviceRows);
  add(kOptimizerRows);
  add(kScheduleRows);
  add(kStopRows);
  add(kRunRows);
  return rows;
}

}  // namespace

std::span<const Setting> settings() {
  static const std::vector<Setting> rows = all_rows();
  return rows;
}

}  // namespace warpscope::training
