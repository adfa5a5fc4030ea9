#pragma once
// Data sets in the four IDX files (idx.h) that MNIST (Y. LeCun, C. Cortes, C. Burges, "The MNIST database of
// handwritten digits") came in, and after it Fashion-MNIST (H. Xiao, K. Rasul, R. Vollgraf, "Fashion-MNIST: a
// novel image dataset for benchmarking machine learning algorithms", 2017): train-images-idx3-ubyte,
// train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte. Each may be packed (then with
// ".gz" at its end), and may have a point in place of the hyphen before "idx".

#include <filesystem>

#include "gpu/data/sets.h"

namespace warpscope::data {

/// True if any of the four files is in `folder` itself. Throws BadInput if it cannot be read.
bool holds_idx_set(const std::filesystem::path& folder);

/// True if all four files are in `folder` itself with 60,000 and 10,000 images of 28x28, packed ones by what
/// they say that they unpack to.
bool idx_set_is_complete(const std::filesystem::path& folder) noexcept;

/// Loads `set` from `folder`: grey images in the order of the files, any number of them. Throws BadInput that
/// names the file if one is missing or defective (idx.h), holds images of another size than the set's or a
/// label beyond its classes, or if images and labels differ in number; Error if reading fails half-way.
DataSet load_idx_set(const SetRow& set, const std::filesystem::path& folder, const Requirements& model = {},
                     const Stopped& stopped = {});

}  // namespace warpscope::data
