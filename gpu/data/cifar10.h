#pragma once
// CIFAR-10 in its binary form (A. Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009):
// data_batch_1.bin to data_batch_5.bin and test_batch.bin, 10,000 records each, without a header. A record is
// one label byte (0 to 9) and 3,072 pixel bytes: 1,024 red, 1,024 green, 1,024 blue, each row by row from the
// top.

#include <filesystem>

#include "gpu/data/sets.h"

namespace warpscope::data {

/// True if any of the six files is in `folder` itself. Throws BadInput if it cannot be read.
bool holds_cifar10(const std::filesystem::path& folder);

/// True if all six files are in `folder` itself with the right sizes.
bool cifar10_is_complete(const std::filesystem::path& folder) noexcept;

/// Loads CIFAR-10 from `folder`: 50,000 training and 10,000 test images of 32x32x3, converted to NHWC, in the
/// order of the files. Class names come from batches.meta.txt if that is there. Throws BadInput that names
/// the file if one is missing, cannot be read, has another size than 30,730,000 bytes or holds a label above
/// 9; Error if reading fails half-way.
DataSet load_cifar10(const SetRow& row, const std::filesystem::path& folder);

}  // namespace warpscope::data
