#pragma once
// The data sets that Warpscope knows: one table, a row each. Finding (locate.h), loading and the names that
// are valid work from it; where the files are downloaded from is the fetch command's table
// (app/fetch/sources.cpp).

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/data/dataset.h"
#include "gpu/data/requirements.h"

namespace warpscope::data {

/// Asked now and then by loaders that may take long, of any thread: true once nobody waits for the data any more.
using Stopped = std::function<bool()>;

/// A data set that was published in files, a form of sets that people make themselves, or a set that the program
/// draws.
struct SetRow {
  std::string_view name;   ///< as people type it: "fashion_mnist"
  std::string_view title;  ///< as people read it: "Fashion-MNIST"
  ImageShape shape =
      {};  ///< {}: any; then `load` makes what the model takes, or refuses what does not suit it
  std::vector<std::string> classes = {};  ///< {}: the files tell

  /// Names of a folder that holds its files; the first is the one that fetch makes, those with a stroke are as
  /// torchvision has them. Empty: it is not published.
  std::vector<std::string_view> folders = {};
  bool texts =
      false;  ///< it holds texts as bytes, of the model's length and alphabet; it has no shape of its own then
  std::string_view files = {};  ///< what such a folder must hold, for people; empty: it is drawn
  /// True if any of the files is in `folder` itself. Rows with the same files share this function. Throws
  /// BadInput if `folder` cannot be read.
  bool (*holds)(const std::filesystem::path& folder) = nullptr;
  /// For a published set: true if all files are in `folder` itself, with the sizes of the published ones.
  bool (*is_complete)(const std::filesystem::path& folder) noexcept = nullptr;
  /// The shape of the images in `folder` itself, as their files tell it; nothing if they are defective. nullptr: files
  /// do not tell, or images are made to fit.
  std::optional<ImageShape> (*shape_in)(const std::filesystem::path& folder) = nullptr;

  /// Reads the files in `folder` itself, or draws the images; those of a set of any shape as `model` takes them.
  /// Throws BadInput that names the file if one is missing or defective; Error if reading fails half-way or is stopped.
  DataSet (*load)(const SetRow& set, const std::filesystem::path& folder, const Requirements& model,
                  const Stopped& stopped) = nullptr;

  /// How people get a published set that fetch does not bring, as a sentence goes on; "": fetch brings it.
  std::string_view brought_by = {};

  bool any_shape() const { return shape == ImageShape{}; }
  bool drawn() const { return files.empty(); }
  bool published() const { return !folders.empty(); }
  bool own() const { return !drawn() && !published(); }  ///< made by the person who trains on it
};

/// All of them. Where several would do, the first one is taken.
std::span<const SetRow> sets();

/// nullptr if there is no such name.
const SetRow* find_set(std::string_view name) noexcept;

}  // namespace warpscope::data
