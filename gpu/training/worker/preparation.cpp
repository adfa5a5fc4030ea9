#include "gpu/training/worker/preparation.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/charts/numbers.h"
#include "gpu/core/error.h"
#include "gpu/data/known_data.h"
#include "gpu/data/notices.h"
#include "gpu/data/split.h"
#include "gpu/plan/selection_items.h"
#include "gpu/plan/views.h"
#include "gpu/runs/references.h"
#include "gpu/runs/run_kernels.h"
#include "gpu/runs/run_reader.h"
#include "gpu/training/aside_start.h"
#include "gpu/training/worker/course.h"
#include "gpu/training/worker/training_context.h"

namespace warpscope::training {
namespace {

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

void Preparation::run() {
  check(training_.settings());
  training_.phases.begin("device");
  if (const std::string file = training_.opening.initial_weights(); !file.empty()) {
    training_.publishing.edit_settings([&](TrainingSettings& s) { s.init_file = file; });
  }
  data::KnownData& known = training_.around.known_data;
  if (!training_.around.resume_dir.empty() && known.checksum.empty())
    known = runs::known_data(training_.around.resume_dir);
  training_.data_checksum = open();
  training_.phases.begin("network");
  make_engine();
  describe_training();
  plan_steps(training_);
  if (needs_length(training_.settings().schedule.kind))
    check_length(training_.settings().schedule, training_.view.total_epochs);
  training_.watching = std::make_unique<Watching>(*training_.engine, training_.publishing);
  training_.recorded = std::make_unique<RecordedLooks>(*training_.engine, training_.publishing,
                                                       training_.around.recorded_share);
  training_.keeper = std::make_unique<RunKeeper>(*training_.engine, training_.publishing, training_.around,
                                                 training_.data, training_.data_checksum);
  if (training_.views()) {
    training_.viewing.look_at(0);
  } else if (training_.around.resume_dir.empty()) {
    training_.keeper->begin();
  } else {
    training_.keeper->resume(training_.steering);
    plan_steps(training_);
    training_.steering.judge_before(training_.settings(), training_.view.seconds,
                                    to_string(steering_split(training_)));
    if (limit_reached(training_) && !training_.around.handed_over)
      training_.publishing.log(LogLevel::warning, told_as_ended(training_));
  }
  if (!training_.views()) training_.trainings.remember();
  if (training_.around.keeps_moments) training_.moments.make_room();
  training_.moments.begin();
  if (!training_.around.handed_over) tell_beginning();
  training_.kernels.begin();
  training_.publishing.offer(training_.engine->pictures().exchange());
  if (training_.around.aside) begin_aside(*training_.around.aside);
  training_.reporter.set_state(training_.around.start_paused ? TrainerState::paused : TrainerState::running);
}

/// On the way to a step of another training, whose past this one takes over.
void Preparation::begin_aside(const AsideStart& start) {
  training_.view.generation = start.generation;
  training_.variant_history = start.variants;
  training_.moments.kept().take_over(start.notes);
  training_.rewinder.rewind_from(start.moment, {.to = start.to});
}

void Preparation::tell_beginning() {
  const auto tell = [this](const std::string& text) { training_.publishing.log(LogLevel::info, text); };
  if (!training_.view.data_notice.empty()) tell(training_.view.data_notice);
  tell(data::tell_classes(*training_.data));
  tell(fmt::format("{} on {}, {} training {} of {}", training_.settings().model.name,
                   training_.device->info().name, charts::with_thousands(training_.view.train_images),
                   training_.settings().model.reads_text() ? "texts" : "images", training_.view.data_name));
  if (training_.around.resume_dir.empty()) {
    const NetworkState& network = training_.engine->network();
    if (!network.init_notice().empty()) tell(network.init_notice());
    if (!network.seeded_parameters().empty()) {
      tell(fmt::format(
          "the initial weights are those of {}; nothing in it fits these, which are drawn from the "
          "seed: {}",
          training_.settings().init_file, fmt::join(network.seeded_parameters(), ", ")));
    }
  }
  if (training_.settings().optimizer.per_sample) {
    training_.publishing.log(
        LogLevel::warning,
        "weights and optimizer state change after each image, not after each batch: a mistake, kept "
        "to watch it fail");
  }
}

void Preparation::make_engine() {
  EngineOptions options = engine_options();
  options.measured = training_.around.aside
                         ? training_.around.aside->measured
                         : training_.opening.measured_choices(options, *training_.data, training_.device);
  while (!training_.engine) {
    try {
      training_.engine = shared_engine(options);
    } catch (const ranks::RankMissing& missing) {
      training_.ranks.begin_without(missing);
    }
  }
  training_.ranks.note();
}

/// That of all ranks that there are.
std::unique_ptr<Engine> Preparation::shared_engine(EngineOptions options) {
  std::shared_ptr<calls::Line> line;
  if (training_.around.ranks)
    line = training_.ranks.lead_ranks(training_.around.ranks, training_.around.devices, options);
  auto engine = calls::settled(line.get(), [&] {
    return training_.opening.engine(std::move(options), training_.data, training_.device);
  });
  if (line) engine->join(line);
  return engine;
}

/// The device and the data, which are read meanwhile; reading ends early if what is chosen cannot run on the device.
/// Returns the checksum of all data, before any are held out.
std::string Preparation::open() {
  std::atomic<bool> refused = false;
  auto reading = std::async(std::launch::async,
                            [this, source = training_.settings().data, model = training_.settings().model,
                             &refused] { return training_.opening.read(source, model, refused); });
  try {
    open_device();
  } catch (...) {
    refused = true;
    reading.wait();
    throw;
  }
  training_.phases.begin("data");
  Opening::Reading found = reading.get();
  training_.data = std::move(found.data);
  training_.view.data_notice = std::move(found.notice);
  if (!found.same) {
    const std::string other = data::told_as_other(*training_.data);
    if (training_.views()) throw core::BadInput(other);
    if (!training_.around.resume_dir.empty()) throw core::BadInput(other + "; --data names where those are");
    training_.view.data_notice =
        training_.view.data_notice.empty() ? other : fmt::format("{}; {}", other, training_.view.data_notice);
  }
  if (training_.settings().validation > 0 && !training_.around.aside) {  // its data are split already
    training_.data = std::make_shared<data::DataSet>(data::split_validation(
        data::DataSet(*training_.data), training_.settings().validation, training_.settings().seed));
  }
  if (!batch_chosen_) {  // a default does not refuse a small set
    const std::int64_t most = training_.data->train.count / training_.settings().optimizer.accumulate;
    training_.publishing.edit_settings([most](TrainingSettings& s) {
      s.batch = static_cast<int>(std::clamp<std::int64_t>(most, 1, s.batch));
      if (s.deterministic) s.batch = std::max(kShards, s.batch / kShards * kShards);
    });
  }
  return std::move(found.checksum);
}

void Preparation::open_device() {
  training_.device = core::open_device(training_.settings().device);
  training_.device->make_current();
  training_.energy = std::make_unique<EnergyUse>(training_.device->info(), training_.around.shared);
  training_.view.device = training_.device->info();
  training_.view.variants = training_.around.variants;
  batch_chosen_ = training_.settings().batch > 0;
  if (training_.views()) training_.viewing.fit_to_device();
  training_.publishing.edit_settings([this](TrainingSettings& s) {
    complete(s, training_.device->info());
    s.device = training_.device->info().id();
    float& clip_norm = s.optimizer.clip_norm;
    if (!training_.around.clip_chosen && clip_norm == 0) clip_norm = standard_clip_norm(*s.precision);
  });
  training_.reporter.publish(true);
  training_.view.selection = first_selection();
}

/// What is selected, but for kernels that people wrote: those that are refused now, and those that a run which is gone
/// on with had then and has not now.
std::string Preparation::without_missing_kernels(const plan::Machine& machine) {
  std::string left;
  for (const plan::SelectionItem& item : plan::selection_items(training_.settings().select)) {
    const bool users = item.variant.starts_with(ops::kUsers);
    const auto op = std::ranges::find(ops::contracts(), std::string_view(item.op), &ops::OpContract::name);
    const bool known =
        op == ops::contracts().end() ||
        ops::find_variant(machine.variants, op->op, machine.device.kind, item.variant) != nullptr;
    if (users && !known && training_.kernels.was_refused(item.variant)) continue;
    if (!users || known || training_.around.resume_dir.empty()) {
      left += fmt::format("{}{}={}", left.empty() ? "" : ",", item.op, item.variant);
      continue;
    }
    const ops::Variant* const instead =
        plan::automatic_variant(op->op, machine, *training_.settings().precision);
    const std::string kept = runs::kept_kernel(runs::read_head(training_.around.resume_dir), item.variant);
    training_.publishing.log(
        LogLevel::warning,
        fmt::format("{} ran by {}, which --kernel does not name now{}; it goes on by {}", item.op,
                    item.variant, kept.empty() ? "" : fmt::format(" (the run keeps its file, {})", kept),
                    instead == nullptr ? plan::kAutomatic : instead->name));
  }
  return left;
}

/// What was asked for, as far as it can be judged without data.
plan::Selection Preparation::first_selection() {
  const plan::Machine machine = machine_of(training_.view);
  plan::check_precision(machine, *training_.settings().precision);
  plan::Selection selection{*training_.settings().precision, {}};
  plan::apply(selection, without_missing_kernels(machine), machine);
  return selection;
}

EngineOptions Preparation::engine_options() const {
  EngineOptions engine;
  static_cast<EngineSettings&>(engine) = training_.settings();
  engine.selection = training_.view.selection;
  engine.variants = training_.view.variants;
  const bool fast =
      training_.device->kind() == core::DeviceKind::cuda || !has_convolutions(training_.settings().model);
  const std::int64_t all = std::max(training_.data->test.count, training_.data->validation.count);
  engine.test_images = training_.settings().test_images > 0 ? training_.settings().test_images
                       : fast                               ? all
                                                            : std::min(all, kTestImagesCpu);
  engine.shown_images = training_.around.shown_images;
  engine.shared = training_.around.shared;
  if (training_.around.aside) engine.device_data = training_.around.aside->device_data;
  return engine;
}

void Preparation::describe_training() {
  training_.changes.note_selection(training_.engine->options().selection);
  training_.changes.note_choice();
  training_.view.data = view_of(training_.data);
  training_.view.data_name = training_.data->name;
  training_.view.train_images = training_.data->train.count;
  training_.view.validation_images = training_.data->validation.count;
  training_.view.test_images = training_.engine->evaluator().images(Split::validation);
  training_.publishing.edit_settings([this](TrainingSettings& s) {
    s.data = training_.data->source;
    s.spikes.guessing = loss_of_guessing(s.model);
  });
  training_.view.test_views = static_cast<int>(
      plan::views_of({training_.settings().test_mirrored, training_.settings().test_shift}).size());
  training_.reporter.note_sizes();
  const RankSupply& supply = training_.around.rank_supply;
  training_.view.most_ranks =
      supply.start ? static_cast<int>(supply.devices(training_.device->info()).size()) : 1;
  training_.view.why_ranks_stay = supply.start ? "" : supply.why_not;
}

}  // namespace warpscope::training
