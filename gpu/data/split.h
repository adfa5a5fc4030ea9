#pragma once
// Splits a validation set off the training set.

#include <cstdint>
#include <vector>

#include "gpu/data/dataset.h"

namespace warpscope::data {

/// Moves round(share * count) of the training images, drawn by `seed`, to `validation`; both keep the order
/// they had. Each class gives the same share of its images, rounded so that the whole comes out (largest
/// remainder; of equal ones the lower class first). A share of 0 changes nothing. The same images for the
/// same seed everywhere.
///
/// Throws BadInput if `share` is not in [0, 1), or if it would leave one of the two sets without images, or if there is
/// a validation set already. `set` is then as it was before the call, in the caller's hands.
DataSet split_validation(DataSet&& set, double share, std::uint64_t seed);

/// Marks every tenth image of each class, by the order they have; the last of fewer than ten if there are two at least:
/// a test set where none is given.
std::vector<bool> every_tenth(const ImageSet& set);

/// Moves image i of `from` to the end of `to`, which has the same image size, or no images and no size, where
/// `moved[i]`; both keep the order they had.
void move_images(const std::vector<bool>& moved, ImageSet& from, ImageSet& to);

}  // namespace warpscope::data
