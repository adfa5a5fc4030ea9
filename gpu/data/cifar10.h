#pragma once
// CIFAR-10 in its binary form (cifar_records.h): data_batch_1.bin to data_batch_5.bin and test_batch.bin, 10,000
// records each with one label byte, 0 to 9.

#include <filesystem>

#include "gpu/data/sets.h"

namespace warpscope::data {

/// True if any of the six files is in `folder` itself. Throws BadInput if it cannot be read.
bool holds_cifar10(const std::filesystem::path& folder);

/// True if all six files are in `folder` itself with the right sizes.
bool cifar10_is_complete(const std::filesystem::path& folder) noexcept;

/// Loads CIFAR-10 from `folder`: 50,000 training and 10,000 test images (load_cifar()). Class names come from
/// batches.meta.txt if that is there.
DataSet load_cifar10(const SetRow& row, const std::filesystem::path& folder, const Requirements& model = {},
                     const Stopped& stopped = {});

}  // namespace warpscope::data
