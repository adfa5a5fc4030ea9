#pragma once
// What the binary forms of CIFAR-10 and CIFAR-100 (A. Krizhevsky, "Learning Multiple Layers of Features from Tiny
// Images", 2009) share: files of records without a header. A record is one or two label bytes, of which the last
// counts, and 3,072 pixel bytes: 1,024 red, 1,024 green, 1,024 blue, each row by row from the top.

#include <cstdint>
#include <filesystem>
#include <span>

#include "gpu/data/sets.h"

namespace warpscope::data {

struct CifarFile {
  const char* name;
  std::int64_t records;  ///< a multiple of 250
};

/// How one of the sets lies in files.
struct CifarForm {
  const char* title;                 ///< "CIFAR-10"
  std::span<const CifarFile> files;  ///< the test set's is the last
  int label_bytes;                   ///< in front of a record's pixels
  std::uint8_t classes;
  const char* names;  ///< the file with the names of the classes, one a line
};

/// True if any of the files is in `folder` itself. Throws BadInput if it cannot be read.
bool holds_cifar(const CifarForm& form, const std::filesystem::path& folder);

/// True if all files are in `folder` itself with the right sizes.
bool cifar_is_complete(const CifarForm& form, const std::filesystem::path& folder) noexcept;

/// Loads the set from `folder`: images of 32x32x3, converted to NHWC, in the order of the files. Class names come
/// from the file of names if that is there, else from `row`. Throws BadInput that names the file if one is missing,
/// cannot be read, has another size or holds a label that no class has; Error if reading fails half-way.
DataSet load_cifar(const CifarForm& form, const SetRow& row, const std::filesystem::path& folder);

}  // namespace warpscope::data
