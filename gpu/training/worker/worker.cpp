#include "gpu/training/worker/worker.h"

#include <chrono>
#include <utility>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/messages/running.h"
#include "gpu/training/hand_over.h"
#include "gpu/training/worker/handing_over.h"
#include "gpu/training/worker/preparation.h"
#include "gpu/training/worker/training_context.h"

namespace warpscope::training {
namespace {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;  // clang 14 does not deduce it for an aggregate

using std::chrono::milliseconds;

constexpr auto kCommandTime = milliseconds(20);

/// Where another process has ended.
void count_on(Snapshot& view, const Counted& counted) {
  view.started = counted.started;
  view.generation = counted.generation;
  view.training = counted.training;
  view.trainings = counted.trainings;
  view.notice_id = counted.notice_id;
  view.network_number = counted.network_number;
  view.divergence.id = counted.divergence_id;
  view.answers = counted.answers;
}

}  // namespace

Trainer::Worker::Worker(TrainerOptions options) : training_(options) {
  training_.view.started =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  training_.view.model = options.model.name;
  training_.view.network = std::make_shared<const models::Model>(options.model);
  training_.view.classifies = options.model.loss == models::Loss::cross_entropy;
  training_.view.run_dir = options.run_dir;
  training_.view.parameters = models::parameter_layout(options.model).count;
  if (options.handed_over) count_on(training_.view, options.handed_over->counted);
  training_.view.settings = std::make_shared<const TrainingSettings>(std::move(options));
  training_.publishing.publish({});
  thread_ = std::thread([this] { run(); });
}

Trainer::Worker::~Worker() {
  training_.inbox.stop();
  thread_.join();
}

void Trainer::Worker::run() {
  try {
    Preparation(training_).run();
  } catch (const core::BadInput& error) {
    return training_.reporter.fail(error.what(), true);
  } catch (const std::exception& error) {
    return training_.reporter.fail(core::sentence_of(error), false);
  }
  try {
    loop();
  } catch (const std::exception& error) {
    const auto lost = device_loss(error);
    if (lost && training_.view.state == TrainerState::finished) return stay_finished(training_, *lost);
    const auto why =
        lost && can_be_handed_over(training_) ? hand_over(training_, *lost) : core::sentence_of(error);
    if (why) training_.reporter.fail(*why, false);
  }
}

/// The error by which the device was lost: `error`, or what comes behind it. Nothing where it was not.
std::optional<core::DeviceLost> Trainer::Worker::device_loss(const std::exception& error) {
  if (const auto* const lost = dynamic_cast<const core::DeviceLost*>(&error)) return *lost;
  try {
    training_.device->make_stream()->synchronize();
  } catch (const core::DeviceLost& lost) {
    return lost;
  } catch (const std::exception&) {
    return std::nullopt;  // the first error is the one to tell
  }
  return std::nullopt;
}

void Trainer::Worker::loop() {
  training_.phases.begin("training");
  bool goes_on = true;
  std::optional<Rewinder::WayBack> back;
  while (goes_on) {
    try {
      if (const auto way = std::exchange(back, std::nullopt)) training_.rewinder.go_back_again(*way);
      goes_on = turn();
    } catch (const ranks::RankMissing& missing) {
      if (training_.rewinder.running()) back = training_.rewinder.way();
      training_.ranks.go_on_without(missing);
    }
  }
  if (training_.stepping.searches_rate()) training_.stepping.end_rate_search(true);
  if (training_.rewinder.running()) training_.rewinder.cancel("");
  training_.collector.drain();
  if (training_.inbox.holds<Leave>())
    training_.trainings.leave();  // the window was closed while this thread was in a long step
  training_.reporter.publish(true);
}

/// From one step to the next; false where it is to end.
bool Trainer::Worker::turn() {
  const bool waits = !training_.stepping.works();
  if (!waits) training_.engine->wait_for_room();
  if (!training_.inbox.wait(milliseconds(waits ? 20 : 0))) return false;
  handle_commands();
  training_.kernels.follow();
  training_.ranks.look();
  if (training_.stepping.works()) training_.stepping.advance();
  const bool trains = !training_.stepping.searches_rate() && !training_.rewinder.running();
  if (trains) training_.collector.collect_if_due();
  training_.collector.handle_divergence();
  training_.trainings.remember_if_due();
  training_.moments.take_if_due();
  if (training_.view.state != TrainerState::finished && !training_.rewinder.running()) {
    training_.showing.show_if_due(*training_.engine, *training_.watching, training_.keeper->recorder());
  }
  training_.showing.hand_over(*training_.engine, training_.keeper->recorder(), training_.view.generation);
  training_.watching->look_if_due(trains);
  training_.aside.turn();
  training_.recorded->turn(training_.watching->seen(),
                           trains && training_.view.state == TrainerState::running &&
                               !training_.is_disturbed() && !training_.engine->evaluator().running());
  training_.keeper->watch();
  training_.reporter.publish(false);
  return true;
}

/// In the order in which they were sent. What is left after 20 ms waits for the next step boundary: commands
/// that come faster than they are carried out slow the training down and do not stop it.
void Trainer::Worker::handle_commands() {
  const auto end = std::chrono::steady_clock::now() + kCommandTime;
  do {
    const auto next = training_.inbox.take();
    if (!next) return;
    bool taken = false;
    training_.command = next->number;
    try {
      taken = handle_surely(next->command);
    } catch (const core::DeviceLost&) {
      // These are asked for once, and harm nothing: the process that goes on with the training carries them out.
      const bool again = std::holds_alternative<Leave>(next->command) ||
                         std::holds_alternative<Finish>(next->command) ||
                         std::holds_alternative<Pause>(next->command);
      training_.view.answers.note(next->number, false);
      if (again) training_.inbox.send({next->command, 0});
      throw;
    } catch (...) {
      training_.view.answers.note(next->number, false);
      throw;
    }
    training_.view.answers.note(next->number, taken);
  } while (std::chrono::steady_clock::now() < end);
}

/// What ranks that are missing keep from being done is done once the training goes on without them.
bool Trainer::Worker::handle_surely(const Command& command) {
  try {
    return handle(command);
  } catch (const ranks::RankMissing& missing) {
    training_.ranks.go_on_without(missing);
  }
  return handle(command);
}

bool Trainer::Worker::handle(const Command& command) {
  const bool only_looks =
      std::holds_alternative<Observe>(command) || std::holds_alternative<CopyWeights>(command) ||
      std::holds_alternative<SetDisturbed>(command) || std::holds_alternative<LoadKernel>(command) ||
      std::holds_alternative<WatchKernels>(command) || std::holds_alternative<ApplyWhenProved>(command) ||
      std::holds_alternative<LookAside>(command);
  const bool taken_when_finished =
      only_looks || std::holds_alternative<Reset>(command) || std::holds_alternative<ReturnTo>(command) ||
      std::holds_alternative<RewindTo>(command) || std::holds_alternative<TakeBack>(command) ||
      std::holds_alternative<Leave>(command) || std::holds_alternative<Save>(command) ||
      std::holds_alternative<SaveSettings>(command) || std::holds_alternative<CheckDeterminism>(command) ||
      std::holds_alternative<Change>(command);
  if (training_.rewinder.running() && !only_looks && training_.rewinder.rewinds_on(command)) return true;
  if (training_.view.state == TrainerState::finished && !taken_when_finished) return false;
  // The search's weights are not the training's: whatever is asked for meanwhile comes after it.
  if (training_.stepping.searches_rate() && !only_looks) training_.stepping.end_rate_search(true);
  bool taken = true;
  std::visit(
      Overloaded{
          [&](const Pause&) { training_.stepping.pause(); },
          [&](const Resume&) { training_.stepping.resume(); },
          [&](const StepOnce&) {
            training_.stepping.pause();
            training_.engine->interrupt();
            training_.stepping.make_one_more();
          },
          [&](const Reset&) { taken = training_.reporter.attempt([&] { training_.changes.reset(); }); },
          [&](const ReturnTo& back) {
            taken = training_.reporter.attempt([&] { training_.trainings.return_to(back.training); });
          },
          [&](const RewindTo& back) {
            taken = training_.reporter.attempt([&] { training_.rewinder.rewind_to(back.step); });
          },
          [&](const TakeBack& back) {
            taken = training_.reporter.attempt([&] { training_.rewinder.take_back(back.command); });
          },
          [&](const Select& select) {
            taken = training_.reporter.attempt([&] { training_.changes.select(select.selection); });
          },
          [&](const Change& change) {
            taken = training_.reporter.attempt([&] { training_.changes.change(change.settings); });
          },
          [&](const FindRate& find) {
            taken = training_.reporter.attempt([&] { training_.stepping.start_rate_search(find.settings); });
          },
          [](const CancelFindRate&) {},
          [&](const RollBack&) {
            taken = training_.reporter.attempt([&] { training_.trainings.roll_back(); });
          },
          [&](const SaveCheckpoint&) {
            taken = training_.reporter.attempt([&] {
              if (!training_.keeper->writes_checkpoints())
                throw core::BadInput("no run is written: there is no folder for checkpoints");
              training_.stepping.write_checkpoint(false);
            });
          },
          [&](const SetNetwork& set) {
            taken = training_.reporter.attempt([&] { training_.changes.set_network(set.network); });
          },
          [&](const SetRanks& set) {
            taken = training_.reporter.attempt([&] { training_.ranks.set_count(set.ranks); });
          },
          [&](const Save& to) {
            taken = training_.reporter.attempt([&] { training_.keeper->save_weights(to.file); });
          },
          [&](const SaveSettings&) {
            taken = training_.reporter.attempt([&] { training_.keeper->save_settings(); });
          },
          [&](const Record& record) {
            taken = training_.reporter.attempt([&] {
              training_.collector.drain();
              training_.reporter.publish(true);  // the points so far are where the recorder takes them from
              training_.keeper->record(record.on, training_.steering);
            });
          },
          [&](const CheckDeterminism&) {
            taken = training_.reporter.attempt([&] { training_.changes.check_determinism(); });
          },
          [&](const MeasureLinks&) {
            taken = training_.reporter.attempt([&] { training_.ranks.measure_links(); });
          },
          [&](const Observe& observe) {
            training_.viewing.observe(observe.request);
            training_.aside.observe(observe.request);
          },
          [&](const LookAside& look) {
            taken = training_.reporter.attempt([&] { training_.aside.look(look.step); });
          },
          [&](const LookAt& look) {
            if (training_.views() && training_.inbox.holds<LookAt>()) return;  // the last one counts
            taken = training_.reporter.attempt([&] { training_.viewing.look_at(look.step); });
          },
          [&](const CopyWeights& copy) { training_.watching->copy_weights(copy.number); },
          [&](const SetDisturbed& set) {
            training_.disturbed = set.disturbed;
            if (training_.energy) training_.energy->interrupt();
          },
          [&](const LoadKernel& load) {
            taken = training_.reporter.attempt(
                [&] { training_.kernels.keeper().load(load.file, load.apply_when_proved); });
          },
          [&](const WatchKernels& watch) {
            taken = training_.reporter.attempt(
                [&] { training_.kernels.keeper().watch(watch.folder, watch.on, watch.apply_when_proved); });
          },
          [&](const ApplyWhenProved& apply) {
            taken = training_.reporter.attempt(
                [&] { training_.kernels.keeper().apply_when_proved(apply.file, apply.on); });
          },
          [&](const UseKernel& use) {
            taken = training_.reporter.attempt([&] { training_.kernels.use(use.file, use.version); });
          },
          [&](const ForgetKernel& forget) {
            taken = training_.reporter.attempt([&] { training_.kernels.forget(forget.file); });
          },
          [&](const Leave&) {
            training_.aside.let_go();
            training_.trainings.leave();
          },
          [&](const Finish&) { training_.stepping.finish(); }},
      command);
  return taken;
}

}  // namespace warpscope::training
