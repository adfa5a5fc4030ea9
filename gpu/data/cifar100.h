#pragma once
// CIFAR-100 in its binary form (cifar_records.h): train.bin with 50,000 records and test.bin with 10,000. A record
// has two label bytes: the coarse one, 0 to 19, which is not used, and the fine one, 0 to 99.

#include <filesystem>
#include <string>
#include <vector>

#include "gpu/data/sets.h"

namespace warpscope::data {

/// The published names of the fine classes, in the order of their labels.
std::vector<std::string> cifar100_classes();

/// True if train.bin or test.bin is in `folder` itself. Throws BadInput if it cannot be read.
bool holds_cifar100(const std::filesystem::path& folder);

/// True if both files are in `folder` itself with the right sizes.
bool cifar100_is_complete(const std::filesystem::path& folder) noexcept;

/// Loads CIFAR-100 from `folder`: 50,000 training and 10,000 test images (load_cifar()). Class names come from
/// fine_label_names.txt if that is there.
DataSet load_cifar100(const SetRow& row, const std::filesystem::path& folder, const Requirements& model = {},
                      const Stopped& stopped = {});

}  // namespace warpscope::data
