#pragma once
// A data set of a person's own in IDX files (idx.h) of bytes, four or six, whatever they are called and however many
// images of whatever size they hold: images of N x H x W or N x H x W x C, labels of N.

#include <filesystem>
#include <optional>

#include "gpu/data/sets.h"

namespace warpscope::data {

/// True if one of the files in `folder` itself is, by its name and its first bytes, an IDX file of images. In names,
/// small or capital letters: "train" is to train on, "test" or "t10k" to test with, "val", "valid" or "validation" to
/// validate with; "images", "idx3" or "idx4" are images, "labels" or "idx1" labels. Throws BadInput if `folder` cannot
/// be read.
bool holds_own_idx(const std::filesystem::path& folder);

/// What the header of a file of images in `folder` says, of one to train on if there is one; nothing if none is an IDX
/// file. Throws BadInput if `folder` cannot be read.
std::optional<ImageShape> own_idx_shape(const std::filesystem::path& folder);

/// Loads the files in `folder`. The classes are the numbers from 0 to the largest label. Where a file is there both
/// packed and not, the latter is read. Validation images are the validation set, or the test set where there is no
/// other; the notice says so.
///
/// Throws BadInput if a file is missing, is there twice under several names, or is defective (idx.h); if images and
/// labels differ in number; if images are not of the model's shape; if there is one class alone, or more than the
/// model tells apart; if they take more memory than is free. Error if reading fails half-way.
DataSet load_own_idx(const SetRow& set, const std::filesystem::path& folder, const Requirements& model,
                     const Stopped& stopped = {});

}  // namespace warpscope::data
