#pragma once
// Features as files that others read.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace warpscope::features {

/// Rows of features with the class of each, in host memory.
struct FeatureTable {
  std::vector<float> values;  ///< (rows, columns)
  int columns = 0;
  std::vector<int> labels;  ///< one a row
  std::string layers;       ///< what to_string(FeatureLayers) says of them

  std::int64_t rows() const { return static_cast<std::int64_t>(labels.size()); }
};

/// A kind of file; those that are text hold each number with the fewest digits that give it back.
///
///   npy          NumPy's format 1.0: (rows, columns) "<f4"; labels go to a second file, NAME.labels.npy, (rows) "<i4"
///   csv          a line of names, then "label,f0,f1,...", a line a row
///   safetensors  tensors "features" (rows, columns) and "labels" (rows), F32; metadata "layers"
///   libsvm       "label 1:value 3:value ...", zeros left out, a line a row
enum class FeatureFormat : std::uint8_t { npy, csv, safetensors, libsvm };

/// By a name, or if it is "" by what the file's name ends with: .npy, .csv, .safetensors, .libsvm. Throws
/// core::BadInput that lists the valid ones.
FeatureFormat feature_format(std::string_view name, const std::filesystem::path& file);

/// Where the labels of an .npy file go: "latents.npy" -> "latents.labels.npy".
std::filesystem::path labels_file(const std::filesystem::path& file);

/// Writes the file, whole or not at all. Throws core::Error.
void write_features(const std::filesystem::path& path, FeatureFormat format, const FeatureTable& table);

}  // namespace warpscope::features
