#pragma once
// A data set of a person's own: pictures in a folder for each class.

#include <filesystem>

#include "gpu/data/sets.h"

namespace warpscope::data {

/// Loads the pictures that find_class_folders() finds in `folder`, each cut and resized to the model's shape
/// (read_picture()). Without a test folder every tenth image of each class, by path, is the test set; of a class with
/// fewer than ten, but at least two, its last. Validation pictures are the validation set, or the test set where there
/// is no other. `notice` tells that, which files were left out and why, and how many pictures were turned.
///
/// Throws BadInput as find_class_folders() does, if the model tells fewer classes apart or takes neither one channel
/// nor three, if the images would take more memory than is free, if no file of a class could be read, or if there are
/// no test images.
DataSet load_image_folders(const SetRow& set, const std::filesystem::path& folder, const Requirements& model,
                           const Stopped& stopped = {});

}  // namespace warpscope::data
