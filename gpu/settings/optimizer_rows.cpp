// The rows of the settings that say how the weights change.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/models/model_file.h"
#include "gpu/ops/optimizer/update_rule.h"
#include "gpu/plan/model_figures.h"
#include "gpu/settings/configuration.h"
#include "gpu/settings/numbers.h"
#include "gpu/settings/setting_fields.h"
#include "gpu/settings/setting_rows.h"

namespace warpscope::training {
namespace {

using S = TrainingSettings;

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const ops::RuleRow& row : ops::kUpdateRules) names.emplace_back(row.name);
  return names;
}

std::vector<std::string> update_names() {
  return {"batch", "per_sample"};
}

void check_schedule(const std::string& text) {
  parse_schedule(text);
}

std::optional<Value> of_rule(const Setting& row, const Configuration& known, const core::DeviceInfo*) {
  return shortest(defaults_of(ops::parse_update_rule(known.text("optimizer"))).*row.field.number);
}

std::optional<Value> schedule_by_rule(const Setting&, const Configuration& known, const core::DeviceInfo*) {
  return to_string(schedule_of(ops::parse_update_rule(known.text("optimizer"))));
}

std::optional<Value> batch_of_network(const Setting&, const Configuration& known,
                                      const core::DeviceInfo* device) {
  if (device == nullptr) return std::nullopt;
  return std::int64_t{plan::standard_batch(*device, models::model_of(known.text("model")))};
}

std::optional<Value> clip_norm_of_precision(const Setting&, const Configuration& known,
                                            const core::DeviceInfo*) {
  if (!known.has("precision")) return 0.0;
  return shortest(standard_clip_norm(core::parse_precision(known.text("precision"))));
}

constexpr Setting by_rule(Setting row) {
  row.standard = of_rule;
  row.standard_text = "the optimizer's own";
  return row;
}

constexpr Range kBatch = {.least = 1, .most = 65536};
constexpr Range kDecay = {.most = 1, .below_most = true};
constexpr Range kToThousand = {.most = 1e3};

constexpr auto kOptimizerRows = of_table(
    "optimizer",
    std::array{
        Setting{.key = "name",
                .name = "optimizer",
                .meaning = "rule that changes the weights",
                .field = text_field(
                    [](const S& s) { return std::string(ops::to_string(s.optimizer.rule)); },
                    [](S& s, const std::string& name) { s.optimizer.rule = ops::parse_update_rule(name); }),
                .names = optimizer_names,
                .example = "nesterov"},
        by_rule({.key = "learning_rate",
                 .option = "lr",
                 .meaning = "length of an update along its direction",
                 .range = kToMillion,
                 .field = number<&OptimizerSettings::learning_rate>(),
                 .slider = Slider{.low = 1e-6, .high = 1, .logarithmic = true}}),
        by_rule({.key = "momentum",
                 .meaning = "share of the velocity that each step keeps",
                 .range = kDecay,
                 .field = number<&OptimizerSettings::momentum>(),
                 .slider = Slider{.low = 0, .high = 0.999}}),
        by_rule({.key = "beta1",
                 .label = "beta 1",
                 .meaning = "decay of the running mean of the gradients",
                 .range = kDecay,
                 .field = number<&OptimizerSettings::beta1>(),
                 .slider = Slider{.low = 0, .high = 0.999}}),
        by_rule({.key = "beta2",
                 .label = "beta 2",
                 .meaning =
                     "decay of the running mean of the squared gradients, or of the gradients where no "
                     "squares are kept",
                 .range = kDecay,
                 .field = number<&OptimizerSettings::beta2>(),
                 .slider = Slider{.low = 0.9, .high = 0.9999}}),
        by_rule({.key = "alpha",
                 .meaning = "decay of the running mean of the squared gradients",
                 .range = kDecay,
                 .field = number<&OptimizerSettings::alpha>(),
                 .slider = Slider{.low = 0.5, .high = 0.9999}}),
        by_rule({.key = "epsilon",
                 .meaning = "added to the root of the mean square, so that no update divides by 0",
                 .range = {.least = 1e-16, .most = 1},
                 .field = number<&OptimizerSettings::epsilon>(),
                 .slider = Slider{.low = 1e-10, .high = 1e-2, .logarithmic = true}}),
        by_rule({.key = "weight_decay",
                 .meaning =
                     "pulls parameters to 0: as L2 in the gradient, or by itself in the optimizer's formula",
                 .range = kToMillion,
                 .field = number<&OptimizerSettings::weight_decay>(),
                 .slider = Slider{.low = 1e-6, .high = 1, .logarithmic = true, .zero = true}}),
        Setting{.key = "clip_norm",
                .meaning = "largest global norm of the gradient, which is scaled down to it",
                .range = kToMillion,
                .field = number<&OptimizerSettings::clip_norm>(),
                .zero = "off",
                .slider = Slider{.low = 1e-3, .high = 100, .logarithmic = true, .zero = true},
                .standard = clip_norm_of_precision,
                .standard_text = "1 in fp16, else 0"},
        Setting{.key = "clip_value",
                .meaning = "largest magnitude of an element of the gradient",
                .range = kToMillion,
                .field = number<&OptimizerSettings::clip_value>(),
                .zero = "off",
                .slider = Slider{.low = 1e-4, .high = 10, .logarithmic = true, .zero = true}},
        Setting{.key = "joint",
                .meaning =
                    "a linear head learns the classes from the latents, and its cross-entropy counts so many "
                    "times beside the reconstruction's error",
                .range = kToThousand,
                .field = number<&OptimizerSettings::joint>(),
                .zero = "no head",
                .slider = Slider{.low = 1e-4, .high = 10, .logarithmic = true, .zero = true}},
        Setting{.key = "batch",
                .meaning = "images of a step, or of each micro-batch if gradients are accumulated",
                .unit = "images",
                .range = kBatch,
                .field = {.kind = Kind::integer,
                          .get = [](const S& s) -> std::optional<Value> {
                            if (s.batch == 0) return std::nullopt;
                            return held_value(s.batch);
                          },
                          .set =
                              [](S& s, const Value& value) {
                                s.batch = static_cast<int>(std::get<std::int64_t>(value));
                              }},
                .standard = batch_of_network,
                .standard_text = "64 on a GPU; on a CPU what its cores train in some 50 ms, from 8 to 64"},
        Setting{.key = "accumulate",
                .label = "micro-batches",
                .meaning =
                    "micro-batches whose gradients are added up before one update with their mean: the same "
                    "as one large batch, in the memory of a small one",
                .unit = "micro-batches",
                .range = {.least = 1, .most = kMostMicroBatches},
                .field = field([](auto& s) -> auto& { return s.optimizer.accumulate; })},
        Setting{.key = "update",
                .meaning =
                    "when weights change: after each batch, or per_sample, after each image, a mistake to "
                    "watch failing",
                .field = text_field(
                    [](const S& s) { return std::string(s.optimizer.per_sample ? "per_sample" : "batch"); },
                    [](S& s, const std::string& name) { s.optimizer.per_sample = name == "per_sample"; }),
                .names = update_names,
                .example = "per_sample"}});

constexpr auto kScheduleRows = of_table(
    "schedule",
    std::array{Setting{
        .key = "text",
        .name = "schedule",
        .meaning = "how the learning rate changes over the run, such as cosine:warmup=1; it ends behind "
                   "the last step",
        .field = text_field([](const S& s) { return to_string(s.schedule); },
                            [](S& s, const std::string& text) { s.schedule = parse_schedule(text); }),
        .check = check_schedule,
        .example = "cosine:warmup=1,final=0.01",
        .standard = schedule_by_rule,
        .standard_text = "constant, with the optimizer's own warm-up"}});

}  // namespace

std::span<const Setting> rows_of_optimizer() {
  return kOptimizerRows;
}

std::span<const Setting> rows_of_schedule() {
  return kScheduleRows;
}

}  // namespace warpscope::training
