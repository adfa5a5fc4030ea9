#pragma once
// Where the inside of a network is narrowest in meaning: the latent, which the layers before it make of an image
// and the layers behind it read.

#include <cstddef>
#include <string>

#include "gpu/models/model.h"

namespace warpscope::models {

/// A model cut in two behind layer `end` - 1: layers [0, end) are the encoder, [end, all) read the latent.
struct Latent {
  std::size_t end = 0;
  Extent extent;
  bool decodes = false;  ///< the layers behind it make a picture of it
  std::string layer;     ///< whose output it is: "pool2"
  std::string reason;    ///< why it is this one, in a sentence

  std::size_t elements() const {
    return static_cast<std::size_t>(extent.height) * static_cast<std::size_t>(extent.width) *
           static_cast<std::size_t>(extent.channels);
  }
};

/// The latent of `model`. A network that reconstructs has it where upsampling begins to undo the pooling: at the
/// output with the fewest pixels, the last pooling's. One that classifies has it before its last linear layer,
/// where the classes can be told apart by planes. Where there is no such layer it is the output of the middle one.
Latent latent_of(const Model& model);

/// The first `end` layers of `model`, without its head: an encoder. Their parameters lie where those of the whole model
/// do. It has no loss that could be trained.
Model first_layers(Model model, std::size_t end);

}  // namespace warpscope::models
