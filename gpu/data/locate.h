#pragma once
// Finds the data set that a person asked for.

#include <filesystem>
#include <string>

#include "gpu/data/dataset.h"

namespace warpscope::data {

/// Where the data that were asked for come from.
struct Location {
  std::filesystem::path folder;  ///< a folder with CIFAR-10; empty for the built-in scenes
  std::string notice;  ///< one sentence for people if the built-in scenes stand in for CIFAR-10, else ""
};

/// Reads `data_option`:
///
///   ""         CIFAR-10 from the folder $WARPSCOPE_DATA if that is set, else from core::cache_dir() if it is there,
///              else the built-in scenes, with a notice
///   "builtin"  the built-in scenes
///   "cifar10"  CIFAR-10 from $WARPSCOPE_DATA if that is set, else from core::cache_dir()
///   a folder   CIFAR-10 from that folder, or from cifar-10-batches-bin in it
///
/// Throws BadInput if data that were named are not there. $WARPSCOPE_DATA counts as naming them: who sets it does not
/// want to train on something else unawares.
Location locate(const std::string& data_option);

/// Loads what locate() finds and sets `notice`. Throws BadInput as locate() does, and if CIFAR-10 is there but broken:
/// the built-in scenes never stand in for that.
DataSet load(const std::string& data_option, std::string& notice);

}  // namespace warpscope::data
