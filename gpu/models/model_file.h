#pragma once
// Networks as TOML files that people write:
//
//   input = [32, 32, 3]     # height, width, channels of the images
//   loss = "cross_entropy"  # or "mse": the network reconstructs its input
//   classes = 10            # of cross_entropy
//   layers = [
//     {type = "conv2d", name = "conv1", channels = 64, kernel = 3},
//     {type = "relu"},
//     {type = "linear", features = 10},
//   ]
//
// A network that takes texts has, instead of `input`, their length and the characters it tells apart:
//
//   text = {length = 1014, alphabet = "abcdefghijklmnopqrstuvwxyz0123456789 .,!?"}
//
// A layer that has no name gets one of its kind and its number among them ("relu1"). Which kinds there are, and
// which fields they have, stands in the table of layer.h. What a layer takes follows from the layer before it.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "gpu/models/model.h"

namespace warpscope::models {

/// True of the built-in networks that are code, whose names stand for the same layers in every version.
bool is_code(std::string_view name);

/// A built-in network that is a file, of assets/models: its name and its text.
struct ShippedNetwork {
  std::string_view name;
  std::string_view text;
};

/// All of them, by name.
std::span<const ShippedNetwork> shipped_networks();
/// nullptr if none is called so.
const ShippedNetwork* find_shipped(std::string_view name);

/// Reads a network. `where` stands for the file in messages, `name` is what the network is called if the text does
/// not say. Throws core::BadInput with one sentence that begins with FILE:LINE for the first mistake: bad syntax,
/// an unknown key (with the nearest valid one), a value that cannot be, a layer that does not fit what comes before
/// it (with the sizes on both sides), the name of a built-in network that is another.
Model parse_model(std::string_view text, std::string_view where, std::string_view name);

/// The same from a file; the network is called what the file is, without its ending.
Model read_model(const std::filesystem::path& file);

/// Throws BadLayer for the first layer with which `model`, which check_model() has passed, has more parameters than
/// networks may have.
void check_size(const Model& model);

/// How a network is written.
enum class Style : std::uint8_t {
  plain,       ///< with its name
  for_people,  ///< to be changed by a person: called what the file is; sizes and parameters beside each layer
};

/// `model` as such a file. parse_model() gives an equal model, but for the name. A head is left out.
std::string to_toml(const Model& model, Style style = Style::plain);

/// A model as settings and run.json hold it: the name of one that is code, the whole text (to_toml()) of another, since
/// later versions of its file may be other networks.
std::string text_of(const Model& model);

/// `model`, under a name of its own: one that has a built-in network's name and is another gets "-edited" behind it.
Model with_name_of_its_own(Model model);

/// What text_of() says, the name of a built-in network, or a file's path: a text with a line break is a network,
/// one that ends in .toml a file, whatever else has that name.
/// Throws core::BadInput as parse_model() and find_model().
Model model_of(const std::string& text);

/// The name in what text_of() says, for people. Never throws: what cannot be read is its own name.
std::string name_in(const std::string& text);

}  // namespace warpscope::models
