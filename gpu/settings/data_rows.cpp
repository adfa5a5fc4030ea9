// The rows of the settings that say what trains, on what, and where.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/models/model_file.h"
#include "gpu/settings/configuration.h"
#include "gpu/settings/setting_fields.h"
#include "gpu/settings/setting_rows.h"

namespace warpscope::training {
namespace {

using S = TrainingSettings;

std::optional<Value> text_of_precision(const S& s) {
  if (!s.precision) return std::nullopt;
  return std::string(core::to_string(*s.precision));
}

std::vector<std::string> precision_names() {
  std::vector<std::string> names;
  for (const core::Precision precision : core::selectable_precisions()) {
    names.emplace_back(core::to_string(precision));
  }
  return names;
}

std::optional<Value> precision_of_device(const Setting&, const Configuration&,
                                         const core::DeviceInfo* device) {
  if (device == nullptr) return std::nullopt;
  return std::string(core::to_string(standard_precision(*device)));
}

constexpr auto kModelRows = of_table(
    "model",
    std::array{
        Setting{.key = "name",
                .name = "model",
                .meaning = "network",
                .field = text_field([](const S& s) { return models::text_of(s.model); },
                                    [](S& s, const std::string& text) { s.model = models::model_of(text); }),
                .names = models::model_names,
                .settle = [](const std::string& text) { return models::text_of(models::model_of(text)); },
                .example = "classifier",
                .changes = Changes::never_in_run},
        Setting{.key = "init",
                .meaning =
                    "initial weights (safetensors, PyTorch layout, or a run's folder: its last checkpoint); "
                    "where no model is named, with their network",
                .field = field([](auto& s) -> auto& { return s.init_file; }),
                .example = "first \"weights\".safetensors",
                .placeholder = "FILE",
                .changes = Changes::never_in_run,
                .standard_text = "random, from the seed"},
        Setting{.key = "init_partly",
                .meaning = "takes from init the layers that fit, and the others from the seed",
                .field = field([](auto& s) -> auto& { return s.init_partly; }),
                .changes = Changes::never_in_run}});

constexpr auto kDataRows = of_table(
    "data",
    std::array{
        Setting{.key = "source",
                .name = "data_source",
                .option = "data",
                .meaning = "training images: builtin, a set's name, a folder or NAME:FOLDER",
                .field = field([](auto& s) -> auto& { return s.data; }),
                .example = "cifar10",
                .changes = Changes::at_start,
                .standard_text = "$WARPSCOPE_DATA or the cache, else builtin"},
        Setting{.key = "validation",
                .meaning = "share of the training images held out to steer by",
                .range = {.most = 0.9},
                .field = field([](auto& s) -> auto& { return s.validation; }),
                .changes = Changes::never_in_run},
        Setting{.key = "shuffle",
                .meaning = "a fresh order of the images in each epoch",
                .field = field([](auto& s) -> auto& { return s.shuffle; }),
                .changes = Changes::never_in_run},
        Setting{.key = "seed",
                .meaning = "seed of weights and order",
                .range = kCount,
                .field = field([](auto& s) -> auto& { return s.seed; }),
                .changes = Changes::never_in_run},
        Setting{.key = "test_images",
                .meaning = "images of an evaluation",
                .unit = "images",
                .range = kCount,
                .field = field([](auto& s) -> auto& { return s.test_images; }),
                .changes = Changes::at_start,
                .zero = "all; on a CPU 256 if the network has convolutions"},
        Setting{.key = "test_every",
                .meaning = "steps from one evaluation to the next",
                .unit = "steps",
                .range = kCount,
                .field = field([](auto& s) -> auto& { return s.test_every; }),
                .zero = "once five times its images were trained on, 20 steps at least; not 1",
                .shapes_weights = false},
        Setting{.key = "test_mirrored",
                .meaning =
                    "evaluates a classifier on each held-out image and on its mirror image, left to right, "
                    "by the mean of the logits of both (with test_shift, of all ten views)",
                .field = field([](auto& s) -> auto& { return s.test_mirrored; }),
                .changes = Changes::at_start},
        Setting{.key = "test_shift",
                .meaning =
                    "evaluates a classifier on each held-out image and on it shifted by so many pixels each "
                    "way to "
                    "the four corners, reflected at the borders, by the mean of the logits of all five (with "
                    "test_mirrored, of their mirror images too)",
                .unit = "pixels",
                .range = {.most = 16},
                .field = field([](auto& s) -> auto& { return s.test_shift; }),
                .changes = Changes::at_start,
                .zero = "off"}});

constexpr auto kAugmentRows = of_table(
    "augment",
    std::array{
        Setting{.key = "flip",
                .meaning = "mirrors half of the training images, left to right",
                .field = field([](auto& s) -> auto& { return s.augment.flip; })},
        Setting{.key = "crop",
                .meaning =
                    "shifts each training image by up to so many pixels each way, reflected at the borders",
                .unit = "pixels",
                .range = {.most = 16},
                .field = field([](auto& s) -> auto& { return s.augment.crop; }),
                .zero = "off",
                .slider = Slider{.low = 0, .high = 16}},
        Setting{.key = "cutout",
                .meaning = "side of a square of each training image that becomes grey (0.5)",
                .unit = "pixels",
                .range = {.most = 32},
                .field = field([](auto& s) -> auto& { return s.augment.cutout; }),
                .zero = "off",
                .slider = Slider{.low = 0, .high = 32}},
        Setting{.key = "jitter",
                .meaning = "strength with which brightness, contrast and, of three channels, saturation of "
                           "each training "
                           "image change",
                .range = {.most = 1},
                .field = field([](auto& s) -> auto& { return s.augment.jitter; }),
                .zero = "off",
                .slider = Slider{.low = 0, .high = 1}},
        Setting{
            .key = "mixup",
            .meaning =
                "mixes each training image and its label with the next of the batch; the share is drawn from "
                "Beta(alpha, alpha) with this alpha",
            .range = {.most = 2},
            .field = field([](auto& s) -> auto& { return s.augment.mixup; }),
            .zero = "off",
            .slider = Slider{.low = 0, .high = 2}}});

constexpr auto kDeviceRows = of_table(
    "device",
    std::array{Setting{.key = "name",
                       .name = "device",
                       .meaning = "where to train: auto, cpu or cuda:N",
                       .field = field([](auto& s) -> auto& { return s.device; }),
                       .example = "cuda:3",
                       .changes = Changes::at_start},
               Setting{.key = "precision",
                       .meaning = "arithmetic",
                       .field = {.kind = Kind::text,
                                 .get = text_of_precision,
                                 .set =
                                     [](S& s, const Value& value) {
                                       s.precision = core::parse_precision(std::get<std::string>(value));
                                     }},
                       .names = precision_names,
                       .example = "tf32",
                       .changes = Changes::by_select,
                       .standard = precision_of_device,
                       .standard_text =
                           "bf16 where CUDA has tensor cores for it (compute capability 8.0), else fp32"},
               Setting{.key = "select",
                       .meaning = "variants: conv2d.forward=naive,..., all=naive or preset=tensor_cores; an "
                                  "op that is chosen "
                                  "runs by itself",
                       .field = field([](auto& s) -> auto& { return s.select; }),
                       .example = "conv2d.forward=naive,all=naive",
                       .placeholder = "OP=VARIANT,...",
                       .changes = Changes::by_select,
                       .standard_text = "the fastest"},
               Setting{.key = "measure",
                       .meaning = "before the first step of 1,000 or more, times other variants of each "
                                  "call, for a second at "
                                  "most, and takes those that make whole steps faster; what was measured is "
                                  "kept in the cache folder; not with ranks or --deterministic",
                       .field = field([](auto& s) -> auto& { return s.measure; }),
                       .changes = Changes::at_start}});

}  // namespace

std::span<const Setting> rows_of_model() {
  return kModelRows;
}

std::span<const Setting> rows_of_data() {
  return kDataRows;
}

std::span<const Setting> rows_of_augment() {
  return kAugmentRows;
}

std::span<const Setting> rows_of_device() {
  return kDeviceRows;
}

}  // namespace warpscope::training
