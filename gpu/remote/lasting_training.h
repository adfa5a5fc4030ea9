#pragma once
// A training that outlasts its device's errors: where the trainer of this process can do nothing more on its device, a
// process of its own goes on from the trainer's last state in host memory, and after that another one. Who looks on
// sees one training.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

#include "gpu/messages/source.h"
#include "gpu/remote/remote_source.h"
#include "gpu/training/hand_over.h"
#include "gpu/training/trainer.h"

namespace warpscope::remote {

/// What this program is called with to go on with a training.
inline constexpr const char* kGoOnCommand = "go-on-training";

/// What main() does where that is its first argument: goes on with the training that is told by the connection at
/// descriptor 3, until that is closed. Returns the exit code.
int go_on_training();

/// Tells, at any time, what a trainer that is served leaves.
std::function<Left()> leaving(std::shared_ptr<training::Trainer> trainer);

class LastingTraining final : public training::Source {
 public:
  /// A training that has failed so often goes on no more; nor does one that failed where it had failed before.
  static constexpr int kMostProcesses = 8;

  /// `child`: what this program is called with so that it calls go_on_training().
  explicit LastingTraining(training::TrainerOptions options, std::vector<std::string> child = {kGoOnCommand});
  /// Ends the training, as ~Trainer() does.
  ~LastingTraining() override;
  LastingTraining(const LastingTraining&) = delete;
  LastingTraining& operator=(const LastingTraining&) = delete;

  std::shared_ptr<const training::Snapshot> snapshot() const override;
  std::shared_ptr<training::Feed> subscribe() override;
  std::shared_ptr<training::ImageExchange> images() const override;
  std::shared_ptr<const training::ImageHistory> history() const override;
  training::Observations observations() const override;
  jobs::Jobs* jobs() override;
  void stop() override;
  /// As that of the trainer; the phases are those of the first process.
  training::Ending ending() const;
  /// As Trainer::wait() and Trainer::wait_for_parameters().
  bool wait(double seconds) const;
  bool wait_for_parameters(double seconds) const;
  /// The one that the training goes on in; 0: this one.
  pid_t process() const;

 private:
  struct Child;
  using HandOver = std::shared_ptr<const training::HandOver>;

  void queue(training::Command command, std::uint64_t number) override;
  void run();
  HandOver handed_by_trainer();
  void follow();
  HandOver go_on(const HandOver& over);
  std::shared_ptr<Child> begin(const HandOver& over);
  void fail(const std::string& why, const training::HandOver& over);
  static void refuse_up_to(std::uint64_t number, training::Snapshot& now);
  std::shared_ptr<Child> child() const;
  bool stopped() const;
  bool is_needed() const;
  bool ended() const;
  bool wait_until(const std::function<bool()>& condition, double seconds) const;

  const std::vector<std::string> child_command_;
  training::Trainer trainer_;  ///< of this process
  mutable std::mutex mutex_;   ///< of everything below
  mutable std::condition_variable news_;
  bool stopped_ = false;
  bool done_ = false;   ///< the thread is at its end
  bool ended_ = false;  ///< the last process has ended before its time: no command is carried out
  /// Instead of what a process that has just begun tells of itself; and at the end, if the training has failed.
  std::shared_ptr<const training::Snapshot> held_;
  std::vector<std::shared_ptr<Child>> children_;  ///< the last one goes on, if it has not ended
  std::vector<std::weak_ptr<training::Feed>> feeds_;
  std::uint64_t last_number_ = 0;                   ///< of all commands
  std::vector<training::NumberedCommand> waiting_;  ///< for the process that is to begin
  std::optional<training::Observe> observed_;       ///< what each process has to be told
  std::optional<training::SetDisturbed> disturbed_;
  std::thread thread_;
};

}  // namespace warpscope::remote
