#pragma once
// Moments on the disk: checkpoints (gpu/runs/checkpoint.h), which a thread writes whole or not at all, so that nothing
// waits for the disk; the one under way is dropped where the training ends. A training that nobody asked to record
// leaves none behind.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gpu/engine/engine_state.h"
#include "gpu/files/scratch_folder.h"
#include "gpu/models/model.h"
#include "gpu/runs/checkpoint.h"

namespace warpscope::training {

struct Moment;

class MomentFiles {
 public:
  struct Place {
    std::filesystem::path folder;
    bool shared = false;  ///< with other processes: each has a folder of its own in there
    bool stays = false;   ///< with its files, once the training has ended
  };
  struct Options {
    std::size_t budget = 0;        ///< bytes of all files
    std::int64_t images = 0;       ///< to train on
    std::function<Place()> place;  ///< asked for once, before the first is written; may throw core::Error
    std::size_t least_free = std::size_t{1} << 30;  ///< bytes that others find free on the disk
  };
  struct File {
    std::string name;
    std::size_t bytes = 0;  ///< of the state
  };
  /// What the thread has done.
  struct News {
    std::vector<std::uint64_t> written, failed;  ///< by Moment::number
    std::string error;                           ///< why no more are written, once; else ""
  };

  explicit MomentFiles(Options options);
  ~MomentFiles();
  MomentFiles(const MomentFiles&) = delete;
  MomentFiles& operator=(const MomentFiles&) = delete;

  // Calls of one thread.
  std::size_t budget() const { return options_.budget; }
  /// False once a file could not be written.
  bool writes() const { return !gave_up_; }
  /// Begins to write one whose state is in memory. False if it does not fit, or where more than `most_waiting` bytes
  /// would wait for the disk; one may always wait.
  bool write(const Moment& moment, std::size_t most_waiting);
  News take_news();
  /// The state of one that was written, bit for bit. Throws core::BadInput, one sentence that names the file, if it is
  /// gone or not what was written; core::Error.
  EngineState read(const Moment& moment) const;
  /// What was written of it goes, or is not written.
  void remove(std::uint64_t number);
  /// Waits until all that was to be written is, or has failed, or `stopped` says that nobody needs it.
  void finish(const std::function<bool()>& stopped);
  /// Where files are; "" before there is one.
  std::filesystem::path folder() const;
  /// Whether its files stay once the training has ended.
  bool stays() const { return place_ && place_->stays; }
  /// By Moment::number.
  const std::map<std::uint64_t, File>& files() const { return files_; }
  /// Files that another process has written in `folder`, which stays, and where all go from now on. Called before
  /// anything is written. Returns why some are not there, in a sentence to be told; else "".
  std::string take_on(const std::filesystem::path& folder, std::map<std::uint64_t, File> files);
  /// The bytes of all files, those that wait among them.
  std::size_t bytes() const { return bytes_; }

 private:
  struct Job {
    std::uint64_t number = 0;
    std::size_t bytes = 0;
    std::string name;  ///< of the file
    models::Model model;
    Checkpoint checkpoint;  ///< but for the state
    std::shared_ptr<const EngineState> engine;
  };
  bool find_place();
  void make_folder();
  void work(const std::stop_token& stop);
  std::string write_file(Job job, const std::stop_token& stop);
  void note_written(std::uint64_t number, std::size_t bytes, const std::string& error);

  Options options_;
  bool gave_up_ = false;
  std::optional<Place> place_;
  std::map<std::uint64_t, File> files_;
  std::size_t bytes_ = 0;
  std::string place_error_;
  std::unique_ptr<files::ScratchFolder> scratch_;  ///< the thread's

  mutable std::mutex mutex_;  ///< of all that follows
  std::condition_variable_any changed_;
  std::deque<Job> waiting_;
  std::size_t waiting_bytes_ = 0;   ///< of these, and the one that is being written
  std::filesystem::path folder_;    ///< "" before the first is written
  std::vector<std::string> going_;  ///< files to be removed
  News news_;
  bool failed_ = false;
  std::jthread thread_;  ///< last, so that it ends first
};

}  // namespace warpscope::training
