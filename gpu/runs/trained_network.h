#pragma once
// A network with the weights that a training has given it, to be used rather than trained.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gpu/data/known_data.h"
#include "gpu/models/model.h"
#include "gpu/settings/training_settings.h"

namespace warpscope::runs {

struct TrainedNetwork {
  training::TrainingSettings settings;  ///< of its run; of a file of weights: only the model
  std::vector<float> parameters;        ///< models::ParameterLayout
  std::filesystem::path weights;        ///< the file they were read from
  std::string notice;      ///< what people should know of how they were read, in one sentence, else ""
  std::string not_finite;  ///< "the weights hold NaN in fc1.bias", else ""
  bool of_run = false;
  data::KnownData data;              ///< what the run tells of `settings.data`
  std::vector<std::string> classes;  ///< their names, where run.json tells them, not made fit to be shown
};

/// `path` is the folder of a run, whose `checkpoint` ("best", "last", or a file's name; "" is "last") is read, or a
/// safetensors file of weights, whose metadata name the model; where they do not, it is `model` ("" is "autoencoder").
/// Throws core::BadInput with one sentence if there is neither, or if the weights are not whole or of another model.
TrainedNetwork load_trained_network(const std::filesystem::path& path, const std::string& checkpoint,
                                    const std::string& model = "");

/// The network that the weights in `path`, as above (of a run the last checkpoint), are of, where they or the run tell
/// it. Nothing where `path` is neither. Throws core::BadInput for what cannot be read.
std::optional<models::Model> network_held_in(const std::filesystem::path& path);

}  // namespace warpscope::runs
