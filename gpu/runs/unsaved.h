#pragma once
// Trainings that nobody recorded, as they were when their window closed, or when another process went on with them,
// until that ends: run folders in a folder of the user's.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace warpscope::runs {

inline constexpr std::size_t kMostUnsaved = 5;

struct UnsavedTraining {
  std::filesystem::path folder;
  std::string model;
  std::uint64_t step = 0;
  std::int64_t written = 0;      ///< seconds since 1970
  bool other_format = false;     ///< only another version can go on with it
  std::int64_t nanoseconds = 0;  ///< behind the seconds of `written`
  bool gone_on = false;          ///< somebody went on with it: it is recorded since
};

/// Where they are: files::data_dir()/unsaved. Throws core::Error as that does.
std::filesystem::path unsaved_folder();

/// Those in `folder`, the newest first, of one moment by the numbers in their names; none if there is no such folder.
std::vector<UnsavedTraining> unsaved_trainings(const std::filesystem::path& folder);

/// Deletes all but the newest `most` of them. One that a process uses, that was gone on with, or of another format,
/// stays; these do not count.
/// `newest` counts as the newest, whatever the clock was: "" for none.
void keep_newest_unsaved(const std::filesystem::path& folder, std::size_t most,
                         const std::filesystem::path& newest = {});

}  // namespace warpscope::runs
