#include "gpu/runs/checkpoint.h"

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/files/format.h"
#include "gpu/files/read_json.h"
#include "gpu/files/safetensors.h"
#include "gpu/files/text.h"
#include "gpu/models/parameters.h"

namespace warpscope::training {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kCheckpoint = "checkpoint";

std::string tensor_prefix(const std::string& state) {
  return fmt::format("{}{}.", models::kOptimizerPrefix, state);
}

/// A whole checkpoint, but not one for this model or program: an older one would not do either.
class OtherKind : public core::BadInput {
 public:
  using core::BadInput::BadInput;
};

/// Reads members of a JSON object; what is missing or of another type is refused with the member's name.
class Members {
 public:
  Members(const fs::path& path, const json& object, std::string name)
      : path_(path), object_(object), name_(std::move(name)) {
    if (!object.is_object()) refuse("is not a JSON object");
  }

  template <class Number>
  Number integer(const char* key) const {
    const json& value = member(key);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > largest<Number>())
      refuse(key, "is not a whole number in its range");
    return value.get<Number>();
  }
  template <class Real>
  Real real(const char* key) const {
    const json& value = member(key);
    if (!value.is_number()) refuse(key, "is not a number");
    return value.get<Real>();
  }
  bool flag(const char* key) const {
    const json& value = member(key);
    if (!value.is_boolean()) refuse(key, "is neither true nor false");
    return value.get<bool>();
  }
  std::string text(const char* key) const {
    const json& value = member(key);
    if (!value.is_string()) refuse(key, "is not text");
    return value.get<std::string>();
  }
  Members members(const char* key) const { return {path_, member(key), fmt::format("{}.{}", name_, key)}; }
  const json& member(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) refuse(key, "is missing");
    return *found;
  }
  [[noreturn]] void refuse(const char* key, const char* what) const {
    throw core::BadInput(
        fmt::format("{} is no usable checkpoint: {}.{} {}", path_.string(), name_, key, what));
  }

 private:
  template <class Number>
  static constexpr std::uint64_t largest() {
    return static_cast<std::uint64_t>(std::numeric_limits<Number>::max());
  }
  [[noreturn]] void refuse(const char* what) const {
    throw core::BadInput(fmt::format("{} is no usable checkpoint: {} {}", path_.string(), name_, what));
  }

  const fs::path& path_;
  const json& object_;
  std::string name_;
};

/// Throws core::BadInput if the checkpoint could not be read back as it is.
void check(const fs::path& path, const Checkpoint& checkpoint, const models::Model& model) {
  const auto refuse = [&](const std::string& why) {
    throw core::BadInput(fmt::format("cannot write {}: {}", path.string(), why));
  };
  if (checkpoint.model != model.name) {
    refuse(fmt::format("the checkpoint is of model {}, not of {}", checkpoint.model, model.name));
  }
  const std::size_t elements = models::parameter_layout(model).elements;
  const auto check_buffer = [&](std::string_view name, const std::vector<float>& values) {
    if (values.size() == elements) return;
    refuse(
        fmt::format("its {} have {} elements, model {} has {}", name, values.size(), model.name, elements));
  };
  check_buffer("weights", checkpoint.weights);
  const std::vector<std::string> names = state_names(checkpoint.rule);
  std::vector<std::string> own_names;
  for (const OptimizerState& state : checkpoint.optimizer) {
    check_buffer(state.name, state.values);
    own_names.push_back(state.name);
  }
  if (own_names != names) {
    refuse(fmt::format("its optimizer states are ({}), those of {} are ({})", fmt::join(own_names, ", "),
                       ops::to_string(checkpoint.rule), fmt::join(names, ", ")));
  }
  if (!std::isfinite(checkpoint.control.loss_scale)) refuse("its loss scale is not finite");
  if (!std::isfinite(checkpoint.epochs)) refuse("its epochs are not finite");
  if (checkpoint.order.images < 0) refuse("its number of images is negative");
  if (!checkpoint.training.is_object()) refuse("its member training is not a JSON object");
}

json to_json(const Checkpoint& c) {
  return {{files::kFormat, files::kCheckpointFormat.number},
          {"step", c.step},
          {"epochs", c.epochs},
          {"generation", c.generation},
          {"optimizer", {{"rule", ops::to_string(c.rule)}, {"states", state_names(c.rule)}}},
          {"control",
           {{"loss_scale", c.control.loss_scale},
            {"good_steps", c.control.good_steps},
            {"growth_interval", c.control.growth_interval},
            {"updates", c.control.updates}}},
          {"order",
           {{"images", c.order.images},
            {"seed", c.order.seed},
            {"epoch", c.order.epoch},
            {"position", c.order.position},
            {"batch", c.order.batch},
            {"shuffle", c.order.shuffle}}},
          {"training", c.training}};
}

ControlState read_control(const Members& members) {
  ControlState control;
  control.loss_scale = members.real<float>("loss_scale");
  control.good_steps = members.integer<std::uint32_t>("good_steps");
  control.growth_interval = members.integer<std::uint32_t>("growth_interval");
  control.updates = members.integer<std::uint32_t>("updates");
  return control;
}

OrderState read_order(const Members& members) {
  OrderState order;
  order.images = members.integer<std::int64_t>("images");
  order.seed = members.integer<std::uint64_t>("seed");
  order.epoch = members.integer<std::uint64_t>("epoch");
  order.position = members.integer<std::uint32_t>("position");
  order.batch = members.integer<std::uint32_t>("batch");
  order.shuffle = members.flag("shuffle");
  return order;
}

ops::UpdateRule read_rule(const Members& members) {
  try {
    return ops::parse_update_rule(members.text("rule"));
  } catch (const core::BadInput& error) {
    members.refuse("rule", error.what());
  }
}

/// Everything but the tensors.
Checkpoint read_json(const fs::path& path, const std::string& text) {
  const json object = files::read_json(text);
  if (object.is_discarded()) {
    throw core::BadInput(fmt::format("{} is no usable checkpoint: its metadata are not JSON", path.string()));
  }
  const Members members(path, object, kCheckpoint);
  const std::string why = files::refusal_of_format(object, files::kCheckpointFormat);
  if (!why.empty()) throw OtherKind(fmt::format("{} {}", path.string(), why));
  Checkpoint checkpoint;
  checkpoint.step = members.integer<std::uint64_t>("step");
  checkpoint.epochs = members.real<double>("epochs");
  checkpoint.generation = members.integer<std::uint64_t>("generation");
  const Members optimizer = members.members("optimizer");
  checkpoint.rule = read_rule(optimizer);
  if (optimizer.member("states") != state_names(checkpoint.rule)) {
    optimizer.refuse("states", "are not those of the rule");
  }
  checkpoint.control = read_control(members.members("control"));
  checkpoint.order = read_order(members.members("order"));
  checkpoint.training = members.member("training");
  if (!checkpoint.training.is_object()) members.refuse("training", "is not a JSON object");
  return checkpoint;
}

/// The network whose weights a file holds; none if it does not say, or in a way that this version does not read.
std::optional<models::Model> network_in(const std::map<std::string, std::string>& metadata) {
  try {
    return models::described_in_file(metadata);
  } catch (const core::BadInput&) {
    return std::nullopt;
  }
}

/// What a file of another network than `model` says of it. Runs whose network was changed have both.
struct OtherNetwork {
  std::string name;
  bool other_layers = false;  ///< of the same name
};

std::optional<OtherNetwork> other_network(const std::map<std::string, std::string>& metadata,
                                          const models::Model& model) {
  const std::string& name = metadata.at(models::kModelEntry);
  if (name != model.name) return OtherNetwork{name};
  const std::optional<models::Model> network = network_in(metadata);
  if (!network || *network == models::with_head(model, 0)) return std::nullopt;
  return OtherNetwork{name, true};
}

/// Throws OtherKind.
void check_network(const fs::path& path, const std::map<std::string, std::string>& metadata,
                   const models::Model& model) {
  const auto other = other_network(metadata, model);
  if (!other) return;
  const std::string& name = other->name;
  if (!other->other_layers) {
    throw OtherKind(fmt::format("{} is a checkpoint of model {:.100}, not of {}; choose that model",
                                path.string(), name, model.name));
  }
  throw OtherKind(
      fmt::format("{} is a checkpoint of model {:.100} as it was with other layers; choose one of after "
                  "the network was changed, or start from its weights with --init and --init-partly",
                  path.string(), name));
}

Checkpoint load(const fs::path& path, const models::Model& layers) {
  const files::SafetensorsFile file(path, files::Seal::required);
  const std::map<std::string, std::string>& metadata = file.metadata();
  if (!metadata.contains(models::kModelEntry) || !metadata.contains(kCheckpoint)) {
    throw core::BadInput(fmt::format("{} is no checkpoint: its metadata lack one", path.string()));
  }
  const models::Model model = models::with_head(layers, models::head_classes_in(file.entries()));
  check_network(path, metadata, model);
  Checkpoint checkpoint = read_json(path, metadata.at(kCheckpoint));
  const std::vector<files::NamedTensor> tensors = files::read_tensors(file);
  checkpoint.model = model.name;
  checkpoint.head_classes = model.head_classes;
  checkpoint.weights = models::from_tensors(model, tensors, path.string());
  for (const std::string& name : state_names(checkpoint.rule)) {
    checkpoint.optimizer.push_back(
        {name, models::from_tensors(model, tensors, path.string(), tensor_prefix(name))});
  }
  const std::size_t expected =
      models::parameter_layout(model).parameters.size() * (1 + checkpoint.optimizer.size());
  if (tensors.size() != expected) {
    throw core::BadInput(fmt::format("{} is no usable checkpoint: it holds {} tensors instead of {}",
                                     path.string(), tensors.size(), expected));
  }
  return checkpoint;
}

}  // namespace

std::vector<std::string> state_names(ops::UpdateRule rule) {
  std::vector<std::string> names;
  for (int i = 0; i < ops::states_of(rule); ++i) {
    names.emplace_back(ops::row_of(rule).states[i].torch_name);
  }
  return names;
}

void save_checkpoint(const fs::path& path, const Checkpoint& checkpoint, const models::Model& model,
                     const files::Writing& writing) {
  const models::Model whole = models::with_head(model, checkpoint.head_classes);
  check(path, checkpoint, whole);
  std::vector<files::NamedTensor> tensors = models::to_tensors(whole, checkpoint.weights);
  for (const OptimizerState& state : checkpoint.optimizer) {
    for (files::NamedTensor& tensor : models::to_tensors(whole, state.values, tensor_prefix(state.name)))
      tensors.push_back(std::move(tensor));
  }
  std::map<std::string, std::string> metadata = models::describe_in_file(model);
  metadata["format"] = "pt";
  metadata[kCheckpoint] = to_json(checkpoint).dump(-1, ' ', false, json::error_handler_t::replace);
  files::write_sealed_safetensors(path, tensors, metadata, writing);
}

Checkpoint load_checkpoint(const fs::path& path, const models::Model& model) {
  try {
    return load(path, model);
  } catch (const OtherKind&) {
    throw;
  } catch (const core::BadInput& error) {
    throw core::BadInput(fmt::format("{}; use an older checkpoint", error.what()));
  }
}

std::optional<std::uint64_t> generation_of(const fs::path& path) {
  try {
    const auto metadata = files::metadata_of(path);
    const auto found = metadata.find(kCheckpoint);
    if (found == metadata.end()) return std::nullopt;
    return read_json(path, found->second).generation;
  } catch (const core::Error&) {
    return std::nullopt;  // who loads it is told
  }
}

std::string why_other_network(const fs::path& path, const models::Model& model) {
  try {
    const auto metadata = files::metadata_of(path);
    if (!metadata.contains(models::kModelEntry)) return "";
    const auto other = other_network(metadata, model);
    if (!other) return "";
    return fmt::format("it is of an earlier network, {:.100}{}", files::sayable(other->name),
                       other->other_layers ? " with other layers" : "");
  } catch (const core::Error&) {
    return "";  // who loads it is told
  }
}

void check_order(const OrderState& order, const data::DataSet& data, const TrainingSettings& settings) {
  if (order.images != data.train.count) {
    throw core::BadInput(fmt::format("the run was trained on {}, {} has {}",
                                     files::counted(static_cast<std::int64_t>(order.images), "image"),
                                     data.name, data.train.count));
  }
  if (order.seed == settings.seed && order.shuffle == settings.shuffle) return;
  throw core::BadInput(
      fmt::format("the run goes through its images with seed {}, {}: a resumed run cannot change that",
                  order.seed, order.shuffle ? "shuffled" : "in stored order"));
}

}  // namespace warpscope::training
