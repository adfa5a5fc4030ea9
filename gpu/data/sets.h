#pragma once
// The data sets that Warpscope knows: one table, a row each. Finding (locate.h), loading and the names that
// are valid work from it; where the files are downloaded from is the fetch command's table
// (app/fetch/sources.cpp).

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/data/dataset.h"

namespace warpscope::data {

/// A data set that lies in files, or one that the program draws.
struct SetRow {
  std::string_view name;   ///< as people type it: "fashion_mnist"
  std::string_view title;  ///< as people read it: "Fashion-MNIST"
  ImageShape shape;
  std::vector<std::string> classes;

  /// Names of a folder that holds its files; the first is the one that fetch makes. Empty: it is drawn.
  std::vector<std::string_view> folders = {};
  std::string_view files = {};  ///< what such a folder must hold, for people
  /// True if any of the files is in `folder` itself. Rows with the same files share this function. Throws
  /// BadInput if `folder` cannot be read.
  bool (*holds)(const std::filesystem::path& folder) = nullptr;
  /// True if all files are in `folder` itself, with the sizes of the published ones.
  bool (*is_complete)(const std::filesystem::path& folder) noexcept = nullptr;

  /// Reads the files in `folder` itself, or draws the images. Throws BadInput that names the file if one is
  /// missing or defective; Error if reading fails half-way.
  DataSet (*load)(const SetRow& set, const std::filesystem::path& folder) = nullptr;

  bool drawn() const { return folders.empty(); }
};

/// All of them. Where several would do, the first one is taken.
std::span<const SetRow> sets();

/// nullptr if there is no such name.
const SetRow* find_set(std::string_view name) noexcept;

}  // namespace warpscope::data
