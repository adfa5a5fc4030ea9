#pragma once
// The trainer's thread: when to step, time, test, show and publish, and what commands do between two steps.

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gpu/core/phases.h"
#include "gpu/engine/engine.h"
#include "gpu/runs/step_speeds.h"
#include "gpu/settings/configuration.h"
#include "gpu/training/energy_use.h"
#include "gpu/training/inbox.h"
#include "gpu/training/kernel_keeper.h"
#include "gpu/training/ladder.h"
#include "gpu/training/left_trainings.h"
#include "gpu/training/moments.h"
#include "gpu/training/opening.h"
#include "gpu/training/publishing.h"
#include "gpu/training/ranks.h"
#include "gpu/training/rate_test.h"
#include "gpu/training/recorded_looks.h"
#include "gpu/training/run_keeper.h"
#include "gpu/training/showing.h"
#include "gpu/training/steering.h"
#include "gpu/training/trainer.h"
#include "gpu/training/variant_history.h"
#include "gpu/training/watching.h"

namespace warpscope::training {

class Trainer::Worker {
 public:
  explicit Worker(TrainerOptions options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  Inbox& inbox() { return inbox_; }
  Publishing& publishing() { return publishing_; }
  const std::shared_ptr<ImageHistory>& history() const { return history_; }

 private:
  using Clock = std::chrono::steady_clock;

  const TrainingSettings& settings() const { return publishing_.settings(); }

  // From the options to the first step (worker_prepare.cpp).
  void prepare();
  void make_engine();
  std::unique_ptr<Engine> shared_engine(EngineOptions options);
  std::string open();
  void open_device();
  plan::Selection first_selection();
  std::string without_missing_kernels(const plan::Machine& machine);
  EngineOptions engine_options() const;
  void describe_training();
  void note_sizes();
  void tell_beginning();
  void plan_steps();
  double planned_epochs(const TrainingSettings& settings) const;

  // Ranks (worker_ranks.cpp).
  std::shared_ptr<calls::Line> lead_ranks(const std::shared_ptr<ranks::Meeting>& meeting,
                                          const std::vector<std::string>& devices, EngineOptions& options);
  void note_ranks();
  void look_at_ranks(bool at_once = false);
  void handle_links();
  void regroup(const std::vector<std::string>& devices);
  void handle_ranks(int ranks);
  void follow_ranks();
  std::optional<LeftState> kept_without_ranks(const ranks::RankMissing& missing);
  std::size_t go_on_on(std::vector<std::string> devices, const std::optional<LeftState>& left);
  /// Which ranks are missing, and how they ended.
  struct Lost {
    std::vector<int> ranks;
    std::string sentence;
  };
  static Lost lost_of(const ranks::Meeting& meeting, const ranks::RankMissing& missing);
  std::vector<std::string> devices_without(const Lost& lost) const;
  Lost end_for_want_of(const ranks::RankMissing& missing);
  void begin_without(const ranks::RankMissing& missing);
  void go_on_without(const ranks::RankMissing& missing);

  // A run that is only looked at (worker_view.cpp).
  bool views() const { return !around_.viewed_run.empty(); }
  void fit_to_device();
  void look_at(std::uint64_t step);
  void make_gradients();
  void evaluate_checkpoint();

  // The thread (worker.cpp).
  void run();
  void loop();
  bool works() const;
  bool turn();
  void advance();
  void step();
  double rate_of_next_step() const;
  void write_checkpoint(bool is_best);
  void finish();
  void evaluate_all();
  void fail(const std::string& why, bool by_input);
  void set_state(TrainerState state);
  void mark(const std::string& text, bool anew = false) {
    publishing_.mark(engine_->steps(), text, text, anew);
  }
  void publish(bool force);
  void measure_energy();

  // Commands, each at a step boundary (worker_commands.cpp). These return false if it was refused.
  void handle_commands();
  bool handle(const Command& command);
  bool handle_surely(const Command& command);
  bool attempt(const std::function<void()>& change);
  void pause();
  void handle_select(const plan::Selection& selection);
  void handle_change(const Configuration& change);
  void follow_change(const TrainingSettings& before);
  void handle_network(const models::Model& network);
  void follow_network();
  void handle_roll_back();
  void clip_by_default();
  void handle_resume();
  void handle_reset();
  void handle_determinism();
  void note_selection(const plan::Selection& selection);
  void note_choice();
  void show_anew();

  void choose(const plan::Selection& selection, const ops::Variants& variants, const std::string& what,
              const std::string& kernel = "");

  // Kernels of users (worker_kernels.cpp).
  const char* why_no_kernels() const;
  KernelKeeper& kernel_keeper();
  void tell_calls();
  void begin_kernels();
  bool chooses(ops::Op op, const std::string& variant) const;
  bool was_refused(const std::string& variant);
  void follow_kernels();
  void note_use_of_kernels();
  void tell_kernels();
  void take_version(const std::string& file, int number);
  void take_table(ops::Variants variants);
  void use_kernel(const std::string& file, int number);
  void leave_kernel(const std::string& file);
  void forget_kernel(const std::string& file);
  void note_kernels_that_run();

  // The learning-rate range test (worker_commands.cpp).
  void start_rate_search(const RateFinderOptions& options);
  void end_rate_search(bool cancelled);

  // Moments, and the way back to any step (worker_moments.cpp).
  void make_room_for_moments();
  MomentFiles::Place place_of_moments() const;
  void begin_moments();
  void begin_moments(const LeftState& target, std::size_t changes);
  void take_moment(bool matters);
  void take_moment_if_due();
  void keep_before_change();
  void break_moments_off();
  void settle_moment(bool waits = false);
  void without_moments(const core::Error& error);
  void note_change(const std::string& what);
  void publish_moments();
  /// The step that the training goes back to.
  struct WayBack {
    std::uint64_t to = 0;
    std::optional<std::uint64_t> number = {};  ///< of the training there; nothing: a new one
    std::uint64_t before = 0;                  ///< to before what this command changed; 0: before all changes
    bool goes_on = false;                      ///< once it is there
  };
  Moment moment_for(const WayBack& way);
  const Moment* find_moment(const WayBack& way) const;
  void rewind(const WayBack& way);
  void rewind_to(std::uint64_t step);
  void take_back(std::uint64_t command);
  void go_back_again(const WayBack& way);
  LeftState target_of(const Moment& moment);
  bool rewinds_on(const Command& command);
  void advance_rewind();
  void make_step_again();
  void enter_branch();
  void change_again(std::size_t end);
  void judge_again(bool changes);
  void take_again(bool all);
  void end_rewind();
  void cancel_rewind(const std::string& why);

  // Results (worker_results.cpp).
  void collect(bool flush);
  void drain();
  void note_step(const StepResult& step);
  void note_again(const StepResult& step);
  void note_evaluation(const std::shared_ptr<const Evaluation>& evaluation);
  void start_evaluation(Split split, bool only_shows = false);
  void handle_divergence();
  std::string first_not_finite(std::uint64_t step);
  void remember_if_due();
  Split steering_split() const;
  bool limit_reached() const;
  std::string told_as_ended() const;
  std::uint64_t next_evaluation() const;
  bool timing_due();

  // Trainings that are left, and the way back to them (worker_left.cpp).
  void remember();
  LeftState left_now();
  void keep(LeftState left);
  void list_left() { view_.left = left_.list(tree_, view_.training); }
  void begin_training() { view_.training = view_.trainings++; }
  void keep_what_was_before_divergence();
  float rate_to_go_back(std::uint64_t steps) const;
  void return_to(std::uint64_t number);
  void take_on(const LeftState& target);
  void use_selection(const plan::Selection& selection, const ops::Variants& then);
  /// It has the first `changes` of those that are noted, where these are fewer than all.
  void go_on_with(LeftState target, bool other_network, const std::string& told,
                  std::size_t changes = std::numeric_limits<std::size_t>::max());
  void handle_leave();
  bool go_back_to_what_is_worth_it();
  void keep_unsaved();

  Surroundings around_;
  Inbox inbox_;
  Publishing publishing_;
  Snapshot& view_ = publishing_.view;
  core::Phases phases_;
  const Opening opening_{publishing_, around_, inbox_, phases_};
  std::shared_ptr<core::Device> device_;
  std::shared_ptr<const data::DataSet> data_;
  std::string data_checksum_;  ///< of all data, before any are held out
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<EnergyUse> energy_;
  std::unique_ptr<Watching> watching_;
  std::unique_ptr<RecordedLooks> recorded_;
  const std::shared_ptr<ImageHistory> history_;  ///< nullptr if no images are shown
  Showing showing_;
  std::unique_ptr<RunKeeper> keeper_;
  std::unique_ptr<KernelKeeper> kernels_;  ///< nullptr before the first kernel of a user
  std::vector<std::string>
      asked_kernels_;  ///< variants that were selected, and refused before the first step
  std::map<std::string, std::string>
      chosen_before_;  ///< by file: what ran its op before it; "": nobody's choice
  VariantHistory variant_history_;

  Steering steering_;
  Ladder ladder_;
  StepSpeeds speeds_;
  double last_step_seconds_ = 0;  ///< of the last step that had a time of its own
  LeftTrainings left_;
  TrainingTree tree_;
  std::uint64_t command_ = 0;  ///< the number of the one that is carried out
  ProgressOfCopies copies_;
  std::atomic<bool> ranks_have_begun_ = false;
  std::uint64_t regroupings_ = 0;   ///< other ranks than before have made the steps
  ranks::LinkTable links_;          ///< as measured last
  std::uint64_t steps_to_run_ = 0;  ///< of StepOnce while paused
  bool in_step_ = false;            ///< one has begun and is not enqueued
  bool disturbed_ = false;          ///< something is measured beside the training
  bool batch_chosen_ = false;       ///< by a person
  bool wants_gradients_ = false;    ///< somebody looks at those of a checkpoint
  bool has_gradients_ = false;      ///< of the checkpoint that is looked at
  bool only_shows_ = false;         ///< the running evaluation: it steers nothing

  std::optional<RateTest> rate_search_;

  /// Steps are made again, from a moment to the step that is wanted.
  struct Rewinding {
    LeftState left;    ///< the training that is left for it
    LeftState target;  ///< the training after the last step that was made again
    std::uint64_t from = 0, to = 0;
    std::uint64_t generation = 0;  ///< in which they were made first
    std::size_t next_change = 0, next_evaluation = 0;
    std::uint64_t before = 0;       ///< WayBack::before
    std::uint64_t regroupings = 0;  ///< before the moment
    double step_seconds = 0;        ///< of each, as far as it is known
    bool goes_on = false;           ///< once it is there
  };
  static WayBack way_of(const Rewinding& rewinding) {
    return {rewinding.to, rewinding.target.number, rewinding.before, rewinding.goes_on};
  }
  std::optional<Rewinding> rewinding_;
  Moments moments_{0};
  std::shared_ptr<const std::vector<float>>
      first_weights_;  ///< for moments; nullptr if they are other ones now
  Clock::time_point next_moment_{}, last_change_{};
  Clock::time_point last_memory_{};
  Clock::time_point last_ranks_{};
  Clock::time_point last_flush_{};
  Clock::time_point last_timing_{};
  Clock::time_point last_ladder_{};
  Clock::time_point last_remembered_{};

  std::thread thread_;
};

}  // namespace warpscope::training
