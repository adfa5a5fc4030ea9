#pragma once
// A run that is looked at: what its folder tells, and its inside, from a checkpoint. That is computed on this device by
// a training that stands still there (Surroundings::viewed_run). It is made when somebody first asks for something of
// it, beside all else, and goes with the view; nothing is written.

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gpu/jobs/desks.h"
#include "gpu/messages/commands.h"
#include "gpu/runs/checkpoint_store.h"
#include "gpu/runs/run_source.h"
#include "gpu/training/trainer.h"

namespace warpscope::training {

class ViewedRun final : public runs::RunSource {
 public:
  /// `device`: where its inside is computed, as core::open_device() takes it. Throws as RunSource does.
  explicit ViewedRun(const std::filesystem::path& folder, std::string device = "auto");
  ~ViewedRun() override;
  ViewedRun(const ViewedRun&) = delete;
  ViewedRun& operator=(const ViewedRun&) = delete;

  /// That of the run's folder, with Snapshot::revival. Once that is ready, data, evaluation and the determinism of a
  /// step are those of the checkpoint.
  std::shared_ptr<const Snapshot> snapshot() const override;
  /// Those of the checkpoint, once it is looked at and has some.
  std::shared_ptr<ImageExchange> images() const override;
  Observations observations() const override;
  jobs::Jobs* jobs() override { return &desks_; }
  void stop() override;

 private:
  void queue(Command command, std::uint64_t number) override;
  bool take(const Command& command);
  void follow(const std::stop_token& stop);
  void look_at_folder();
  std::vector<RefusedCheckpoint> refused_of(const std::vector<CheckpointFile>& files);
  void revive(std::unique_lock<std::mutex>& lock);
  void follow_trainer(std::unique_lock<std::mutex>& lock);
  void let_go(std::unique_lock<std::mutex>& lock);
  void fail(const std::string& why);
  void change();
  bool of_run_now() const;
  Revival revival(const Snapshot* inside) const;

  const std::filesystem::path folder_;
  const std::string device_;
  const std::shared_ptr<const models::Model> network_at_first_;  ///< until the run has been read
  mutable std::mutex mutex_;                                     ///< of everything below
  std::condition_variable_any wake_;
  bool news_ = false;  ///< for the thread
  ObservationRequest request_;
  std::vector<Command> waiting_;            ///< until there is a trainer
  std::vector<std::uint64_t> steps_;        ///< Revival::steps
  std::vector<RefusedCheckpoint> refused_;  ///< Revival::refused
  bool has_best_ = false;                   ///< a checkpoint that is the best one
  bool looked_ = false;                     ///< whether there are such
  std::uint64_t chosen_ = 0;                ///< LookAt::step
  bool asked_ = false;
  std::string problem_;
  std::unique_ptr<Trainer> trainer_;
  std::shared_ptr<const models::Model> network_;  ///< the run's, as the trainer was made
  std::uint64_t newest_ = 0;   ///< of the checkpoints, when the trainer was told to look at one
  std::uint64_t notices_ = 0;  ///< Snapshot::notice_id of the trainer's last one that was told
  std::uint64_t changes_ = 0;  ///< of what revival() tells

  /// A checkpoint whose network is known, and of which the run had when it was looked at.
  struct Known {
    std::filesystem::file_time_type written;
    std::shared_ptr<const models::Model> network;
    std::string why;  ///< RefusedCheckpoint::why; "" if it is of that network
  };
  std::map<std::uint64_t, Known> known_;  ///< by step; of the one that looks at the folder

  // The last snapshot, and what it was made of.
  mutable std::shared_ptr<const Snapshot> made_, of_run_, inside_;
  mutable std::uint64_t made_changes_ = 0;

  std::jthread thread_;
  jobs::Desks desks_;
};

}  // namespace warpscope::training
