#pragma once
// Trainings that a window records by itself: run folders in a folder of the user's, named by date, network and data.
// What is deleted of them, or of any other folder of runs, can be brought back for a week.

#include <chrono>
#include <ctime>
#include <filesystem>
#include <string>

namespace warpscope::runs {

/// files::data_dir()/runs, which may not exist yet. Throws core::Error as that does.
std::filesystem::path user_runs_folder();

/// True if `run` stands in that folder.
bool is_user_run(const std::filesystem::path& run);

/// "2026-11-28_14-42-05_mlp_digits": the local time, and what is safe in a file's name of the other two.
std::string name_of_user_run(const std::string& network, const std::string& data, std::time_t now);

/// Makes a folder of that name in `parent`, which is made too, with a number behind the name if it is taken; no other
/// process gets the same. Throws core::BadInput if it cannot be made.
std::filesystem::path make_user_run(const std::filesystem::path& parent, const std::string& name);

/// Why a training that nobody asked to record stops being recorded, or "": less than 1 GiB is free where `run` is.
std::string too_full(const std::filesystem::path& run);

/// How long what was deleted can be brought back.
inline constexpr std::chrono::hours kKeptDeleted{7 * 24};

/// A run that was deleted.
struct DeletedRun {
  std::filesystem::path from;  ///< where it was
  std::filesystem::path to;    ///< where it is now: in .deleted beside it
};

/// Moves a run to the folder .deleted beside it. Throws core::BadInput if it is no run, a process writes to it, or it
/// cannot be moved.
DeletedRun delete_run(const std::filesystem::path& run);

/// Moves it back. Throws core::BadInput if it is gone, its name is taken, or it cannot be moved.
void restore_run(const DeletedRun& run);

/// Deletes for good the runs that were deleted from `parent` longer than `older_than` ago. Never throws; what cannot go
/// stays.
void empty_deleted(const std::filesystem::path& parent,
                   std::chrono::system_clock::duration older_than = kKeptDeleted) noexcept;

}  // namespace warpscope::runs
