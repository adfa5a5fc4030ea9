#pragma once
// The kinds of data sets, for the table in sets.h: what SetRow::holds, is_complete, shape_in and load are of each.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gpu/data/sets.h"

namespace warpscope::data {

// ---- CIFAR-10 and CIFAR-100 in their binary form ----

/// The published names of the fine classes of CIFAR-100, in the order of their labels.
std::vector<std::string> cifar100_classes();
bool holds_cifar10(const std::filesystem::path& folder);
bool holds_cifar100(const std::filesystem::path& folder);
bool cifar10_is_complete(const std::filesystem::path& folder) noexcept;
bool cifar100_is_complete(const std::filesystem::path& folder) noexcept;
/// 50,000 training and 10,000 test images of 32x32x3, converted to NHWC, in the order of the files. Class names come
/// from batches.meta.txt or fine_label_names.txt if that is there, else from `row`. Throws BadInput that names the file
/// if one is missing, cannot be read, has another size or holds a label that no class has; Error if reading fails
/// half-way.
DataSet load_cifar10(const SetRow& row, const std::filesystem::path& folder, const Requirements& model = {},
                     const Stopped& stopped = {});
DataSet load_cifar100(const SetRow& row, const std::filesystem::path& folder, const Requirements& model = {},
                      const Stopped& stopped = {});

// ---- MNIST and Fashion-MNIST ----
//
// Data sets in the four IDX files (idx.h) that MNIST (Y. LeCun, C. Cortes, C. Burges, "The MNIST database of
// handwritten digits") came in, and after it Fashion-MNIST (H. Xiao, K. Rasul, R. Vollgraf, "Fashion-MNIST: a
// novel image dataset for benchmarking machine learning algorithms", 2017): train-images-idx3-ubyte,
// train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte. Each may be packed (then with
// ".gz" at its end), and may have a point in place of the hyphen before "idx".

bool holds_idx_set(const std::filesystem::path& folder);

/// True if all four files are in `folder` itself with 60,000 and 10,000 images of 28x28, packed ones by what
/// they say that they unpack to.
bool idx_set_is_complete(const std::filesystem::path& folder) noexcept;

/// Loads `set` from `folder`: grey images in the order of the files, any number of them. Throws BadInput that
/// names the file if one is missing or defective (idx.h), holds images of another size than the set's or a
/// label beyond its classes, or if images and labels differ in number; Error if reading fails half-way.
DataSet load_idx_set(const SetRow& set, const std::filesystem::path& folder, const Requirements& model = {},
                     const Stopped& stopped = {});

// ---- what people made themselves ----
//
// A data set of a person's own in IDX files (idx.h) of bytes, four or six, whatever they are called and however many
// images of whatever size they hold: images of N x H x W or N x H x W x C, labels of N.

/// True if one of the files in `folder` itself is, by its name and its first bytes, an IDX file of images. In names,
/// small or capital letters: "train" is to train on, "test" or "t10k" to test with, "val", "valid" or "validation" to
/// validate with; "images", "idx3" or "idx4" are images, "labels" or "idx1" labels.
bool holds_own_idx(const std::filesystem::path& folder);

/// What the header of a file of images in `folder` says, of one to train on if there is one; nothing if none is an IDX
/// file.
std::optional<ImageShape> own_idx_shape(const std::filesystem::path& folder);

/// Loads the files in `folder`. The classes are the numbers from 0 to the largest label. Where a file is there both
/// packed and not, the latter is read. Validation images are the validation set, or the test set where there is no
/// other; the notice says so.
///
/// Throws BadInput if a file is missing, is there twice under several names, or is defective (idx.h); if images and
/// labels differ in number; if images are not of the model's shape; if there is only one class, or more than the
/// model tells apart; if they take more memory than is free. Error if reading fails half-way.
DataSet load_own_idx(const SetRow& set, const std::filesystem::path& folder, const Requirements& model,
                     const Stopped& stopped = {});

/// True if pictures lie in folders within `folder`, or within its folder to train on.
bool holds_class_folders(const std::filesystem::path& folder);

/// Loads the pictures that lie in class folders (find_class_folders() in image_folders.cpp), each cut and resized to
/// the model's shape (read_picture()). Without a test folder every tenth image of each class, by path, is the test set;
/// of a class with fewer than ten, but at least two, its last. Validation pictures are the validation set, or the test
/// set where there is no other. `notice` tells that, which files were left out and why, and how many pictures were
/// turned.
///
/// Throws BadInput as find_class_folders() does, if the model tells fewer classes apart or takes neither one channel
/// nor three, if the images would take more memory than is free, if no file of a class could be read, or if there are
/// no test images.
DataSet load_image_folders(const SetRow& set, const std::filesystem::path& folder, const Requirements& model,
                           const Stopped& stopped = {});

// ---- what the program draws and writes, so that it trains on a machine that has no data at all ----

/// What the scenes show, in the order of their labels.
std::vector<std::string> scene_classes();

/// `train` and `test` colour scenes of 32x32x3 in ten classes (discs, rings, stripes, checkers, polygons,
/// plasma, blobs, stars, bricks, landscape), varied in colour, place, size, angle and light, with a little
/// noise. Every ten images from the first on hold each class once, in random order.
///
/// Image i depends only on i and its set: a smaller set is the beginning of a larger one, and the bits are
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

/// `train` and `test` grey images of 28x28x1 of the digits 0 to 9, light on black as in MNIST: strokes in
/// several hands (a 7 with and without a bar, an open and a closed 4), turned, slanted, stretched, bent and
/// shifted at random, with pens of several widths, stray marks and a little noise. Every ten images from the
/// first on hold each digit once, in random order. Classes are "0" to "9".
///
/// Image i depends only on i, its set and `seed`: a smaller set is the beginning of a larger one, and the
/// bits are the same on every machine and for any number of `threads` (0: one for each core). All arithmetic
/// is on integers, but for square roots, which IEEE 754 rounds correctly everywhere.
///
/// Throws BadInput if a count is negative or above 10,000,000.
DataSet make_builtin_digits(std::int64_t train = 12'000, std::int64_t test = 2'000, std::uint64_t seed = 0,
                            int threads = 0);

/// What the sentences are about, in the order of their labels: weather, kitchen, sport, travel.
std::vector<std::string> sentence_classes();

/// Sentence `index` about `topic`, an index into sentence_classes(): who does what to what, when or where, from words
/// of the topic, sometimes with a slip of the pen. It depends only on these three, the same on every machine.
std::string sentence(std::uint64_t seed, std::int64_t index, int topic);

/// `train` and `test` sentences as the model takes texts; its first topics if it tells fewer than four apart. As many
/// sentences as there are topics hold each once, in random order. A smaller set is the beginning of a larger one.
/// Throws BadInput if a count is negative or above 1,000,000, or if the model takes no texts.
DataSet make_sentences(const Requirements& model, std::int64_t train = 4'000, std::int64_t test = 800);

}  // namespace warpscope::data
