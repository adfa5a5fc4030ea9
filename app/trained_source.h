#pragma once
// What the commands that use a trained network share: the network, its data, a device, and features of images.

#include <functional>
#include <memory>
#include <string>

#include "gpu/classifiers/features.h"
#include "gpu/data/dataset.h"
#include "gpu/features/feature_layers.h"
#include "gpu/plan/selection.h"
#include "gpu/runs/trained_network.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name is the library's
class App;
}

namespace warpscope::app {

/// As typed.
struct TrainedArguments {
  std::string source;      ///< RUN or FILE
  std::string checkpoint;  ///< best, last or a file; "" for last
  std::string model;       ///< of a file of weights that names none
  std::string data;        ///< "" for the run's
  std::string device = "auto";
  std::string precision;  ///< "" for the run's, or the device's default
  std::string layers;     ///< as features::parse_feature_layers() takes it
};

/// Adds the argument RUN|FILE and --checkpoint, --model, --device and --precision.
void add_network_options(CLI::App& app, TrainedArguments& arguments);
/// The same, --data and --layer.
void add_trained_options(CLI::App& app, TrainedArguments& arguments);

/// A network that is ready to be used on its data.
struct TrainedSource {
  runs::TrainedNetwork network;
  features::FeatureLayers layers;
  plan::Selection selection;
  std::shared_ptr<core::Device> device;
  std::unique_ptr<core::Stream> stream;
  std::shared_ptr<const data::DataSet> data;

  classifiers::Place place() const { return {device, stream.get()}; }
  /// Features of one of `data`'s sets, in device memory.
  core::Buffer features_of(const data::ImageSet& set, const classifiers::Watch& watch = {}) const;
};

/// The network and its device, without layers and data. Throws core::BadInput for what cannot be.
TrainedSource open_network(const TrainedArguments& arguments);
/// All of it. Throws core::BadInput for what cannot be, before anything large is loaded.
TrainedSource open_trained(const TrainedArguments& arguments);
/// What `use` returns. If weights are not finite, a warning says so; where `use` refuses, its sentence begins with it.
int told_of_weights(const runs::TrainedNetwork& network, const std::function<int()>& use);

}  // namespace warpscope::app
