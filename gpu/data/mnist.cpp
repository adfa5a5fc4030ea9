#include "gpu/data/mnist.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/data/idx.h"
#include "gpu/files/file.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;

constexpr int kSide = 28;
constexpr int kClasses = 10;
constexpr const char* kRemedy = "delete it and fetch MNIST again";

struct FileName {
  const char* stem;
  const char* kind;
  std::int64_t bytes;  ///< of the original, unpacked
};
constexpr FileName kTrainImages{"train-images", "idx3-ubyte", 16 + 60'000 * kSide* kSide};
constexpr FileName kTrainLabels{"train-labels", "idx1-ubyte", 8 + 60'000};
constexpr FileName kTestImages{"t10k-images", "idx3-ubyte", 16 + 10'000 * kSide* kSide};
constexpr FileName kTestLabels{"t10k-labels", "idx1-ubyte", 8 + 10'000};
constexpr std::array kFiles{kTrainImages, kTrainLabels, kTestImages, kTestLabels};

/// Where the file is in `folder`, or nullopt. An unpacked one comes before a packed one.
std::optional<fs::path> find_file(const fs::path& folder, const FileName& name) {
  for (const char* ending : {"", ".gz"}) {
    for (const char* joint : {"-", "."}) {
      fs::path path = folder / (std::string(name.stem) + joint + name.kind + ending);
      if (is_there(path)) return path;
    }
  }
  return std::nullopt;
}

/// What a file of `size` bytes has unpacked: gzip notes it in its last four bytes.
std::int64_t unpacked_size(const InputFile& file) {
  constexpr std::int64_t kLeastGzip = 18;
  if (file.path().extension() != ".gz") return file.size();
  if (file.size() < kLeastGzip) return -1;
  std::array<std::uint8_t, 2> magic{};
  std::array<std::uint8_t, 4> last{};
  file.read(0, magic);
  file.read(file.size() - 4, last);
  if (magic[0] != 0x1f || magic[1] != 0x8b) return -1;
  std::uint32_t size = 0;
  for (int i = 3; i >= 0; --i) size = size << 8 | last[static_cast<std::size_t>(i)];
  return size;
}

ImageSet load_set(const fs::path& images_path, const fs::path& labels_path) {
  Idx images = read_idx(images_path, 3, kRemedy);
  Idx labels = read_idx(labels_path, 1, kRemedy);
  if (images.sizes[1] != kSide || images.sizes[2] != kSide) {
    throw core::BadInput(fmt::format("{} holds images of {}x{}, where MNIST has {}x{}; {}",
                                     images_path.string(), images.sizes[1], images.sizes[2], kSide, kSide,
                                     kRemedy));
  }
  if (images.sizes[0] != labels.sizes[0]) {
    throw core::BadInput(fmt::format(
        "{} holds {} images, but {} holds {} labels; delete both and fetch MNIST again", images_path.string(),
        grouped(images.sizes[0]), labels_path.string(), grouped(labels.sizes[0])));
  }
  const auto wrong = std::find_if(labels.values.begin(), labels.values.end(),
                                  [](std::uint8_t label) { return label >= kClasses; });
  if (wrong != labels.values.end()) {
    throw core::BadInput(
        fmt::format("{} has the label {} at place {} (counted from 0), where MNIST has 0 to 9; {}",
                    labels_path.string(), *wrong, wrong - labels.values.begin(), kRemedy));
  }
  ImageSet set;
  set.height = kSide;
  set.width = kSide;
  set.channels = 1;
  set.count = images.sizes[0];
  set.pixels = std::move(images.values);
  set.labels = std::move(labels.values);
  return set;
}

}  // namespace

std::optional<fs::path> find_mnist(const fs::path& folder) {
  for (const fs::path& candidate : {folder, folder / kMnistFolder}) {
    for (const FileName& file : kFiles) {
      if (find_file(candidate, file)) return candidate;
    }
  }
  return std::nullopt;
}

bool mnist_is_whole(const fs::path& folder) noexcept {
  try {
    return std::all_of(kFiles.begin(), kFiles.end(), [&](const FileName& name) {
      const std::optional<fs::path> path = find_file(folder, name);
      return path && unpacked_size(InputFile(*path)) == name.bytes;
    });
  } catch (const std::exception&) {
    return false;
  }
}

DataSet load_mnist(const fs::path& folder) {
  const std::optional<fs::path> found = find_mnist(folder);
  if (!found) {
    throw core::BadInput(fmt::format(
        "no MNIST in {}: {}", folder.string(),
        is_there(folder)
            ? "it needs train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and "
              "t10k-labels-idx1-ubyte, as they are or with .gz, there or in mnist"
            : "there is no such folder"));
  }
  std::array<fs::path, kFiles.size()> paths;
  std::string missing;
  for (std::size_t i = 0; i < kFiles.size(); ++i) {
    if (const std::optional<fs::path> path = find_file(*found, kFiles[i])) {
      paths[i] = *path;
    } else {
      missing += fmt::format("{}{}-{}", missing.empty() ? "" : ", ", kFiles[i].stem, kFiles[i].kind);
    }
  }
  if (!missing.empty()) {
    throw core::BadInput(
        fmt::format("MNIST in {} is not whole: {} missing; fetch it again", found->string(), missing));
  }
  DataSet set;
  set.name = "MNIST";
  set.source = found->string();
  for (int digit = 0; digit < kClasses; ++digit) set.classes.push_back(std::to_string(digit));
  set.train = load_set(paths[0], paths[1]);
  set.test = load_set(paths[2], paths[3]);
  return set;
}

}  // namespace warpscope::data
