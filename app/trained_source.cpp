#include "app/trained_source.h"

#include <CLI/App.hpp>
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "app/run_folders.h"
#include "gpu/core/error.h"
#include "gpu/data/known_data.h"
#include "gpu/data/requirements.h"
#include "gpu/features/extractor.h"
#include "gpu/files/streams.h"
#include "gpu/settings/configuration.h"

namespace warpscope::app {

void add_network_options(CLI::App& app, TrainedArguments& a) {
  app.add_option("source", a.source,
                 "Folder of a run, its name in the folder runs, or a safetensors file of weights")
      ->type_name("RUN|FILE")
      ->required();
  app.add_option("--checkpoint", a.checkpoint, "Checkpoint of a run: best, last or a file (default: last)");
  app.add_option("--model", a.model, "Network of a file of weights that names none (default: autoencoder)");
  app.add_option("--device", a.device, "auto, cpu or cuda:N")->capture_default_str();
  app.add_option("--precision", a.precision, "fp32, tf32, fp16 or bf16 (default: the run's)");
}

void add_trained_options(CLI::App& app, TrainedArguments& a) {
  add_network_options(app, a);
  app.add_option("--data", a.data, "Data set or folder (default: the run's)");
  app.add_option("--layer", a.layers,
                 "Layers whose outputs are the features: pool2, conv1:max=4, pool1:mean=4+pool2 (default: "
                 "the latent)")
      ->type_name("LAYER[:max=S|:mean=S]+...");
}

core::Buffer TrainedSource::features_of(const data::ImageSet& set, const classifiers::Watch& watch) const {
  return features::features_of(set, network.settings.model, network.parameters, layers, selection, place(),
                               watch);
}

TrainedSource open_network(const TrainedArguments& a) {
  TrainedSource source;
  source.network = runs::load_trained_network(find_run(a.source, kRunsFolder), a.checkpoint, a.model);
  if (!source.network.notice.empty()) files::warn(source.network.notice);
  training::TrainingSettings& settings = source.network.settings;
  source.device = core::open_device(a.device);
  source.device->make_current();
  const core::DeviceInfo& device = source.device->info();
  if (!a.precision.empty()) settings.precision = core::parse_precision(a.precision);
  const auto able = plan::training_precisions(device);
  if (a.precision.empty() && settings.precision &&
      std::ranges::find(able, *settings.precision) == able.end()) {
    settings.precision.reset();  // the run had another device
  }
  training::complete(settings, device);
  plan::check_precision(device, *settings.precision);
  source.selection.precision = *settings.precision;
  source.stream = source.device->make_stream();
  return source;
}

TrainedSource open_trained(const TrainedArguments& a) {
  TrainedSource source = open_network(a);
  const training::TrainingSettings& settings = source.network.settings;
  const models::Model& model = settings.model;
  source.layers = features::parse_feature_layers(a.layers, model);
  // Classifiers of features tell apart what they are given, but the run's own data are made as the run had them.
  data::Requirements wanted = data::requirements_of(model);
  if (!a.data.empty()) wanted.classes = 0;
  data::FoundData found = a.data.empty() ? data::find_data(settings.data, source.network.data, wanted)
                                         : data::find_data(a.data, {}, wanted);
  if (!found.same) files::warn(data::told_as_other(found.set));
  if (!found.notice.empty()) files::warn(found.notice);
  source.data = std::make_shared<data::DataSet>(std::move(found.set));
  return source;
}

int told_of_weights(const runs::TrainedNetwork& network, const std::function<int()>& use) {
  if (network.not_finite.empty()) return use();
  int code = 0;
  try {
    code = use();
  } catch (const core::BadInput& error) {
    throw core::BadInput(fmt::format("{}: {}", network.not_finite, error.what()));
  }
  files::warn(network.not_finite);
  return code;
}

}  // namespace warpscope::app
