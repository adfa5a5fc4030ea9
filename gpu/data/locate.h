#pragma once
// Finds the data set that a person asked for.

#include <filesystem>
#include <string>

#include "gpu/data/sets.h"

namespace warpscope::data {

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
///   "builtin"    the first drawn set that suits the model; there always is one
///   NAME         that set, from $WARPSCOPE_DATA if that is set, else from files::cache_dir()
///   FOLDER       the set that lies in FOLDER, or in a folder of the set's name in it; where there is none, a
///                person's own in FOLDER itself
///   NAME:FOLDER  that set, or a set of one's own in that form, in FOLDER, whatever FOLDER is called
///
/// Sets may have the same files, as MNIST and Fashion-MNIST have. Then the name of the folder that holds them
/// tells which it is; a folder with none of their names holds the first of them in the table. Such files with images
/// of another size are a set of one's own.
///
/// Throws BadInput if data that were named are not there, do not suit the model or could be several sets.
/// $WARPSCOPE_DATA counts as naming them: who sets it does not want to train on something else unawares.
Location locate(const std::string& data_option, const Requirements& model);

/// Loads what locate() finds and sets `notice`, to what the set itself says too (DataSet::notice). A person's own set
/// is named like its folder. Throws BadInput as locate() does, if the files show that the set does not suit the model,
/// and if it is there but broken: drawn images never stand in for that; Error if reading fails half-way or is stopped.
DataSet load(const std::string& data_option, std::string& notice, const Requirements& model,
             const Stopped& stopped = {});

}  // namespace warpscope::data
