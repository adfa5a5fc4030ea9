#pragma once
// MNIST (Y. LeCun, C. Cortes, C. Burges, "The MNIST database of handwritten digits"): four IDX files (idx.h),
// train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte. Each may be packed
// (then with ".gz" at its end), and may have a point in place of the hyphen before "idx".

#include <filesystem>
#include <optional>

#include "gpu/data/dataset.h"

namespace warpscope::data {

inline constexpr const char* kMnistFolder = "mnist";

/// The folder that holds MNIST files: `folder` itself or the folder mnist in it; nullopt if neither holds any of the four.
/// Says nothing about whether the files are whole. Throws BadInput if a folder cannot be read.
std::optional<std::filesystem::path> find_mnist(const std::filesystem::path& folder);

/// True if all four files are in `folder` itself with the sizes of the original ones, packed ones by what they say that
/// they unpack to.
bool mnist_is_whole(const std::filesystem::path& folder) noexcept;

/// Loads MNIST from `folder` (or the folder mnist in it): images of 28x28x1 in the order of the files, classes "0" to "9".
/// Sets of other sizes than 60,000 and 10,000 in the same form are taken too. Throws BadInput that names the file if one is
/// missing or defective (idx.h), holds images of another size or a label above 9, or if images and labels differ in
/// number; Error if reading fails half-way.
DataSet load_mnist(const std::filesystem::path& folder);

}  // namespace warpscope::data
