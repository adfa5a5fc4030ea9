#pragma once
// The built-in data set: drawn scenes, so that training works on a machine that has no data at all.

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/data/dataset.h"
#include "gpu/data/requirements.h"

namespace warpscope::data {

/// What the scenes show, in the order of their labels.
std::vector<std::string> scene_classes();

/// `train` and `test` colour scenes of 32x32x3 in ten classes (discs, rings, stripes, checkers, polygons,
/// plasma, blobs, stars, bricks, landscape), varied in colour, place, size, angle and light, with a little
/// noise. Every ten images from the first on hold each class once, in random order.
///
/// Image i depends on i and its set alone: a smaller set is the beginning of a larger one, and the bits are
/// the same on every machine and for any number of `threads` (0: one for each core). All arithmetic is on
/// integers, but for square roots, which IEEE 754 rounds correctly everywhere.
///
/// Throws BadInput if a count is negative or above 10,000,000.
DataSet make_builtin(std::int64_t train = 50'000, std::int64_t test = 10'000, int threads = 0);

/// The same scenes for any model: those of another shape than 32x32x3 are drawn so, made grey by their luminance if
/// the model takes one channel, and cut and resized by fit_image(). If the model tells fewer than ten classes apart,
/// the first of them. Throws BadInput, too, if the model takes neither one channel nor three, or if the images would
/// take more memory than is free.
DataSet make_scenes(const Requirements& model, std::int64_t train, std::int64_t test, int threads);

/// As many as fill the bytes of 50,000 images of 32x32x3, but 500 to 50,000.
std::int64_t scenes_to_train_on(const ImageShape& shape);

/// So many to train on, and a fifth of that to test with.
DataSet make_scenes(const Requirements& model);

}  // namespace warpscope::data
