#pragma once
// Finds the data set that a person asked for.

#include <filesystem>
#include <string>

#include "gpu/data/sets.h"

namespace warpscope::data {

/// What a model takes.
struct Requirements {
  ImageShape shape;
  int classes = 0;  ///< it tells apart, so that a set may have no more; 0: any
};

/// Where the data that were asked for come from.
struct Location {
  const SetRow* set = nullptr;
  std::filesystem::path folder;  ///< the one that holds the files themselves; empty where the set is drawn
  std::string notice;            ///< one sentence for people if drawn images stand in for files, else ""
};

/// Reads `data_option` for a model:
///
///   ""           the first set in the table that suits the model and is there: in the folder
///                $WARPSCOPE_DATA if that is set, else in files::cache_dir(), else a drawn one, with a notice
///   "builtin"    the first drawn set that suits the model
///   NAME         that set, from $WARPSCOPE_DATA if that is set, else from files::cache_dir()
///   FOLDER       the set that lies in FOLDER, or in a folder of the set's name in it
///   NAME:FOLDER  that set in FOLDER, whatever FOLDER is called
///
/// Sets may have the same files, as MNIST and Fashion-MNIST have. Then the name of the folder that holds them
/// tells which it is; a folder with none of their names holds the first of them in the table.
///
/// Throws BadInput if data that were named are not there, do not suit the model or could be several sets, and
/// if no set suits the model. $WARPSCOPE_DATA counts as naming them: who sets it does not want to train on
/// something else unawares.
Location locate(const std::string& data_option, const Requirements& model);

/// Loads what locate() finds and sets `notice`. Throws BadInput as locate() does, and if the data set is
/// there but broken: drawn images never stand in for that.
DataSet load(const std::string& data_option, std::string& notice, const Requirements& model);

}  // namespace warpscope::data
