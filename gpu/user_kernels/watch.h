#pragma once
// What a kernel is made of on the disk, and whether that has changed: its file and the person's own headers.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gpu/user_kernels/kept_headers.h"

namespace warpscope::user_kernels {

/// `file`, the headers that it includes, those that they include, and where such would be found that are not there yet;
/// none of the program's own. No more than 200.
std::vector<std::filesystem::path> files_behind(const std::filesystem::path& file,
                                                const std::vector<std::filesystem::path>& includes);

/// What a run keeps of these beside the file: the headers that are there, up to 4 MiB in all. None that is named by its
/// whole path or lies more than one folder above where it is looked for.
std::vector<Header> headers_of(const std::filesystem::path& file,
                               const std::vector<std::filesystem::path>& includes);

/// How a file looks from outside: cheap to ask for.
struct FileLook {
  bool there = false;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t written = 0;  ///< nanoseconds, of the last write and of the last change of anything
  std::int64_t changed = 0;
  bool operator==(const FileLook&) const = default;
};
std::vector<FileLook> look_at(const std::vector<std::filesystem::path>& files);

/// A checksum of all that they hold.
std::string checksum_of_all(const std::vector<std::filesystem::path>& files);

/// Files in `folder` that are kernels by their name and by the header of an operation that they include, in the order
/// of their names; no more than 100. `problem`: why the folder cannot be read, in a sentence; "" if it can.
std::vector<std::filesystem::path> kernels_in(const std::filesystem::path& folder, std::string& problem);

}  // namespace warpscope::user_kernels
