#pragma once
// What a model takes, held against what a data set has.

#include <cstddef>
#include <cstdint>
#include <string>

#include "gpu/data/dataset.h"

namespace warpscope::data {

/// What a model takes.
struct Requirements {
  ImageShape shape;
  int classes = 0;                 ///< it tells apart, so that a set may have no more; 0: any
  std::string name = "the model";  ///< for people
  std::string alphabet = {};       ///< of a model that takes texts (text_encoding.h); "": it takes images
  /// Whoever asks holds classes against the model's by name, so that a person's own set may have more.
  bool classes_by_name = false;

  bool takes_texts() const { return !alphabet.empty(); }
};

template <class Model>  // models::Model, which stands above
Requirements requirements_of(const Model& model) {
  return {.shape = {model.height, model.width, model.channels},
          .classes = model.classes,
          .name = model.name,
          .alphabet = model.alphabet};
}

/// "32x32x3"
std::string describe(const ImageShape& shape);

/// Throws BadInput that names both sides unless both are about texts or both about images.
void check_kind(const std::string& set, bool texts, const Requirements& model);

/// Throws BadInput that names both sides unless images of `shape`, which `set` has, are what the model takes.
void check_shape(const std::string& set, const ImageShape& shape, const Requirements& model);

/// Throws BadInput unless there are 2 to 256 classes and the model tells so many apart, or `classes_by_name`.
void check_classes(const std::string& set, std::size_t classes, const Requirements& model);

/// Throws BadInput, before any memory is taken, if `images` images of `shape` need more than the machine has free.
void check_memory(const std::string& set, std::int64_t images, const ImageShape& shape);

}  // namespace warpscope::data
