#include "gpu/training/worker.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/data/locate.h"
#include "gpu/training/parameters.h"

namespace warpscope::training {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;

constexpr auto kPublishInterval = milliseconds(16);
constexpr auto kFlushInterval = milliseconds(10);
constexpr auto kMemoryInterval = milliseconds(500);  ///< asking the driver costs up to 0.1 ms
constexpr auto kTimingInterval = milliseconds(250);
constexpr auto kLadderInterval = milliseconds(250);
constexpr double kImageInterval = 0.1;  ///< seconds between shown reconstructions, at the least
constexpr double kImageShare = 12.0;    ///< at most one part in so many of the time goes to showing images
constexpr std::int64_t kTestSteps = 5;  ///< a test comes after as many times its images were trained on
/// Between two tests: the step right after one has no time of its own, so few of those would make no speed.
constexpr std::int64_t kLeastTestSteps = 20;
constexpr std::int64_t kTestImagesCpu = 256;
constexpr std::size_t kSpeedWindow = 512;

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;  // clang 14 does not deduce it for an aggregate

}  // namespace

Trainer::Worker::Worker(TrainerOptions options) : options_(std::move(options)) {
  view_.model = options_.model.name;
  view_.optimizer = options_.optimizer;
  view_.batch = options_.batch;
  view_.learning_rate = options_.learning_rate;
  view_.run_dir = options_.run_dir;
  view_.parameters = models::parameter_layout(options_.model).count;
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
}

// --- the calling threads
// ---------------------------------------------------------------------------------------------

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

bool Trainer::Worker::wait(double seconds) {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, duration<double>(seconds), [this] {
    return published_->state == TrainerState::finished || published_->state == TrainerState::failed;
  });
}

// --- the thread
// ------------------------------------------------------------------------------------------------------

void Trainer::Worker::run() {
  try {
    prepare();
  } catch (const core::BadInput& error) {
    return fail(error.what(), true);
  } catch (const std::exception& error) {
    return fail(error.what(), false);
  }
  try {
    loop();
  } catch (const std::exception& error) {
    fail(error.what(), false);
  }
}

void Trainer::Worker::prepare() {
  if (options_.optimizer != "sgd") {
    throw core::BadInput(fmt::format("unknown optimizer '{}'; valid: sgd", options_.optimizer));
  }
  device_ = core::open_device(options_.device);
  device_->make_current();
  view_.device = device_->info();
  EngineOptions engine;
  engine.selection = plan::default_selection(device_->info(), options_.precision);
  plan::apply(engine.selection, options_.select, device_->info());
  publish(true);
  data_ = options_.data_set ? options_.data_set
                            : std::make_shared<data::DataSet>(data::load(options_.data, view_.data_notice));
  const bool gpu = device_->kind() == core::DeviceKind::cuda;
  const std::int64_t all = data_->test.count;
  engine.model = options_.model;
  engine.batch = options_.batch;
  engine.learning_rate = options_.learning_rate;
  engine.seed = options_.seed;
  engine.shuffle = options_.shuffle;
  engine.init_file = options_.init_file;
  engine.test_images = options_.test_images > 0 ? options_.test_images
                       : gpu                    ? all
                                                : std::min(all, kTestImagesCpu);
  engine.shown_images = options_.shown_images;
  if (!std::isfinite(engine.learning_rate) || engine.learning_rate < 0) {
    throw core::BadInput(fmt::format("learning rate {} is not a number from 0 up", engine.learning_rate));
  }
  engine_ = std::make_unique<Engine>(std::move(engine), data_, device_);
  view_.selection = engine_->options().selection;
  note_choice();
  view_.data_name = data_->name;
  view_.train_images = data_->train.count;
  view_.test_images = engine_->options().test_images;
  view_.plan_bytes = engine_->plan_bytes();
  plan_steps();
  if (!options_.run_dir.empty()) start_recorder(options_.run_dir);
  if (!view_.data_notice.empty()) log(LogLevel::info, view_.data_notice);
  log(LogLevel::info, fmt::format("{} on {}, {} training images of {}", options_.model.name,
                                  device_->info().name, view_.train_images, view_.data_name));
  {
    const std::lock_guard lock(mutex_);
    exchange_ = engine_->exchange();
  }
  set_state(options_.start_paused ? TrainerState::paused : TrainerState::running);
}

void Trainer::Worker::plan_steps() {
  const std::uint64_t left = engine_->steps_until(options_.epochs);
  view_.steps_planned = options_.epochs > 0 ? engine_->steps() + left : 0;
  if (options_.steps > 0 && (view_.steps_planned == 0 || options_.steps < view_.steps_planned)) {
    view_.steps_planned = options_.steps;
  }
}

void Trainer::Worker::start_recorder(const std::string& directory) {
  recorder_ = std::make_unique<RunRecorder>(directory, subscribe(), configuration());
}

nlohmann::json Trainer::Worker::configuration() const {
  const core::DeviceInfo& device = device_->info();
  nlohmann::json selection;
  for (const auto& [op, variant] : view_.selection.variants)
    selection[std::string(ops::to_string(op))] = variant;
  return {{"configuration",
           {{"model", options_.model.name},
            {"data", data_->name},
            {"data_source", data_->source},
            {"train_images", data_->train.count},
            {"test_images", view_.test_images},
            {"device", device.id()},
            {"precision", core::to_string(view_.selection.precision)},
            {"selection", selection},
            {"optimizer", options_.optimizer},
            {"learning_rate", options_.learning_rate},
            {"batch", options_.batch},
            {"epochs", options_.epochs},
            {"steps", options_.steps},
            {"seed", options_.seed},
            {"shuffle", options_.shuffle},
            {"init", options_.init_file}}},
          {"device",
           {{"name", device.name},
            {"kind", core::to_string(device.kind)},
            {"compute_capability", device.compute_capability},
            {"multiprocessors", device.multiprocessors},
            {"memory_bytes", device.memory_bytes},
            {"driver", device.driver}}},
          {"versions", {{"warpscope", WARPSCOPE_VERSION}, {"compiler", __VERSION__}}}};
}

void Trainer::Worker::loop() {
  while (true) {
    const bool busy = view_.state == TrainerState::running || steps_to_run_ > 0 || engine_->test_running();
    if (!wait_for_command(busy ? milliseconds(0) : milliseconds(20))) break;
    handle_commands();
    if (view_.state == TrainerState::running || steps_to_run_ > 0 || engine_->test_running()) advance();
    collect(Clock::now() - last_flush_ > kFlushInterval);
    show_images_if_due();
    if (recorder_) {
      if (const std::string error = recorder_->error(); !error.empty()) throw core::Error(error);
    }
    publish(false);
  }
  drain();
  publish(true);
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
  if (engine_->test_running()) {
    engine_->enqueue_test_batch();
    if (const auto test = engine_->collect_test()) note_test(*test);
    return;
  }
  if (limit_reached()) return finish();
  engine_->step(timing_due());
  if (steps_to_run_ > 0) {
    --steps_to_run_;
    collect(true);
  }
  if (view_.state == TrainerState::running && test_due()) {
    collect(true);  // the records of the steps before arrive before the test's
    engine_->start_test();
  }
}

bool Trainer::Worker::limit_reached() const {
  return view_.steps_planned > 0 && engine_->steps() >= view_.steps_planned;
}

bool Trainer::Worker::test_due() const {
  const std::int64_t interval = std::max(kLeastTestSteps, kTestSteps * view_.test_images / view_.batch);
  return engine_->steps() >= last_test_step_ + static_cast<std::uint64_t>(interval) && !limit_reached();
}

bool Trainer::Worker::timing_due() {
  const auto now = Clock::now();
  const bool free_of_cost = device_->kind() == core::DeviceKind::cpu;
  const bool first_samples = engine_->timings().samples() < 5 && engine_->steps() % 4 == 1;
  if (!free_of_cost && !first_samples && now - last_timing_ < kTimingInterval) return false;
  last_timing_ = now;
  return true;
}

void Trainer::Worker::finish() {
  steps_to_run_ = 0;
  const bool told = diverged_;
  drain();
  if (diverged_ && !told) return;  // a window first sees what happened
  if (!engine_->test_running()) engine_->start_test();
  while (!engine_->enqueue_test_batch()) {
  }
  engine_->synchronize();
  if (const auto test = engine_->collect_test()) note_test(*test);
  engine_->publish_images();
  engine_->synchronize();
  publish(true);
  if (!options_.save_file.empty()) save(options_.save_file);
  if (recorder_) recorder_->finish("finished", "");
  set_state(TrainerState::finished);
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

void Trainer::Worker::save(const std::string& file) {
  save_parameters(file, options_.model, engine_->parameters());
  log(LogLevel::info, fmt::format("weights saved to {}", file));
}

// --- commands
// --------------------------------------------------------------------------------------------------------

void Trainer::Worker::handle_commands() {
  std::vector<Command> commands;
  {
    const std::lock_guard lock(mutex_);
    commands = std::exchange(commands_, {});
  }
  for (const Command& command : commands) handle(command);
}

void Trainer::Worker::handle(const Command& command) {
  const bool taken_when_finished = std::holds_alternative<Reset>(command) ||
                                   std::holds_alternative<Save>(command) ||
                                   std::holds_alternative<CheckDeterminism>(command);
  if (view_.state == TrainerState::finished && !taken_when_finished) return;
  std::visit(Overloaded{[&](const Pause&) { pause(); },
                        [&](const Resume&) {
                          if (view_.state != TrainerState::paused) return;
                          diverged_ = false;
                          engine_->interrupt();
                          set_state(TrainerState::running);
                        },
                        [&](const StepOnce&) {
                          pause();
                          engine_->interrupt();
                          ++steps_to_run_;
                        },
                        [&](const Reset&) { handle_reset(); },
                        [&](const Select& select) { attempt([&] { handle_select(select.selection); }); },
                        [&](const SetLearningRate& set) {
                          attempt([&] { handle_learning_rate(set.learning_rate); });
                        },
                        [&](const SetBatch& set) { attempt([&] { handle_batch(set.batch); }); },
                        [&](const Save& to) { attempt([&] { save(to.file); }); },
                        [&](const CheckDeterminism&) { attempt([&] { handle_determinism(); }); },
                        [&](const Finish&) { finish(); }},
             command);
}

/// What cannot be done is told, and the training goes on as it was.
void Trainer::Worker::attempt(const std::function<void()>& change) {
  try {
    change();
  } catch (const core::Error& error) {
    notice(error.what());
    log(LogLevel::warning, error.what());
  }
}

void Trainer::Worker::pause() {
  if (view_.state != TrainerState::running) return;
  drain();
  set_state(TrainerState::paused);
}

void Trainer::Worker::handle_select(const plan::Selection& selection) {
  const std::string change = plan::describe_change(view_.selection, selection);
  if (change.empty()) return;
  drain();  // the speeds of the steps under way belong to the selection before
  engine_->set_selection(selection);
  view_.selection = selection;
  note_choice();
  view_.plan_bytes = engine_->plan_bytes();
  recent_speeds_.clear();
  shown_step_ = kNeverShown;  // the same weights may give other pictures
  mark(change);
  publish(true);
}

void Trainer::Worker::handle_batch(int batch) {
  if (batch == view_.batch) return;
  drain();
  engine_->set_batch(batch);
  mark(fmt::format("batch: {} -> {}", view_.batch, batch));
  view_.batch = batch;
  note_choice();
  view_.plan_bytes = engine_->plan_bytes();
  plan_steps();
  recent_speeds_.clear();
  publish(true);
}

void Trainer::Worker::handle_learning_rate(float learning_rate) {
  if (learning_rate == view_.learning_rate) return;
  engine_->set_learning_rate(learning_rate);
  mark(fmt::format("learning rate: {:g} -> {:g}", view_.learning_rate, learning_rate));
  view_.learning_rate = learning_rate;
  publish(true);
}

void Trainer::Worker::note_choice() {
  ladder_.choose(view_.selection, view_.batch, engine_->steps(), device_->info());
}

void Trainer::Worker::handle_determinism() {
  drain();
  auto report = std::make_shared<DeterminismReport>(engine_->check_determinism());
  report->id = view_.determinism ? view_.determinism->id + 1 : 1;
  const auto differ = std::count_if(report->tensors.begin(), report->tensors.end(),
                                    [](const TensorDifference& tensor) { return tensor.different > 0; });
  log(LogLevel::info,
      differ == 0 ? fmt::format("the same step twice: all bits equal in {} tensors", report->tensors.size())
                  : fmt::format("the same step twice: bits differ in {} of {} tensors", differ,
                                report->tensors.size()));
  view_.determinism = std::move(report);
  publish(true);
}

void Trainer::Worker::handle_reset() {
  publish(true);  // the points of the old curve leave before the restart
  engine_->reset();
  plan_steps();
  steps_to_run_ = 0;
  ++view_.generation;
  view_.step = 0;
  view_.epoch = view_.seconds = view_.images_per_second = 0;
  view_.train_loss = view_.test_loss = 0;
  view_.loss_scale = 1;
  view_.skipped_steps = 0;
  recent_speeds_.clear();
  last_test_step_ = 0;
  last_step_seconds_ = 0;
  diverged_ = false;
  shown_step_ = kNeverShown;
  next_images_ = {};
  emit(Restart{view_.generation});
  log(LogLevel::info, "reset: new weights, step 0");
  if (view_.state == TrainerState::finished) set_state(TrainerState::paused);
  publish(true);
}

// --- results
// ---------------------------------------------------------------------------------------------------------

void Trainer::Worker::collect(bool flush) {
  if (flush) last_flush_ = Clock::now();
  for (const StepResult& step : engine_->collect_steps(flush)) note_step(step);
  if (!unsent_.empty()) publish(false);
}

/// Waits for the steps under way and takes their records.
void Trainer::Worker::drain() {
  collect(true);
  engine_->synchronize();
  collect(false);
}

void Trainer::Worker::note_step(const StepResult& step) {
  const double speed = step.step_seconds > 0 ? step.batch / step.step_seconds : 0.0;
  if (step.step_seconds > 0) last_step_seconds_ = step.step_seconds;
  view_.seconds += step.step_seconds > 0 ? step.step_seconds : last_step_seconds_;
  view_.step = step.step;
  view_.epoch = step.epoch;
  view_.train_loss = step.loss;
  if (speed > 0) {
    recent_speeds_.push_back(speed);
    const auto seconds = static_cast<double>(recent_speeds_.size()) * last_step_seconds_;
    if (recent_speeds_.size() > kSpeedWindow || (seconds > 1.0 && recent_speeds_.size() > 1)) {
      recent_speeds_.pop_front();
    }
  }
  view_.loss_scale = step.loss_scale;
  view_.skipped_steps += step.skipped;
  const bool slowed =
      step.timed && device_->kind() == core::DeviceKind::cuda;  // by the events between kernels
  ladder_.add(slowed ? 0 : speed);
  emit(LossPoint{step.step, step.epoch, step.loss, step.learning_rate, speed, view_.seconds, step.loss_scale,
                 step.skipped});
  if (std::isfinite(step.loss) || diverged_) return;
  diverged_ = true;
  const auto why =
      fmt::format("the loss is {} at step {}: training diverged; try a lower learning rate than {:g}",
                  step.loss, step.step, step.learning_rate);
  if (!options_.pause_on_divergence) throw core::Error(why);
  notice(why);
  log(LogLevel::error, why);
  steps_to_run_ = 0;
  if (view_.state == TrainerState::running) set_state(TrainerState::paused);
}

void Trainer::Worker::note_test(const TestResult& test) {
  last_test_step_ = test.step;
  view_.test_loss = static_cast<float>(test.loss);
  collect(true);
  emit(TestPoint{test.step, test.epoch, view_.seconds, static_cast<float>(test.loss),
                 static_cast<float>(test.psnr)});
}

void Trainer::Worker::show_images_if_due() {
  const auto now = Clock::now();
  if (!engine_->exchange() || now < next_images_ || engine_->steps() == shown_step_) return;
  if (view_.state == TrainerState::finished) return;
  if (!engine_->publish_images()) return;
  shown_step_ = engine_->steps();
  engine_->interrupt();
  const double pause = std::max(kImageInterval, kImageShare * engine_->publish_seconds());
  next_images_ = now + std::chrono::duration_cast<Clock::duration>(duration<double>(pause));
}

// --- publishing
// ------------------------------------------------------------------------------------------------------

void Trainer::Worker::set_state(TrainerState state) {
  view_.state = state;
  publish(true);
  if (state == TrainerState::finished || state == TrainerState::failed) ended_.notify_all();
}

void Trainer::Worker::notice(const std::string& text) {
  view_.notice = text;
  ++view_.notice_id;
}

void Trainer::Worker::log(LogLevel level, const std::string& text) {
  emit(LogLine{level, text});
}

void Trainer::Worker::mark(const std::string& text) {
  emit(Marker{engine_->steps(), view_.seconds, text});
  log(LogLevel::info, text);
}

void Trainer::Worker::emit(FeedItem item) {
  unsent_.push_back(std::move(item));
}

void Trainer::Worker::publish(bool force) {
  const auto now = Clock::now();
  if (!force && now - last_publish_ < kPublishInterval) return;
  last_publish_ = now;
  if (device_ && (force || now - last_memory_ > kMemoryInterval)) {
    last_memory_ = now;
    view_.memory = device_->memory();
  }
  if (engine_) {
    if (force || now - last_ladder_ > kLadderInterval) {
      last_ladder_ = now;
      view_.ladder = ladder_.entries();
    }
    view_.timings = engine_->timings().timings();
    view_.step_microseconds = 0;
    for (const OpTiming& timing : view_.timings) view_.step_microseconds += timing.microseconds;
  }
  if (!recent_speeds_.empty()) {
    std::vector<double> sorted(recent_speeds_.begin(), recent_speeds_.end());
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    view_.images_per_second = *middle;
  }
  auto next = std::make_shared<const Snapshot>(view_);
  const std::lock_guard lock(mutex_);
  published_ = std::move(next);
  std::erase_if(feeds_, [](const std::weak_ptr<Feed>& feed) { return feed.expired(); });
  for (const auto& feed : feeds_) {
    if (const auto alive = feed.lock()) alive->push(unsent_);
  }
  if (view_.step == 0) {
    history_.insert(history_.end(), unsent_.begin(), unsent_.end());
  } else {
    history_.clear();
  }
  unsent_.clear();
}

}  // namespace warpscope::training
