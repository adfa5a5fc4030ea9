#pragma once
// Networks as plain data: layers and shapes, nothing else. What runs them is a plan's business.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/core/error.h"
#include "gpu/models/layer.h"

namespace warpscope::models {

/// What training makes small.
enum class Loss : std::uint8_t {
  mse,            ///< the mean squared error between output and input
  cross_entropy,  ///< softmax cross-entropy between the output, one logit a class, and the label
};

/// A chain of layers and a loss.
struct Model {
  std::string name;
  int height = 0;
  int width = 0;
  int channels = 0;
  std::vector<Layer> layers;
  Loss loss = Loss::mse;
  int classes = 0;  ///< with cross_entropy
  /// Classes of a linear head on the latents (latent.h) that learns beside the layers, of a model that reconstructs;
  /// 0: there is none. It is no layer: what the layers make does not depend on it.
  int head_classes = 0;
  /// For a network that takes texts: their characters, 1 to 255 different code points in UTF-8. The input is then
  /// 1 x length x 1 bytes (data/text_encoding.h). "": it takes images.
  std::string alphabet = {};

  bool reads_text() const { return !alphabet.empty(); }
  bool operator==(const Model&) const = default;
};

/// What the names of the head's parameters begin with, and the layer that its ops are told to be of.
inline constexpr const char* kHead = "head";

/// One parameter tensor's place in the contiguous parameter buffer.
struct Parameter {
  std::string name;        ///< "conv1.weight", "conv1.bias"
  std::vector<int> shape;  ///< ours, ParameterForm
  std::size_t offset = 0;  ///< in elements; multiples of 64, so that every tensor is 256-byte aligned
  std::size_t elements = 0;
  std::size_t layer = 0;  ///< index in Model::layers; their number for the head's
  ParameterForm form = ParameterForm::vector;
  Initial initial = Initial::zeros;
  bool learned = true;  ///< by the optimizer; false: the layer keeps it itself
};

/// Where each parameter lies.
struct ParameterLayout {
  std::vector<Parameter> parameters;
  std::size_t elements = 0;  ///< of the whole buffer, padding included
  std::size_t kept = 0;      ///< of these the first, which no optimizer touches: what layers keep themselves
  std::size_t count = 0;     ///< of parameters that are learned, padding not included

  /// Throws std::logic_error if there is no such parameter.
  const Parameter& find(std::string_view name) const;
};

/// What is not learned comes first, and the head's come last, so that the others lie where they do without it.
ParameterLayout parameter_layout(const Model& model);

/// "conv1", "head": whose parameter it is.
std::string layer_of(const Model& model, const Parameter& parameter);

/// `model` with a head of so many classes on its latents; with 0 without one.
Model with_head(Model model, int classes);

/// The names of the networks that are built in, which find_model() takes.
std::vector<std::string> model_names();

/// A built-in model by name. Throws core::BadInput that lists the valid names. Others are files (model_file.h).
Model find_model(std::string_view name);

/// Fills in what follows from the size of each layer's input, the input channels of layers that have weights, and from
/// the alphabet: how many characters layers that read them tell apart, where that is 0.
void fit_layers(Model& model);

/// The index of the layer of that name, or the number of layers.
std::size_t index_of(const Model& model, std::string_view layer);

/// What a layer may be called.
inline constexpr std::string_view kLayerNames = "a name has 1 to 64 letters, digits and _ - .";

/// A layer that does not fit what comes before it.
class BadLayer : public core::BadInput {
 public:
  BadLayer(const Model& model, std::size_t at, const std::string& reason);

  std::size_t layer = 0;  ///< its index
  std::string why;        ///< "takes 8 channels, gets 16"
};

/// Throws BadLayer for the first layer that does not fit what comes before it, core::BadInput that says what else the
/// model lacks: images or texts, a layer to train, an output of the input's size or of a logit a class, a head that has
/// something to add.
void check_model(const Model& model);

/// Initial parameters in the layout above: weights from He's normal distribution, N(0, 2 / (R S C)), tables of
/// embeddings from N(0, 1), scales and variances of normalizations one, all else and padding zero. The same bits
/// for the same seed everywhere (counter-based generator, Box-Muller).
/// Source: K. He et al., "Delving Deep into Rectifiers" (2015), equation 10.
std::vector<float> initial_parameters(const Model& model, std::uint64_t seed);

}  // namespace warpscope::models
