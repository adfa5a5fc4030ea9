#pragma once
// What is written of a training: its run folder, checkpoints, settings, and what is kept of one that nobody records.
// A window's training is recorded by itself (run_keeper_record.cpp); where that fails it goes on without.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "gpu/core/phases.h"
#include "gpu/data/dataset.h"
#include "gpu/engine/engine.h"
#include "gpu/runs/checkpoint_store.h"
#include "gpu/runs/run_recorder.h"
#include "gpu/settings/configuration.h"
#include "gpu/training/publishing.h"
#include "gpu/training/steering.h"
#include "gpu/training/trainer.h"

namespace warpscope::training {

/// All calls come from the trainer's thread.
class RunKeeper {
 public:
  /// Holds the references. `checksum` is that of all data, before any are held out.
  RunKeeper(Engine& engine, Publishing& publishing, const Surroundings& around,
            std::shared_ptr<const data::DataSet> data, std::string checksum);
  /// The last checkpoint is on the disk before the folder's lock is let go.
  ~RunKeeper();
  RunKeeper(const RunKeeper&) = delete;
  RunKeeper& operator=(const RunKeeper&) = delete;

  /// Begins the run folder that the settings name, or a new one where Surroundings say. Without one, points are kept
  /// where Surroundings say.
  void begin();
  /// Goes on with the run of Surroundings::resume_dir, from its newest checkpoint that loads: the engine, what is
  /// published and `steering` are as they were then. Throws core::BadInput with a sentence.
  void resume(Steering& steering);
  /// A checkpoint of the run in Surroundings::viewed_run takes the place of what there is, as to_look_at() finds it:
  /// the engine, what is published and `steering` are as they were then. Throws core::BadInput with a sentence.
  void look_at(std::uint64_t step, Steering& steering);

  /// nullptr where no run is written.
  RunRecorder* recorder() { return recorder_.get(); }
  bool writes_checkpoints() const { return checkpoints_ != nullptr; }
  /// Nobody records it, or what is recorded lacks its last checkpoint, which could not be written.
  bool keeps_unsaved() const;
  /// In a folder below Surroundings::record_dir.
  bool records_by_itself() const { return !own_folder_.empty(); }
  /// training::Record, with all points so far sent. Throws core::BadInput if that is so already, or the folder cannot
  /// be written; nothing is recorded then.
  void record(bool on, const Steering& steering);
  /// Once between two steps: tells what became of checkpoints. Where the folder cannot be written recording ends, or,
  /// without Surroundings::record_dir, core::Error is thrown.
  void watch();

  /// An epoch has ended, with so many done.
  void note_epoch(std::uint64_t epochs_done);
  bool checkpoint_due() const;
  /// False within a second of any checkpoint, since the best of a training that gets better all the time would be
  /// written all the time; and where none are written.
  bool may_write_best() const;
  /// Hands the training as it is to the thread that writes. All points up to here have been published.
  void write_checkpoint(const Steering& steering, bool is_best);
  bool is_written(std::uint64_t step) const { return step == written_step_; }
  /// Another training, whose steps are not those that were written.
  void begin_training();
  /// After the end.
  void go_on();
  /// After a way back to another line windows have forgotten what views showed there: with the next checkpoint they
  /// get what the run has of it.
  void tell_views_again();
  /// Checkpoints are of this network from now on.
  void follow(const models::Model& network);
  /// Waits until what was handed over is on the disk; where it cannot be, that is told.
  void flush();
  /// Throws core::Error if the newest checkpoint is not on the disk.
  void require_written() const;
  /// The run's settings as they are now.
  void note_settings();
  /// How many ranks make the steps, from now on.
  void note_ranks();
  /// Files of Surroundings::kernels that have come since.
  void note_kernels();
  /// The confusion matrix of the last evaluation, for run.json: a row for each class the images have.
  void note_confusion();
  /// All settings, for training::SaveSettings.
  void save_settings() const;
  void save_weights(const std::string& file) { save_weights(file, engine_.parameters()); }
  void save_weights(const std::string& file, const std::vector<float>& parameters);
  /// The results go to run.json. Throws core::Error.
  void finish();
  /// Writes why the training ends; never throws.
  void fail(const std::string& why) noexcept;
  /// Writes the training as it is into a folder of its own, where keeps_unsaved(). Throws core::Error.
  void keep_unsaved(const Steering& steering) { keep_unsaved(checkpoint_now(steering)); }
  /// The same with that state of it.
  void keep_unsaved(Checkpoint checkpoint);

  /// A folder from which another process goes on.
  struct Handed {
    std::string folder;
    bool recorded = true;    ///< false: it is there for that only, among the trainings that nobody recorded
    bool by_itself = false;  ///< records_by_itself()
  };
  /// Nothing is written from now on: the run's folder, or another where none is written, has all that was told, and
  /// `checkpoint` as its newest. `written` is called once that is on the disk, and may tell more of the run. Throws
  /// core::Error.
  Handed hand_over(Checkpoint checkpoint, const std::function<void()>& written);
  /// The folder that another process has handed over; "" where none was, or what is kept of the training is newer.
  std::string handed_over_in() const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kNoStep = ~std::uint64_t{0};
  struct Line {
    std::filesystem::path run;
    std::uint64_t generation = 0, network = 0;
  };

  void open_checkpoints();
  void record_views();
  void go_on_with_views();
  void tell_views();
  void tell_wanted_views();
  void begin_views(const std::function<std::unique_ptr<runs::ViewFile>(std::size_t most)>& open);
  void keep_points(nlohmann::json begun);
  void record_by_itself(std::shared_ptr<Feed> feed, const nlohmann::json& begun);
  void start_recording(const Steering& steering);
  void stop_recording(const Steering& steering);
  void give_up(const std::string& why);
  void let_go();
  void set_folder(const std::string& folder);
  int ranks() const;
  bool lacks_last_checkpoint() const;
  bool goes_on_without() const { return !around_.record_dir.empty(); }
  void tell_before(RunFolder& run, std::uint64_t step);
  bool is_unrecorded() const;
  void hold_folder(RunFolder run);
  void drop_handed_over();
  void record_on(RunFolder run, nlohmann::json head, std::uint64_t step);
  void write_whole(const std::filesystem::path& path, Checkpoint checkpoint);
  void take_up(Checkpoint checkpoint, Steering& steering);
  void note_checkpoints();
  Checkpoint checkpoint_now(const Steering& steering);
  nlohmann::json head(const std::filesystem::path& run) const;
  nlohmann::json references(const std::filesystem::path& run) const;
  Configuration recorded_settings() const;
  nlohmann::json configuration() const;
  const TrainingSettings& settings() const { return publishing_.settings(); }

  Engine& engine_;
  Publishing& publishing_;
  const Surroundings& around_;
  std::shared_ptr<const data::DataSet> data_;
  std::string data_checksum_;
  nlohmann::json begun_;  ///< of the run.json of a training that is recorded later: what it began with
  std::filesystem::path own_folder_;  ///< below Surroundings::record_dir; "" for none
  bool gave_up_ = false;              ///< recording has ended because something could not be written
  std::unique_ptr<RunRecorder> recorder_;
  std::mutex wanting_;
  std::optional<Line> wanted_;  ///< whose views windows shall get, from the thread of `checkpoints_`
  std::unique_ptr<CheckpointWriter> checkpoints_;
  std::optional<RunFolder> handed_over_;  ///< by another process: it is there until something newer is kept
  std::string told_error_;                ///< of the checkpoints
  std::uint64_t written_step_ = kNoStep;  ///< of the last checkpoint handed to the writer
  bool epoch_due_ = false;                ///< an epoch has ended whose checkpoint is not written
  Clock::time_point last_checkpoint_{}, next_look_at_disk_{};
};

}  // namespace warpscope::training
