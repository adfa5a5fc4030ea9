#include "gpu/runs/head_snapshot.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gpu/core/error.h"
#include "gpu/files/utf8.h"
#include "gpu/models/model.h"
#include "gpu/models/model_file.h"
#include "gpu/plan/views.h"
#include "gpu/runs/text.h"
#include "gpu/settings/configuration.h"
#include "gpu/settings/setting.h"

namespace warpscope::runs {
namespace {

using nlohmann::json;
using training::TrainerState;

/// A member of an object; null if it has none or is none.
const json& member(const json& object, const char* key) {
  static const json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

std::string text_of(const json& value) {
  return value.is_string() ? files::escaped(value.get_ref<const std::string&>()) : "";
}

template <class T>
T number_of(const json& value, T missing) {
  if (value.is_number_unsigned() || (value.is_number() && std::is_floating_point_v<T>)) return value.get<T>();
  return missing;
}

/// `read`'s value; `missing` if it throws that the input is bad.
template <class T, class Read>
T attempt(Read read, T missing) {
  try {
    return read();
  } catch (const core::BadInput&) {
    return missing;
  }
}

/// Those of `settings` that this version knows and can read.
training::TrainingSettings settings_of(const json& settings) {
  training::TrainingSettings known;
  for (const training::Setting& row : training::settings()) {
    attempt(
        [&] {
          apply(training::from_json({{row.name, member(settings, row.name)}}, ""), known);
          return true;
        },
        false);
  }
  return known;
}

plan::Selection selection_of(const json& settings) {
  plan::Selection selection;
  const std::string precision = text_of(member(settings, "precision"));
  selection.precision = attempt([&] { return core::parse_precision(precision); }, selection.precision);
  const json& variants = member(settings, "chosen");
  if (!variants.is_object()) return selection;
  for (const auto& [op, variant] : variants.items()) {
    if (!variant.is_string()) continue;
    attempt(
        [&] {
          selection.variants[ops::parse_op(op)] = text_of(variant);
          return true;
        },
        false);
  }
  return selection;
}

core::DeviceInfo device_of(const json& head) {
  const json& said = member(head, "device");
  core::DeviceInfo device;
  device.kind = text_of(member(said, "kind")) == "cuda" ? core::DeviceKind::cuda : core::DeviceKind::cpu;
  device.name = text_of(member(said, "name"));
  device.compute_capability = number_of(member(said, "compute_capability"), 0);
  device.multiprocessors = number_of(member(said, "multiprocessors"), 0);
  device.memory_bytes = number_of(member(said, "memory_bytes"), std::size_t{0});
  device.driver = text_of(member(said, "driver"));
  return device;
}

/// The settings as they were changed last; those at the start in runs that do not tell.
const json& settings_in(const json& head) {
  const json& now = member(head, "current");
  return now.is_object() ? now : member(head, "configuration");
}

}  // namespace

std::string network_text(const json& head) {
  const json& settings = settings_in(head);
  const json& network = member(settings, "network");
  // As it is: its lines are those of a file.
  if (network.is_string() && !network.get_ref<const std::string&>().empty()) {
    return valid_utf8(network.get_ref<const std::string&>());
  }
  return text_of(member(settings, "model"));
}

models::Model model_in(const json& head) {
  return models::model_of(network_text(head));
}

training::Snapshot snapshot_of(const json& head) {
  const json& settings = settings_in(head);
  training::Snapshot snapshot;
  if (!settings.is_object()) return snapshot;
  snapshot.model = text_of(member(settings, "model"));
  snapshot.classifies = member(head, "classifies") == json(true);
  snapshot.data_name = text_of(member(settings, "data"));
  snapshot.train_images = number_of(member(settings, "train_images"), std::int64_t{0});
  snapshot.validation_images = number_of(member(settings, "validation_images"), std::int64_t{0});
  snapshot.test_images = number_of(member(settings, "evaluated_images"), std::int64_t{0});
  auto known = std::make_shared<training::TrainingSettings>(settings_of(settings));
  snapshot.test_views = static_cast<int>(plan::views_of({known->test_mirrored, known->test_shift}).size());
  snapshot.total_epochs = static_cast<double>(known->epochs);
  snapshot.steps_planned = known->steps;
  const json& classes = member(head, "classes");
  const std::size_t head_classes = known->optimizer.joint > 0 && classes.is_array() ? classes.size() : 0;
  snapshot.parameters = attempt(
      [&] {
        known->model = model_in(head);
        return models::parameter_layout(models::with_head(known->model, static_cast<int>(head_classes)))
            .count;
      },
      std::size_t{0});
  snapshot.device = device_of(head);
  snapshot.selection = selection_of(settings);
  snapshot.settings = std::move(known);
  return snapshot;
}

TrainerState state_of(const json& head) {
  const std::string status = text_of(member(head, "status"));
  if (status == "finished") return TrainerState::finished;
  return status == "failed" ? TrainerState::failed : TrainerState::running;
}

std::string error_of(const json& head) {
  return text_of(member(head, "error"));
}

std::shared_ptr<const data::DataSet> named_data(const json& head, const std::string& name) {
  const json& classes = member(head, "classes");
  if (!classes.is_array()) return nullptr;
  auto data = std::make_shared<data::DataSet>();
  data->name = name;
  for (const json& one : classes) data->classes.push_back(text_of(one));
  return data;
}

}  // namespace warpscope::runs
