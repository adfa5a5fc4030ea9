#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/data/idx.h"
#include "gpu/data/set_kinds.h"
#include "gpu/files/file.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;
using files::InputFile;
using files::is_there;

// The published files have these.
constexpr std::int64_t kIdxImageBytes = 28 * 28;
constexpr std::int64_t kIdxTrainCount = 60'000;
constexpr std::int64_t kIdxTestCount = 10'000;

struct FileName {
  const char* stem;
  const char* kind;
  std::int64_t bytes;  ///< of the published one, unpacked
};
constexpr FileName kTrainImages{"train-images", "idx3-ubyte", 16 + kIdxTrainCount* kIdxImageBytes};
constexpr FileName kTrainLabels{"train-labels", "idx1-ubyte", 8 + kIdxTrainCount};
constexpr FileName kTestImages{"t10k-images", "idx3-ubyte", 16 + kIdxTestCount* kIdxImageBytes};
constexpr FileName kTestLabels{"t10k-labels", "idx1-ubyte", 8 + kIdxTestCount};
constexpr std::array kFiles{kTrainImages, kTrainLabels, kTestImages, kTestLabels};

/// Where the file is in `folder`, or nullopt. An unpacked one comes before a packed one, and a folder of such a name
/// last: some unpack a file into a folder that is called as the file is.
std::optional<fs::path> find_file(const fs::path& folder, const FileName& name) {
  std::optional<fs::path> within;
  for (const char* ending : {"", ".gz"}) {
    for (const char* joint : {"-", "."}) {
      fs::path path = folder / (std::string(name.stem) + joint + name.kind + ending);
      std::error_code failure;
      if (!fs::is_directory(path, failure)) {
        if (is_there(path)) return path;
      } else if (!within) {
        const fs::path inside = path / path.filename();
        within = is_there(inside) ? inside : path;
      }
    }
  }
  return within;
}

/// What a file has unpacked: gzip notes it in its last four bytes, only of its last member.
std::int64_t unpacked_size(const InputFile& file) {
  constexpr std::int64_t kLeastGzip = 18;
  if (!is_gzip(file)) return file.size();
  if (file.size() < kLeastGzip) return -1;
  std::array<std::uint8_t, 4> last{};
  file.read(file.size() - 4, last);
  std::uint32_t size = 0;
  for (int i = 3; i >= 0; --i) size = size << 8 | last[static_cast<std::size_t>(i)];
  return size;
}

ImageSet load_images(const SetRow& set, const fs::path& images_path, const fs::path& labels_path) {
  const std::string remedy = fmt::format("delete it and fetch {} again", set.title);
  Idx images = read_idx(images_path, 3, remedy);
  Idx labels = read_idx(labels_path, 1, remedy);
  if (images.sizes[1] != set.shape.height || images.sizes[2] != set.shape.width) {
    throw core::BadInput(fmt::format("{} holds images of {}x{}, where {} has {}x{}; {}", images_path.string(),
                                     images.sizes[1], images.sizes[2], set.title, set.shape.height,
                                     set.shape.width, remedy));
  }
  if (images.sizes[0] != labels.sizes[0]) {
    throw core::BadInput(fmt::format("{} holds {}, but {} holds {}; delete both and fetch {} again",
                                     images_path.string(), files::counted(images.sizes[0], "image"),
                                     labels_path.string(), files::counted(labels.sizes[0], "label"),
                                     set.title));
  }
  const auto wrong =
      std::ranges::find_if(labels.values, [&](std::uint8_t label) { return label >= set.classes.size(); });
  if (wrong != labels.values.end()) {
    throw core::BadInput(fmt::format(
        "{} has the label {} at place {} (counted from 0), where {} has 0 to {}; {}", labels_path.string(),
        *wrong, wrong - labels.values.begin(), set.title, set.classes.size() - 1, remedy));
  }
  return {set.shape.height, set.shape.width,          set.shape.channels,
          images.sizes[0],  std::move(images.values), std::move(labels.values)};
}

}  // namespace

bool holds_idx_set(const fs::path& folder) {
  return std::ranges::any_of(kFiles,
                             [&](const FileName& file) { return find_file(folder, file).has_value(); });
}

bool idx_set_is_complete(const fs::path& folder) noexcept {
  try {
    return std::ranges::all_of(kFiles, [&](const FileName& name) {
      const std::optional<fs::path> path = find_file(folder, name);
      return path && unpacked_size(InputFile(*path)) == name.bytes;
    });
  } catch (const std::exception&) {
    return false;
  }
}

DataSet load_idx_set(const SetRow& set, const fs::path& folder, const Requirements&, const Stopped&) {
  std::array<fs::path, kFiles.size()> paths;
  std::string missing;
  for (std::size_t i = 0; i < kFiles.size(); ++i) {
    if (const std::optional<fs::path> path = find_file(folder, kFiles[i])) {
      paths[i] = *path;
    } else {
      missing += fmt::format("{}{}-{}", missing.empty() ? "" : ", ", kFiles[i].stem, kFiles[i].kind);
    }
  }
  if (!missing.empty()) {
    throw core::BadInput(fmt::format("{} in {} is not complete: {} missing; fetch it again", set.title,
                                     folder.string(), missing));
  }
  DataSet loaded;
  loaded.classes = set.classes;
  loaded.train = load_images(set, paths[0], paths[1]);
  loaded.test = load_images(set, paths[2], paths[3]);
  return loaded;
}

}  // namespace warpscope::data
