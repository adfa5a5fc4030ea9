#pragma once
// Finds the data set that a person asked for.

#include <filesystem>
#include <string>

#include "gpu/data/dataset.h"

namespace warpscope::data {

/// What a model's images say about the data that it wants.
inline constexpr ImageShape kSceneShape{32, 32, 3};  ///< CIFAR-10, or the built-in scenes
inline constexpr ImageShape kDigitShape{28, 28, 1};  ///< MNIST, or the built-in digits

/// Where the data that were asked for come from.
struct Location {
  std::filesystem::path folder;  ///< a folder with CIFAR-10 or MNIST; empty for the built-in images
  std::string notice;  ///< one sentence for people if the built-in images stand in for them, else ""
};

/// Reads `data_option` for a model that takes images of the size `wanted`:
///
///   ""         CIFAR-10 or MNIST, whichever has that size, from the folder $WARPSCOPE_DATA if that is set, else from
///              core::cache_dir() if it is there, else the built-in images, with a notice
///   "builtin"  the built-in images: scenes or digits
///   "cifar10"  CIFAR-10 from $WARPSCOPE_DATA if that is set, else from core::cache_dir()
///   "mnist"    MNIST, likewise
///   a folder   the data set in that folder, or in cifar-10-batches-bin or mnist in it
///
/// Throws BadInput if data that were named are not there, or are the other data set, and if no data set has images of the
/// size `wanted`. $WARPSCOPE_DATA counts as naming them: who sets it does not want to train on something else unawares.
Location locate(const std::string& data_option, const ImageShape& wanted = kSceneShape);

/// Loads what locate() finds and sets `notice`. Throws BadInput as locate() does, and if the data set is there but broken:
/// the built-in images never stand in for that.
DataSet load(const std::string& data_option, std::string& notice, const ImageShape& wanted = kSceneShape);

}  // namespace warpscope::data
