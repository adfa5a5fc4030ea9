#include "gpu/runs/trained_network.h"

#include <nlohmann/json.hpp>
#include <optional>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/files/safetensors.h"
#include "gpu/files/utf8.h"
#include "gpu/models/model_file.h"
#include "gpu/models/parameters.h"
#include "gpu/runs/find_checkpoint.h"
#include "gpu/runs/references.h"
#include "gpu/runs/run_reader.h"
#include "gpu/settings/configuration.h"

namespace warpscope::runs {
namespace {

namespace fs = std::filesystem;

/// Those of the data that a run learns, which run.json tells, as it has them; none if it does not.
std::vector<std::string> class_names(const fs::path& folder) {
  const nlohmann::json head = read_head(folder);
  const auto found = head.find("classes");
  if (found == head.end() || !found->is_array()) return {};
  std::vector<std::string> names;
  for (const nlohmann::json& name : *found) names.push_back(name.is_string() ? name.get<std::string>() : "");
  return names;
}

/// The network that a file's metadata describe, if they do. Throws core::BadInput that names the file.
std::optional<models::Model> described_in(const fs::path& file) {
  const files::SafetensorsFile opened(file);
  try {
    return models::described_in_file(opened.metadata());
  } catch (const core::BadInput& error) {
    throw core::BadInput(files::escaped(fmt::format(
        "the metadata of {} hold a network that cannot be read: {}", file.string(), error.what())));
  }
}

/// Throws core::BadInput if a file of a run is of a network that the run no longer has, or of another run's.
void check_network(const fs::path& file, const models::Model& model) {
  const std::optional<models::Model> described = described_in(file);
  if (!described || *described == model) return;
  throw core::BadInput(
      fmt::format("{} holds weights of another network than {} is in this run now; give the file "
                  "itself instead of the run",
                  files::escaped(file.string()), files::escaped(model.name)));
}

TrainedNetwork of_run(const fs::path& folder, const std::string& checkpoint) {
  TrainedNetwork network;
  network.of_run = true;
  training::apply(training::resolve(training::read_run(folder / "run.json")), network.settings);
  network.data = known_data(folder);
  network.classes = class_names(folder);
  network.weights = find_checkpoint(folder, checkpoint.empty() ? "last" : checkpoint);
  check_network(network.weights, network.settings.model);
  network.parameters =
      models::load_parameters(network.weights.string(), network.settings.model, &network.notice);
  return network;
}

TrainedNetwork of_file(const fs::path& file, const std::string& model) {
  TrainedNetwork network;
  network.weights = file;
  const std::optional<models::Model> described = described_in(file);
  network.settings.model =
      model.empty() ? described.value_or(models::find_model("autoencoder")) : models::model_of(model);
  if (described && *described != network.settings.model) {
    throw core::BadInput(fmt::format("{} holds weights of {}, not of {}; leave --model out",
                                     files::escaped(file.string()), files::escaped(described->name),
                                     files::escaped(network.settings.model.name)));
  }
  try {
    network.parameters = models::load_parameters(file.string(), network.settings.model, &network.notice);
  } catch (const core::BadInput& error) {
    if (described || !model.empty()) throw;
    throw core::BadInput(
        fmt::format("{}; its metadata name no model, --model takes it", files::escaped(error.what())));
  }
  return network;
}

/// With a sentence about numbers that are not finite.
TrainedNetwork told(TrainedNetwork network) {
  const std::string found = models::bad_numbers_in(network.settings.model, network.parameters);
  if (!found.empty()) network.not_finite = fmt::format("the weights hold {}", found);
  return network;
}

}  // namespace

TrainedNetwork load_trained_network(const fs::path& path, const std::string& checkpoint,
                                    const std::string& model) {
  std::error_code error;
  if (is_run(path)) return told(of_run(path, checkpoint));
  if (fs::is_regular_file(path, error)) return told(of_file(path, model));
  if (files::is_there(path)) files::is_there(path / "run.json");  // each throws where it may not be looked at
  throw core::BadInput(fmt::format("{} is neither the folder of a run nor a safetensors file of weights",
                                   files::escaped(path.string())));
}

std::optional<models::Model> network_held_in(const fs::path& path) {
  std::error_code error;
  if (!is_run(path)) return fs::is_regular_file(path, error) ? described_in(path) : std::nullopt;
  if (auto described = described_in(find_checkpoint(path, "last"))) return described;
  training::TrainingSettings settings;
  training::apply(training::resolve(training::read_run(path / "run.json")), settings);
  return settings.model;
}

}  // namespace warpscope::runs
