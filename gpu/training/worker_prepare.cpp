// The trainer's thread: from the options to the first step.

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
#include "gpu/files/file.h"
#include "gpu/plan/selection_items.h"
#include "gpu/plan/views.h"
#include "gpu/runs/references.h"
#include "gpu/runs/run_kernels.h"
#include "gpu/runs/run_reader.h"
#include "gpu/training/worker.h"

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

void Trainer::Worker::prepare() {
  check(settings());
  phases_.begin("device");
  if (const std::string file = opening_.initial_weights(); !file.empty()) {
    publishing_.edit_settings([&](TrainingSettings& s) { s.init_file = file; });
  }
  data::KnownData& known = around_.known_data;
  if (!around_.resume_dir.empty() && known.checksum.empty()) known = runs::known_data(around_.resume_dir);
  data_checksum_ = open();
  phases_.begin("network");
  make_engine();
  describe_training();
  plan_steps();
  if (needs_length(settings().schedule.kind)) check_length(settings().schedule, view_.total_epochs);
  watching_ = std::make_unique<Watching>(*engine_, publishing_);
  recorded_ = std::make_unique<RecordedLooks>(*engine_, publishing_, around_.recorded_share);
  keeper_ = std::make_unique<RunKeeper>(*engine_, publishing_, around_, data_, data_checksum_);
  if (views()) {
    look_at(0);
  } else if (around_.resume_dir.empty()) {
    keeper_->begin();
  } else {
    keeper_->resume(steering_);
    plan_steps();
    steering_.judge_before(settings(), view_.seconds, to_string(steering_split()));
    if (limit_reached()) publishing_.log(LogLevel::warning, told_as_ended());
  }
  if (!views()) remember();
  if (around_.keeps_moments) make_room_for_moments();
  begin_moments();
  tell_beginning();
  begin_kernels();
  publishing_.offer(engine_->pictures().exchange());
  set_state(around_.start_paused ? TrainerState::paused : TrainerState::running);
}

/// For a run that is gone on with.
std::string Trainer::Worker::told_as_ended() const {
  if (!steering_.stop_reason().empty()) {
    return fmt::format("the run is at its end already, since {}: change that limit to go on",
                       steering_.stop_reason());
  }
  const bool by_steps = settings().steps > 0 && settings().steps == view_.steps_planned;
  return fmt::format("the run is at its end already, with {} steps of {}: ask for more {} to go on",
                     files::grouped(view_.step), files::grouped(view_.steps_planned),
                     by_steps ? "steps" : "epochs");
}

void Trainer::Worker::tell_beginning() {
  const auto tell = [this](const std::string& text) { publishing_.log(LogLevel::info, text); };
  if (!view_.data_notice.empty()) tell(view_.data_notice);
  tell(data::tell_classes(*data_));
  tell(fmt::format("{} on {}, {} training {} of {}", settings().model.name, device_->info().name,
                   charts::with_thousands(view_.train_images),
                   settings().model.reads_text() ? "texts" : "images", view_.data_name));
  if (around_.resume_dir.empty()) {
    const NetworkState& network = engine_->network();
    if (!network.init_notice().empty()) tell(network.init_notice());
    if (!network.seeded_parameters().empty()) {
      tell(fmt::format(
          "the initial weights are those of {}; nothing in it fits these, which are drawn from the "
          "seed: {}",
          settings().init_file, fmt::join(network.seeded_parameters(), ", ")));
    }
  }
  if (settings().optimizer.per_sample) {
    publishing_.log(
        LogLevel::warning,
        "weights and optimizer state change after each image, not after each batch: a mistake, kept "
        "to watch it fail");
  }
}

void Trainer::Worker::make_engine() {
  EngineOptions options = engine_options();
  options.measured = opening_.measured_choices(options, *data_, device_);
  while (!engine_) {
    try {
      engine_ = shared_engine(options);
    } catch (const ranks::RankMissing& missing) {
      begin_without(missing);
    }
  }
  note_ranks();
}

/// That of all ranks that there are.
std::unique_ptr<Engine> Trainer::Worker::shared_engine(EngineOptions options) {
  std::shared_ptr<calls::Line> line;
  if (around_.ranks) line = lead_ranks(around_.ranks, around_.devices, options);
  auto engine =
      calls::settled(line.get(), [&] { return opening_.engine(std::move(options), data_, device_); });
  if (line) engine->join(line);
  return engine;
}

/// The device and the data, which are read meanwhile; reading ends early if what is chosen cannot run on the device.
/// Returns the checksum of all data, before any are held out.
std::string Trainer::Worker::open() {
  std::atomic<bool> refused = false;
  auto reading = std::async(std::launch::async, [this, source = settings().data, model = settings().model,
                                                 &refused] { return opening_.read(source, model, refused); });
  try {
    open_device();
  } catch (...) {
    refused = true;
    reading.wait();
    throw;
  }
  phases_.begin("data");
  Opening::Reading found = reading.get();
  data_ = std::move(found.data);
  view_.data_notice = std::move(found.notice);
  if (!found.same) {
    const std::string other = data::told_as_other(*data_);
    if (views()) throw core::BadInput(other);
    if (!around_.resume_dir.empty()) throw core::BadInput(other + "; --data names where those are");
    view_.data_notice = view_.data_notice.empty() ? other : fmt::format("{}; {}", other, view_.data_notice);
  }
  if (settings().validation > 0) {
    data_ = std::make_shared<data::DataSet>(
        data::split_validation(data::DataSet(*data_), settings().validation, settings().seed));
  }
  if (!batch_chosen_) {  // a default does not refuse a small set
    const std::int64_t most = data_->train.count / settings().optimizer.accumulate;
    publishing_.edit_settings([most](TrainingSettings& s) {
      s.batch = static_cast<int>(std::clamp<std::int64_t>(most, 1, s.batch));
      if (s.deterministic) s.batch = std::max(kShards, s.batch / kShards * kShards);
    });
  }
  return std::move(found.checksum);
}

void Trainer::Worker::open_device() {
  device_ = core::open_device(settings().device);
  device_->make_current();
  energy_ = std::make_unique<EnergyUse>(device_->info(), around_.shared);
  view_.device = device_->info();
  view_.variants = around_.variants;
  batch_chosen_ = settings().batch > 0;
  if (views()) fit_to_device();
  publishing_.edit_settings([this](TrainingSettings& s) {
    complete(s, device_->info());
    s.device = device_->info().id();
    float& clip_norm = s.optimizer.clip_norm;
    if (!around_.clip_chosen && clip_norm == 0) clip_norm = standard_clip_norm(*s.precision);
  });
  publish(true);
  view_.selection = first_selection();
}

/// What is selected, but for kernels that people wrote: those that are refused now, and those that a run which is gone
/// on with had then and has not now.
std::string Trainer::Worker::without_missing_kernels(const plan::Machine& machine) {
  std::string left;
  for (const plan::SelectionItem& item : plan::selection_items(settings().select)) {
    const bool users = item.variant.starts_with(ops::kUsers);
    const auto op = std::ranges::find(ops::contracts(), std::string_view(item.op), &ops::OpContract::name);
    const bool known =
        op == ops::contracts().end() ||
        ops::find_variant(machine.variants, op->op, machine.device.kind, item.variant) != nullptr;
    if (users && !known && was_refused(item.variant)) continue;
    if (!users || known || around_.resume_dir.empty()) {
      left += fmt::format("{}{}={}", left.empty() ? "" : ",", item.op, item.variant);
      continue;
    }
    const ops::Variant* const instead = plan::automatic_variant(op->op, machine, *settings().precision);
    const std::string kept = runs::kept_kernel(runs::read_head(around_.resume_dir), item.variant);
    publishing_.log(
        LogLevel::warning,
        fmt::format("{} ran by {}, which --kernel does not name now{}; it goes on by {}", item.op,
                    item.variant, kept.empty() ? "" : fmt::format(" (the run keeps its file, {})", kept),
                    instead == nullptr ? plan::kAutomatic : instead->name));
  }
  return left;
}

/// What was asked for, as far as it can be judged without data.
plan::Selection Trainer::Worker::first_selection() {
  const plan::Machine machine = machine_of(view_);
  plan::check_precision(machine, *settings().precision);
  plan::Selection selection{*settings().precision, {}};
  plan::apply(selection, without_missing_kernels(machine), machine);
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
  publishing_.edit_settings([this](TrainingSettings& s) {
    s.data = data_->source;
    s.spikes.guessing = loss_of_guessing(s.model);
  });
  view_.test_views =
      static_cast<int>(plan::views_of({settings().test_mirrored, settings().test_shift}).size());
  note_sizes();
  const RankSupply& supply = around_.rank_supply;
  view_.most_ranks = supply.start ? static_cast<int>(supply.devices(device_->info()).size()) : 1;
}

void Trainer::Worker::note_sizes() {
  tell_calls();
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

}  // namespace warpscope::training
