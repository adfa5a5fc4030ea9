#pragma once
// The trainer's thread: its state machine and its policy (when to step, time, test, show, publish).

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gpu/core/energy.h"
#include "gpu/core/phases.h"
#include "gpu/engine/engine.h"
#include "gpu/observers/observer.h"
#include "gpu/runs/checkpoint_store.h"
#include "gpu/runs/run_recorder.h"
#include "gpu/settings/configuration.h"
#include "gpu/training/ladder.h"
#include "gpu/training/pace.h"
#include "gpu/training/thinned_points.h"
#include "gpu/training/trainer.h"

namespace warpscope::training {

class Trainer::Worker {
 public:
  explicit Worker(TrainerOptions options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void send(Command command);
  std::shared_ptr<const Snapshot> snapshot() const;
  std::shared_ptr<Feed> subscribe();
  std::shared_ptr<Feed> subscribe_recorder();  ///< which is there from the beginning
  std::shared_ptr<ImageExchange> images() const;
  std::shared_ptr<const ImageHistory> history() const { return image_history_; }
  std::vector<float> final_parameters() const;
  bool has_final_parameters() const;
  std::vector<core::PhaseTime> phase_times() const;
  Observations observations() const;
  bool wait_until(const std::function<bool(const Snapshot&)>& condition, double seconds) const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kNoStep = ~std::uint64_t{0};

  /// Those of the snapshots, which have the only ones.
  const TrainingSettings& settings() const { return *view_.settings; }
  template <class Edit>
  void edit_settings(Edit edit) {
    auto next = std::make_shared<TrainingSettings>(settings());
    edit(*next);
    view_.settings = std::move(next);
  }

  // The thread (worker.cpp).
  void run();
  void prepare();
  void find_initial_weights();
  void make_engine();
  /// A data set and what is to be told of it.
  struct Reading {
    std::shared_ptr<const data::DataSet> data;
    std::string notice;
    std::string checksum;
    bool same = true;  ///< not other data than those that are known
  };
  void open();
  void open_device();
  plan::Selection first_selection() const;
  Reading read_data(const std::string& source, const models::Model& model,
                    const std::atomic<bool>& refused) const;
  EngineOptions engine_options() const;
  void describe_training();
  void plan_steps();
  double planned_epochs(const TrainingSettings& settings) const;
  void loop();
  void advance();
  void step();
  void epoch_ended();
  double rate_of_next_step() const;
  void finish();
  void evaluate_all();
  void fail(const std::string& why, bool by_input);

  // The run folder and its checkpoints (worker_runs.cpp).
  void start_recorder();
  void watch_recorder();
  void open_checkpoints();
  void resume();
  void take_up(Checkpoint checkpoint);
  nlohmann::json description() const;
  nlohmann::json references(const std::filesystem::path& run) const;
  Configuration recorded_settings() const;
  nlohmann::json configuration() const;
  void save_settings();
  nlohmann::json training_state() const;
  void note_settings();
  void note_confusion();
  bool checkpoint_due() const;
  void write_checkpoint(bool is_best);
  void note_checkpoints();
  void save(const std::string& file);

  // Commands, each at a step boundary (worker_commands.cpp).
  bool wait_for_command(std::chrono::milliseconds timeout);
  void handle_commands();
  void handle(const Command& command);
  void attempt(const std::function<void()>& change);
  void pause();
  void handle_select(const plan::Selection& selection);
  void handle_change(const Configuration& change);
  void follow_change(const TrainingSettings& before);
  void handle_network(const models::Model& network);
  void follow_network();
  void forget_evaluations();
  void handle_roll_back();
  void clip_by_default();
  void handle_resume();
  void handle_reset();
  void handle_leave();
  void handle_determinism();
  void note_selection(const plan::Selection& selection);
  void note_choice();

  // The learning-rate range test (worker_rate_search.cpp).
  void start_rate_search(const RateFinderOptions& options);
  void advance_rate_search();
  void end_rate_search(bool cancelled);

  // Results (worker_results.cpp).
  void collect(bool flush);
  void drain();
  void note_step(const StepResult& step);
  void note_evaluation(const std::shared_ptr<const Evaluation>& evaluation);
  void steer_by(const Evaluation& evaluation);
  void handle_divergence();
  std::string first_not_finite(std::uint64_t step);
  void remember_if_due();
  void show_images_if_due();
  void show_anew();
  bool keep_images_due() const;
  void hand_over_kept_images();
  bool limit_reached() const;
  std::uint64_t next_evaluation() const;
  bool timing_due();

  // Looks into the training (worker_observers.cpp).
  struct Watch {
    std::unique_ptr<Observer> observer;
    std::uint64_t step = kNoStep;  ///< of its last look, as things are
    Pace pace{};
    bool refused = false;    ///< what is asked for cannot be
    bool of_before = false;  ///< it was asked for while another network trained
  };
  void handle_observe(ObservationRequest request);
  void note_probe();
  void observe_anew();
  void observe_another_network();
  void observe_if_due();
  void observe_if_due(Watch& watch);
  void measure_observations();
  void publish_observations();

  // Publishing (worker_publish.cpp).
  void set_state(TrainerState state);
  void notice(const std::string& text);
  void log(LogLevel level, const std::string& text);
  void mark(const std::string& text);
  /// The log says it shorter.
  void mark(const std::string& text, const std::string& logged);
  void emit(FeedItem item);
  void publish(bool force);
  void measure_energy();

  // Trainings that are left, and the way back to them (worker_left.cpp).
  struct LeftState;
  void remember();
  LeftState left_now();
  void keep(LeftState left);
  void leave_training();
  void begin_training();
  void keep_what_was_before_divergence();
  float rate_to_go_back(std::uint64_t steps) const;
  void return_to(std::uint64_t number);
  void restore(const LeftState& target);
  void go_on_with(LeftState target, bool other_network);
  void publish_left();

  // What is kept of a training that nobody records, when its window closes (worker_unsaved.cpp).
  bool leaves_yet() const;
  void keep_unsaved();
  Checkpoint checkpoint_of(EngineState state, double epochs) const;

  /// What the worker remembers of one training. A reset begins with a new one.
  struct Memory {
    std::deque<double> speeds;  ///< images/s of the last steps
    double last_step_seconds = 0;
    std::uint64_t steps_to_run = 0;  ///< of StepOnce while paused
    std::uint64_t evaluation_step = 0;
    std::uint64_t epochs_seen = 0;
    PlateauState plateau;
    SpikeState spikes;
    StopState stops;
    std::optional<double> best_loss;       ///< of the checkpoint that is the best
    std::uint64_t written_step = kNoStep;  ///< of the last checkpoint handed to the writer
    bool plateau_due = false;              ///< the next evaluation is the one at the end of an epoch
    bool checkpoint_due = false;           ///< an epoch has ended
    std::string stop_reason;               ///< why the run ends, once it does
    bool diverged = false;                 ///< until somebody says how to go on
    bool divergence_pending = false;       ///< noted while results came in, to be looked into between steps
    bool divergence_is_finite = false;     ///< so was the loss that diverged
    std::uint64_t shown_step = kNoStep;    ///< whose reconstructions were shown last
    Pace image_pace;
    Clock::time_point next_kept_images{};
    int kept_images = 0;        ///< times that they were kept for the run folder
    bool kept_for_run = false;  ///< those under way are for the run folder, and not for the history alone
  };

  /// A training that was left, as it was then.
  struct LeftState {
    std::uint64_t number = 0;
    std::uint64_t generation = 0;  ///< that has its points, up to its last step
    std::shared_ptr<const TrainingSettings> settings;
    std::vector<float> first_weights;
    EngineState engine;
    Memory memory;
    Progress progress;
    FigureTally tally;
    Divergence divergence;
  };

  Surroundings around_;
  std::shared_ptr<core::Device> device_;
  std::shared_ptr<const data::DataSet> data_;
  std::string data_checksum_;  ///< of all of them, before any are held out
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<RunRecorder> recorder_;
  std::unique_ptr<CheckpointWriter> checkpoints_;
  std::string checkpoint_error_;  ///< that has been told

  Snapshot view_;  ///< what the next snapshot will say; the thread's own
  std::vector<FeedItem> unsent_;
  Ladder ladder_;
  /// How much energy the device had used when it had trained so far.
  struct EnergySample {
    double joules = 0;
    std::uint64_t step = 0;
    Clock::time_point at{};
    std::uint64_t alone = 0;  ///< SharedDevices::by_itself_on()
  };
  std::shared_ptr<const void> running_on_;  ///< SharedDevices::run_on() while it trains
  std::unique_ptr<core::EnergyMeter> energy_meter_;
  std::optional<EnergySample> energy_;  ///< while nothing but training has happened since
  Memory memory_;
  FigureTally tally_;           ///< of the points so far
  bool disturbed_ = false;      ///< something is measured beside the training
  std::deque<LeftState> left_;  ///< the newest last
  /// How far the training was at each of the engine's copies.
  struct RememberedProgress {
    Memory memory;
    Progress progress;
    std::optional<FigureTally::Mark> tally;  ///< once all points up to that step have come
  };
  std::deque<RememberedProgress> remembered_;
  std::unique_ptr<ThinnedPoints> unsaved_;  ///< of a training that nobody records; nullptr else
  core::Phases phases_;
  bool batch_chosen_ = false;  ///< by a person

  const std::shared_ptr<ImageHistory> image_history_;  ///< nullptr if no images are shown
  std::vector<Watch> watches_;                         ///< one an observer
  ObservationRequest observed_;                        ///< what is asked for
  std::uint64_t copied_weights_ = 0;                   ///< CopyWeights::number
  Observations seen_;                                  ///< the thread's own
  std::shared_ptr<const FeatureProbe> noted_probe_;    ///< the last that became a point
  double looked_seconds_ = 0;  ///< device time of looks and pictures since last_share_

  struct RateSearchRun {
    RateFinder finder;
    EngineState before;
  };
  std::optional<RateSearchRun> rate_search_;
  Clock::time_point last_publish_{};
  Clock::time_point last_memory_{};
  Clock::time_point last_flush_{};
  Clock::time_point last_timing_{};
  Clock::time_point last_ladder_{};
  Clock::time_point last_checkpoint_{};
  Clock::time_point last_remembered_{};
  Clock::time_point last_share_{};

  mutable std::mutex mutex_;  ///< of everything below
  std::condition_variable_any wake_;
  mutable std::condition_variable newer_snapshot_;
  std::deque<Command> commands_;
  std::shared_ptr<const Snapshot> published_ = std::make_shared<Snapshot>();
  std::shared_ptr<ImageExchange> exchange_;
  Observations published_observations_;
  std::vector<float> final_parameters_;
  std::vector<core::PhaseTime> phase_times_;
  std::vector<std::weak_ptr<Feed>> feeds_;
  /// What has come since the beginning, until somebody has subscribed: who comes a moment later misses nothing. Those
  /// after the first get what was emitted before the first step.
  std::vector<FeedItem> history_;
  bool subscribed_ = false;
  bool stop_ = false;

  std::thread thread_;
};

}  // namespace warpscope::training
