#include "gpu/training/worker.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <future>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/charts/numbers.h"
#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/data/known_data.h"
#include "gpu/data/notices.h"
#include "gpu/data/split.h"
#include "gpu/files/checksum.h"
#include "gpu/files/paths.h"
#include "gpu/observers/observer_table.h"
#include "gpu/plan/views.h"
#include "gpu/runs/find_checkpoint.h"
#include "gpu/runs/references.h"
#include "gpu/runs/run_reader.h"

namespace warpscope::training {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;

constexpr auto kFlushInterval = milliseconds(10);
constexpr auto kTimingInterval = milliseconds(250);
/// Where timing costs nothing: so that the newest samples are of a second and more, and not of one moment.
constexpr auto kCpuTimingInterval = milliseconds(50);
constexpr std::int64_t kTestImagesCpu = 256;  ///< of networks with convolutions

bool has_convolutions(const models::Model& model) {
  return std::any_of(model.layers.begin(), model.layers.end(),
                     [](const models::Layer& layer) { return layer.convolves(); });
}

/// For a network that gives each class the same probability, or the same grey for each pixel, however the pictures are.
double loss_of_guessing(const models::Model& model) {
  if (model.loss == models::Loss::cross_entropy) return std::log(std::max(2, model.classes));
  return 0.25;
}

}  // namespace

Trainer::Worker::Worker(TrainerOptions options)
    : around_(options),
      image_history_(options.shown_images > 0 && options.model.loss == models::Loss::mse
                         ? std::make_shared<ImageHistory>()
                         : nullptr) {
  view_.started = duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  view_.model = options.model.name;
  view_.network = std::make_shared<const models::Model>(options.model);
  view_.classifies = options.model.loss == models::Loss::cross_entropy;
  view_.run_dir = options.run_dir;
  view_.parameters = models::parameter_layout(options.model).count;
  view_.settings = std::make_shared<const TrainingSettings>(std::move(options));
  published_ = std::make_shared<Snapshot>(view_);
  thread_ = std::thread([this] { run(); });
}

Trainer::Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
  // Its thread writes the recorder's points; the last checkpoint is on the disk before the folder's lock is
  // let go.
  checkpoints_.reset();
  recorder_.reset();  // its thread reads snapshots
}

// --- the calling threads

void Trainer::Worker::send(Command command) {
  {
    const std::lock_guard lock(mutex_);
    commands_.push_back(std::move(command));
  }
  wake_.notify_all();
}

std::shared_ptr<const Snapshot> Trainer::Worker::snapshot() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

std::shared_ptr<Feed> Trainer::Worker::subscribe() {
  const std::shared_ptr<Feed> feed = subscribe_recorder();
  const std::lock_guard lock(mutex_);
  subscribed_ = true;
  return feed;
}

std::shared_ptr<Feed> Trainer::Worker::subscribe_recorder() {
  auto feed = std::make_shared<Feed>();
  const std::lock_guard lock(mutex_);
  feed->push(history_);
  feeds_.push_back(feed);
  return feed;
}

std::shared_ptr<ImageExchange> Trainer::Worker::images() const {
  const std::lock_guard lock(mutex_);
  return exchange_;
}

Observations Trainer::Worker::observations() const {
  const std::lock_guard lock(mutex_);
  return published_observations_;
}

std::vector<float> Trainer::Worker::final_parameters() const {
  const std::lock_guard lock(mutex_);
  return final_parameters_;
}

bool Trainer::Worker::has_final_parameters() const {
  const std::lock_guard lock(mutex_);
  return !final_parameters_.empty();
}

std::vector<core::PhaseTime> Trainer::Worker::phase_times() const {
  const std::lock_guard lock(mutex_);
  return phase_times_;
}

bool Trainer::Worker::wait_until(const std::function<bool(const Snapshot&)>& condition,
                                 double seconds) const {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(duration<double>(seconds));
  while (true) {
    const auto seen = snapshot();
    if (condition(*seen)) return true;  // without the lock: it may send commands
    std::unique_lock lock(mutex_);
    if (!newer_snapshot_.wait_until(lock, end, [&] { return published_ != seen; })) return false;
  }
}

// --- the thread

void Trainer::Worker::run() {
  try {
    prepare();
  } catch (const core::BadInput& error) {
    return fail(error.what(), true);
  } catch (const std::exception& error) {
    return fail(core::sentence_of(error), false);
  }
  try {
    loop();
  } catch (const std::exception& error) {
    fail(core::sentence_of(error), false);
  }
}

void Trainer::Worker::prepare() {
  check(settings());
  phases_.begin("device");
  find_initial_weights();
  data::KnownData& known = around_.known_data;
  if (!around_.resume_dir.empty() && known.checksum.empty()) known = runs::known_data(around_.resume_dir);
  open();
  phases_.begin("network");
  make_engine();
  energy_meter_ = std::make_unique<core::EnergyMeter>(device_->info());
  for (auto& observer : make_observers()) watches_.push_back({std::move(observer)});
  if (settings().probe) handle_observe({});
  describe_training();
  plan_steps();
  if (needs_length(settings().schedule.kind)) check_length(settings().schedule, view_.total_epochs);
  around_.resume_dir.empty() ? start_recorder() : resume();
  if (!recorder_ && !around_.unsaved_dir.empty()) unsaved_ = std::make_unique<ThinnedPoints>();
  remember();
  if (!view_.data_notice.empty()) log(LogLevel::info, view_.data_notice);
  log(LogLevel::info, data::tell_classes(*data_));
  log(LogLevel::info, fmt::format("{} on {}, {} training {} of {}", settings().model.name,
                                  device_->info().name, charts::with_thousands(view_.train_images),
                                  settings().model.reads_text() ? "texts" : "images", view_.data_name));
  if (!engine_->network().init_notice().empty() && around_.resume_dir.empty())
    log(LogLevel::info, engine_->network().init_notice());
  if (const auto& seeded = engine_->network().seeded_parameters();
      !seeded.empty() && around_.resume_dir.empty()) {
    log(LogLevel::info, fmt::format("the initial weights are those of {}; nothing in it fits these, which "
                                    "are drawn from the seed: {}",
                                    settings().init_file, fmt::join(seeded, ", ")));
  }
  if (settings().optimizer.per_sample) {
    log(LogLevel::warning,
        "weights and optimizer state change after each image, not after each batch: a mistake, kept to "
        "watch it fail");
  }
  {
    const std::lock_guard lock(mutex_);
    exchange_ = engine_->pictures().exchange();
  }
  set_state(around_.start_paused ? TrainerState::paused : TrainerState::running);
}

/// A run's folder stands for its last checkpoint.
void Trainer::Worker::find_initial_weights() {
  std::string file = settings().init_file;
  if (file.empty() && settings().init_partly) {
    throw core::BadInput("init_partly needs init: a file of weights, or the folder of a run");
  }
  if (file.empty()) return;
  if (runs::is_run(file)) file = runs::find_checkpoint(file, "last").string();
  edit_settings([&](TrainingSettings& s) { s.init_file = files::absolute_path(file).string(); });
}

/// A run that is gone on with has its weights itself: those that it began with count if it is reset.
void Trainer::Worker::make_engine() {
  EngineOptions options = engine_options();
  if (options.init_file.empty() || around_.resume_dir.empty()) {
    engine_ = std::make_unique<Engine>(std::move(options), data_, device_);
    return;
  }
  const runs::Reference known = runs::reference_of(runs::read_head(around_.resume_dir), "init");
  std::error_code error;
  const auto guess = std::filesystem::path(around_.resume_dir) / known.from_run;
  if (!std::filesystem::exists(options.init_file, error) && std::filesystem::is_regular_file(guess, error)) {
    options.init_file = guess.lexically_normal().string();
  }
  try {
    engine_ = std::make_unique<Engine>(options, data_, device_);
    if (!known.checksum.empty() && files::checksum_of_file(options.init_file) != known.checksum) {
      log(LogLevel::warning,
          fmt::format("{} holds other weights than those that the run began with: a reset would "
                      "begin with them",
                      options.init_file));
    }
  } catch (const core::BadInput& failure) {
    options.init_file.clear();
    options.init_partly = false;
    engine_ = std::make_unique<Engine>(std::move(options), data_, device_);
    log(LogLevel::warning, fmt::format("{}; a reset would begin with weights from the seed", failure.what()));
  }
}

/// The device and the data, which are read meanwhile; reading ends early if what is chosen cannot run on the device.
void Trainer::Worker::open() {
  std::atomic<bool> refused = false;
  auto reading = std::async(std::launch::async, [this, source = settings().data, model = settings().model,
                                                 &refused] { return read_data(source, model, refused); });
  try {
    open_device();
  } catch (...) {
    refused = true;
    reading.wait();
    throw;
  }
  phases_.begin("data");
  Reading found = reading.get();
  data_ = std::move(found.data);
  data_checksum_ = std::move(found.checksum);
  view_.data_notice = std::move(found.notice);
  if (!found.same) {
    const std::string other = data::told_as_other(*data_);
    if (!around_.resume_dir.empty()) throw core::BadInput(other + "; --data names where those are");
    view_.data_notice = view_.data_notice.empty() ? other : fmt::format("{}; {}", other, view_.data_notice);
  }
  if (settings().validation > 0) {
    data_ = std::make_shared<data::DataSet>(
        data::split_validation(data::DataSet(*data_), settings().validation, settings().seed));
  }
  if (!batch_chosen_) {  // a default does not refuse a small set
    const std::int64_t most = data_->train.count / settings().optimizer.accumulate;
    edit_settings([most](TrainingSettings& s) {
      s.batch = static_cast<int>(std::clamp<std::int64_t>(most, 1, s.batch));
    });
  }
}

void Trainer::Worker::open_device() {
  device_ = core::open_device(settings().device);
  device_->make_current();
  view_.device = device_->info();
  view_.variants = around_.variants;
  batch_chosen_ = settings().batch > 0;
  edit_settings([this](TrainingSettings& s) {
    complete(s, device_->info());
    s.device = device_->info().id();
    float& clip_norm = s.optimizer.clip_norm;
    if (!around_.clip_chosen && clip_norm == 0) clip_norm = standard_clip_norm(*s.precision);
  });
  publish(true);
  view_.selection = first_selection();
}

/// Ends early if the device refuses or the training is to end before it has begun: many pictures take time to be read.
Trainer::Worker::Reading Trainer::Worker::read_data(const std::string& source, const models::Model& model,
                                                    const std::atomic<bool>& refused) const {
  if (around_.data_set) {
    const std::string checksum = data::checksum_of(*around_.data_set);
    const std::string& known = around_.known_data.checksum;
    return {around_.data_set, "", checksum, known.empty() || known == checksum};
  }
  const data::Requirements wanted{
      {model.height, model.width, model.channels}, model.classes, model.name, model.alphabet};
  const auto nobody_waits = [&] {
    const std::lock_guard lock(mutex_);
    return refused || stop_ || std::any_of(commands_.begin(), commands_.end(), [](const Command& command) {
             return std::holds_alternative<Finish>(command) || std::holds_alternative<Leave>(command);
           });
  };
  data::FoundData found = data::find_data(source, around_.known_data, wanted, nobody_waits);
  return {std::make_shared<data::DataSet>(std::move(found.set)), std::move(found.notice),
          std::move(found.checksum), found.same};
}

/// What was asked for, as far as it can be judged without data.
plan::Selection Trainer::Worker::first_selection() const {
  const plan::Machine machine = machine_of(view_);
  plan::check_precision(machine, *settings().precision);
  plan::Selection selection{*settings().precision, {}};
  plan::apply(selection, settings().select, machine);
  return selection;
}

EngineOptions Trainer::Worker::engine_options() const {
  EngineOptions engine;
  static_cast<EngineSettings&>(engine) = settings();
  engine.selection = view_.selection;
  engine.variants = view_.variants;
  const bool fast = device_->kind() == core::DeviceKind::cuda || !has_convolutions(settings().model);
  const std::int64_t all = std::max(data_->test.count, data_->validation.count);
  engine.test_images = settings().test_images > 0 ? settings().test_images
                       : fast                     ? all
                                                  : std::min(all, kTestImagesCpu);
  engine.shown_images = around_.shown_images;
  engine.shared = around_.shared;
  return engine;
}

void Trainer::Worker::describe_training() {
  note_selection(engine_->options().selection);
  note_choice();
  view_.data = view_of(data_);
  view_.data_name = data_->name;
  view_.train_images = data_->train.count;
  view_.validation_images = data_->validation.count;
  view_.test_images = engine_->evaluator().images(Split::validation);
  edit_settings([this](TrainingSettings& s) {
    s.data = data_->source;
    s.spikes.guessing = loss_of_guessing(s.model);
  });
  view_.test_views =
      static_cast<int>(plan::views_of({settings().test_mirrored, settings().test_shift}).size());
  view_.plan_bytes = engine_->plan_bytes();
  view_.parameters = models::parameter_layout(engine_->model()).count;
}

void Trainer::Worker::plan_steps() {
  const std::uint64_t left = engine_->steps_until(settings().epochs);
  view_.steps_planned = settings().epochs > 0 ? engine_->steps() + left : 0;
  if (settings().steps > 0 && (view_.steps_planned == 0 || settings().steps < view_.steps_planned)) {
    view_.steps_planned = settings().steps;
  }
  view_.total_epochs = planned_epochs(settings());
}

/// The length of the training with these settings; 0: no limit.
double Trainer::Worker::planned_epochs(const TrainingSettings& settings) const {
  const auto epochs = static_cast<double>(settings.epochs);
  if (settings.steps == 0) return epochs;
  const std::int64_t images = std::int64_t{settings.batch} * settings.optimizer.accumulate;
  const std::int64_t steps_an_epoch = data_->train.count / images;
  const double by_steps = static_cast<double>(settings.steps) / static_cast<double>(steps_an_epoch);
  return settings.epochs > 0 ? std::min(epochs, by_steps) : by_steps;
}

void Trainer::Worker::loop() {
  phases_.begin("training");
  while (true) {
    const bool waits = view_.state != TrainerState::running && memory_.steps_to_run == 0 &&
                       !engine_->evaluator().running() && !rate_search_;
    if (!waits) engine_->wait_for_room();
    if (!wait_for_command(waits ? milliseconds(20) : milliseconds(0))) break;
    handle_commands();
    if (view_.state == TrainerState::running || memory_.steps_to_run > 0 || engine_->evaluator().running() ||
        rate_search_) {
      advance();
    }
    if (!rate_search_) collect(Clock::now() - last_flush_ > kFlushInterval);
    handle_divergence();
    remember_if_due();
    show_images_if_due();
    hand_over_kept_images();
    observe_if_due();
    if (recorder_) watch_recorder();
    note_checkpoints();
    publish(false);
  }
  if (rate_search_) end_rate_search(true);
  drain();
  if (leaves_yet()) handle_leave();
  publish(true);
}

/// The window was closed while this thread was in a long step.
bool Trainer::Worker::leaves_yet() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(commands_.begin(), commands_.end(),
                     [](const Command& command) { return std::holds_alternative<Leave>(command); });
}

/// Ends the run if its folder cannot be written.
void Trainer::Worker::watch_recorder() {
  if (const std::string error = recorder_->error(); !error.empty()) throw core::Error(error);
  if (const std::string warning = recorder_->status().take_warning(); !warning.empty()) {
    log(LogLevel::warning, warning + "; other processes do not see how the run goes on");
  }
}

/// False if the thread must end.
bool Trainer::Worker::wait_for_command(milliseconds timeout) {
  std::unique_lock lock(mutex_);
  if (timeout.count() > 0) {
    wake_.wait_for(lock, timeout, [this] { return stop_ || !commands_.empty(); });
  }
  return !stop_;
}

void Trainer::Worker::advance() {
  if (rate_search_) return advance_rate_search();
  if (engine_->evaluator().running()) {
    const core::InnerPhase phase(phases_, "evaluation");
    engine_->evaluator().enqueue_batch();
    if (const auto evaluation = engine_->evaluator().collect()) note_evaluation(evaluation);
    return;
  }
  if (checkpoint_due()) write_checkpoint(false);
  if (limit_reached()) return finish();
  step();
}

void Trainer::Worker::step() {
  engine_->set_learning_rate(static_cast<float>(rate_of_next_step()));
  engine_->step(timing_due());
  if (engine_->epochs_done() > memory_.epochs_seen) epoch_ended();
  if (memory_.steps_to_run > 0) {
    --memory_.steps_to_run;
    collect(true);
  }
  const bool evaluates = memory_.plateau_due || engine_->steps() >= next_evaluation();
  if (view_.state == TrainerState::running && evaluates && !limit_reached()) {
    collect(true);  // the records of the steps before arrive before the evaluation's
    engine_->evaluator().start(Split::validation);
  }
}

void Trainer::Worker::epoch_ended() {
  memory_.epochs_seen = engine_->epochs_done();
  memory_.plateau_due = settings().schedule.kind == ScheduleKind::plateau;
  const auto every = static_cast<std::uint64_t>(settings().checkpoint_epochs);
  memory_.checkpoint_due = memory_.checkpoint_due || (every > 0 && memory_.epochs_seen % every == 0);
}

double Trainer::Worker::rate_of_next_step() const {
  const auto base = static_cast<double>(settings().optimizer.learning_rate);
  if (settings().schedule.kind == ScheduleKind::plateau)
    return rate_at(settings().schedule, memory_.plateau, base);
  return rate_at(settings().schedule, base, engine_->epoch(), view_.total_epochs);
}

bool Trainer::Worker::limit_reached() const {
  return !memory_.stop_reason.empty() || (view_.steps_planned > 0 && engine_->steps() >= view_.steps_planned);
}

bool Trainer::Worker::timing_due() {
  if (disturbed_) return false;
  const auto now = Clock::now();
  const bool on_cpu = device_->kind() == core::DeviceKind::cpu;
  const bool first_samples = engine_->timings().samples() < 5 && (on_cpu || engine_->steps() % 4 == 1);
  if (!first_samples && now - last_timing_ < (on_cpu ? kCpuTimingInterval : kTimingInterval)) return false;
  last_timing_ = now;
  return true;
}

void Trainer::Worker::finish() {
  memory_.steps_to_run = 0;
  if (rate_search_) end_rate_search(true);
  const bool told = memory_.diverged;
  drain();
  handle_divergence();
  if (memory_.diverged && !told) return;  // a window first sees what happened
  if (!memory_.stop_reason.empty()) mark(memory_.stop_reason);
  evaluate_all();
  phases_.begin("ending");
  memory_.kept_for_run = recorder_ != nullptr;
  engine_->pictures().publish(memory_.kept_for_run || image_history_ != nullptr);
  engine_->synchronize();
  hand_over_kept_images();
  {
    auto parameters = engine_->parameters();
    const std::lock_guard lock(mutex_);
    final_parameters_ = std::move(parameters);
  }
  publish(true);
  note_confusion();
  if (!settings().save_file.empty()) save(settings().save_file);
  if (checkpoints_ && !memory_.diverged) {
    if (engine_->steps() != memory_.written_step) write_checkpoint(false);
    checkpoints_->flush();
    note_checkpoints();
    publish(true);  // what the recorder writes last tells of the last checkpoint
    if (!checkpoint_error_.empty()) throw core::Error(checkpoint_error_);
  }
  if (recorder_) recorder_->finish("finished", "");
  {
    auto times = phases_.end();
    phases_.begin("training");  // somebody may go on
    const std::lock_guard lock(mutex_);
    phase_times_ = std::move(times);
  }
  set_state(TrainerState::finished);
}

/// What is known at the end: the held-out images that steered, and then the test set.
void Trainer::Worker::evaluate_all() {
  const core::InnerPhase phase(phases_, "evaluation");
  for (const Split split : {Split::validation, Split::test}) {
    if (split == Split::validation && data_->validation.count == 0) continue;
    if (!engine_->evaluator().running() || split == Split::test) engine_->evaluator().start(split);
    while (!engine_->evaluator().enqueue_batch()) {
    }
    engine_->synchronize();
    if (const auto evaluation = engine_->evaluator().collect()) note_evaluation(evaluation);
  }
}

void Trainer::Worker::fail(const std::string& why, bool by_input) {
  view_.failed_by_input = by_input;
  notice(why);
  log(LogLevel::error, why);
  publish(true);  // the last points reach the recorder before it closes
  if (recorder_) {
    try {
      recorder_->finish("failed", why);
    } catch (const std::exception&) {
      // The reason of the failure is told already; the last complete files are still there.
    }
  }
  set_state(TrainerState::failed);
}

}  // namespace warpscope::training
