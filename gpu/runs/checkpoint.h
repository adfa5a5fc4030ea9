#pragma once
// Checkpoints: everything that a training needs to go on bit for bit, in one file that PyTorch's safetensors
// package opens too.
//
// The file is a sealed safetensors file (safetensors.h). Its tensors are the weights in PyTorch's layout
// under PyTorch's names ("conv1.weight"), and the optimizer's state likewise as
// "optimizer.<state>.<parameter>", where <state> is the key in the state of torch.optim
// ("optimizer.exp_avg.conv1.weight"). A head on the latents has "head.weight" and "head.bias" beside the layers.
// Its metadata are
//
//   format            "pt"
//   model             the model's name
//   checkpoint        the rest, as the text of one JSON object:
//     {"format": .., "step": .., "epochs": .., "generation": .., "optimizer": {"rule": "adam", "states":
//     ["exp_avg", ..]},
//      "control": {"loss_scale": .., "good_steps": .., "growth_interval": .., "updates": ..},
//      "order": {"images": .., "seed": .., "epoch": .., "position": .., "batch": .., "shuffle": ..},
//      "training": {..}}
//   warpscope_sha256  the seal

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gpu/data/dataset.h"
#include "gpu/files/atomic_file.h"
#include "gpu/models/model.h"
#include "gpu/ops/op.h"
#include "gpu/settings/training_settings.h"

namespace warpscope::training {

/// One number of state for each parameter.
struct OptimizerState {
  std::string name;           ///< in torch.optim: "exp_avg"
  std::vector<float> values;  ///< models::ParameterLayout
};

/// What the device keeps from step to step (the fields of ops::step::StepControl with these names).
struct ControlState {
  float loss_scale = 1.0f;
  std::uint32_t good_steps = 0;
  std::uint32_t growth_interval = 0;
  std::uint32_t updates = 0;

  bool operator==(const ControlState&) const = default;
};

/// Where the training is in its images (data_order.h).
struct OrderState {
  std::int64_t images = 0;  ///< that the order permutes
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;     ///< whole epochs done
  std::uint32_t position = 0;  ///< in the running epoch, of the next batch's first image
  std::uint32_t batch = 1;
  bool shuffle = true;

  bool operator==(const OrderState&) const = default;
};

/// A training between two steps.
struct Checkpoint {
  std::string model;
  std::uint64_t step = 0;        ///< steps done
  double epochs = 0;             ///< done, with the share of the running one
  std::uint64_t generation = 0;  ///< resets before: steps count from the last one
  std::vector<float> weights;    ///< models::ParameterLayout, of the model with a head of `head_classes`
  int head_classes = 0;          ///< 0: without a head
  ops::UpdateRule rule = ops::UpdateRule::sgd;
  std::vector<OptimizerState> optimizer;  ///< those of state_names(rule), in this order
  ControlState control;
  OrderState order;
  /// What else the trainer keeps; NaN and infinity become null.
  nlohmann::json training = nlohmann::json::object();
};

/// The names in torch.optim of the states that the rule keeps (update_rule.h), first_state before second_state.
std::vector<std::string> state_names(ops::UpdateRule rule);

/// Writes `path`, whole or not at all; the head of `model` does not matter, only that of the checkpoint. What is
/// not UTF-8 in `training` is replaced by U+FFFD. Throws core::BadInput if the checkpoint does not fit the model
/// or its rule, or loss scale or epochs are not finite; core::Error if the file cannot be written; as `writing` says.
void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint,
                     const models::Model& model, const files::Writing& writing = {});

/// Reads it back: every float bit for bit, padding zero. Throws core::BadInput, one sentence that names the
/// file and says what to do, if it is not there, not whole, has any byte changed, or is of another model or
/// format version.
Checkpoint load_checkpoint(const std::filesystem::path& path, const models::Model& model);

/// The generation that the metadata of a checkpoint tell, without reading its values; nothing if they cannot be read.
std::optional<std::uint64_t> generation_of(const std::filesystem::path& path);

/// What a file is of that load_checkpoint() refuses since it is of another network, "it is of an earlier network, mlp",
/// without reading its values; "" if it is of this one, or cannot be read.
std::string why_other_network(const std::filesystem::path& path, const models::Model& model);

/// Throws core::BadInput if the order is not that of the training images of `data`, as the settings say.
void check_order(const OrderState& order, const data::DataSet& data, const TrainingSettings& settings);

}  // namespace warpscope::training
