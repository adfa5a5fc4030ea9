#pragma once
// Data that were read before, found again, and told from others under the same name.

#include <string>
#include <vector>

#include "gpu/data/dataset.h"
#include "gpu/data/sets.h"

namespace warpscope::data {

/// What is known of data from when they were read before.
struct KnownData {
  std::string checksum;                     ///< checksum_of(); "": nobody knows
  std::vector<std::string> second_guesses;  ///< where else they may be now, as load() takes it
  bool written_down =
      false;  ///< load()'s option was taken from a run, so that people can be told to name another
};

/// For what a training sees of a set: classes, labels, and pixels or texts.
std::string checksum_of(const DataSet& set);

struct FoundData {
  DataSet set;
  std::string notice;    ///< that of load()
  std::string checksum;  ///< of `set`
  bool same = true;      ///< not other ones than those that are known
};

/// What load() finds for `data_option`, or for the first of the second guesses that leads to the known data where that
/// option does not. Throws as load() does for `data_option`, where its data were written down with what to do.
FoundData find_data(const std::string& data_option, const KnownData& known, const Requirements& model,
                    const Stopped& stopped = {});

/// "FOLDER holds other images than those that the run was trained on": what to do may follow.
std::string told_as_other(const DataSet& set);

/// What --data takes: a set's name, "builtin" or "", a folder, or NAME:FOLDER.
struct DataOption {
  std::string name;    ///< "" of a folder by itself
  std::string folder;  ///< "" of a name by itself
};
DataOption split_option(const std::string& data_option);
std::string joined(const DataOption& option);

}  // namespace warpscope::data
