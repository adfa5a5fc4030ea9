// The trainer's thread: its run folder, and the checkpoints from which a run goes on.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/data/notices.h"
#include "gpu/files/checksum.h"
#include "gpu/files/utf8.h"
#include "gpu/models/parameters.h"
#include "gpu/runs/references.h"
#include "gpu/training/worker.h"

namespace warpscope::training {
namespace {

/// Between checkpoints, however short epochs are.
constexpr auto kEpochInterval = std::chrono::milliseconds(500);

std::vector<OptimizerState> named_states(ops::UpdateRule rule, std::vector<std::vector<float>> states) {
  std::vector<OptimizerState> named;
  const std::vector<std::string> names = state_names(rule);
  for (std::size_t i = 0; i < states.size(); ++i) named.push_back({names[i], std::move(states[i])});
  return named;
}

ControlState control_state(const ops::step::StepControl& control) {
  return {control.loss_scale, control.good_steps, control.growth_interval, control.updates};
}

EngineState engine_state(Checkpoint checkpoint) {
  EngineState state;
  state.parameters = std::move(checkpoint.weights);
  state.rule = checkpoint.rule;
  for (OptimizerState& each : checkpoint.optimizer) state.states.push_back(std::move(each.values));
  state.control.loss_scale = checkpoint.control.loss_scale;
  state.control.good_steps = checkpoint.control.good_steps;
  state.control.growth_interval = checkpoint.control.growth_interval;
  state.control.updates = checkpoint.control.updates;
  state.steps = checkpoint.step;
  state.epochs_done = checkpoint.order.epoch;
  state.position = checkpoint.order.position;
  return state;
}

/// Cuts off what the network has no head for; what a head lacks is as it begins.
void fit_head(EngineState& state, const EngineState& fresh) {
  const std::size_t elements = fresh.parameters.size();
  const std::size_t known = std::min(elements, state.parameters.size());
  state.parameters.resize(elements);
  for (std::size_t i = known; i < elements; ++i) state.parameters[i] = fresh.parameters[i];
  for (std::vector<float>& each : state.states) each.resize(elements);
}

/// The run.json of a run that is gone on with.
nlohmann::json read_run_head(const std::filesystem::path& folder) {
  std::ifstream file(folder / "run.json");
  nlohmann::json head = nlohmann::json::parse(file, nullptr, false);
  if (head.is_object()) return head;
  throw core::BadInput(fmt::format("{} cannot be gone on with: its run.json is damaged", folder.string()));
}

}  // namespace

void Trainer::Worker::start_recorder() {
  if (settings().run_dir.empty()) return;
  nlohmann::json head = description();
  head["configuration"] = configuration();
  head[runs::kOutside] = references(settings().run_dir);
  recorder_ = std::make_unique<RunRecorder>(RunFolder::create(settings().run_dir), subscribe_recorder(),
                                            std::move(head));
  open_checkpoints();
}

void Trainer::Worker::open_checkpoints() {
  recorder_->status().watch([this] { return snapshot(); });
  // Nothing of the curve before a checkpoint is lost with the process that goes on from it.
  CheckpointStore store(settings().run_dir, settings().model, settings().keep_checkpoints);
  store.goes_on_with(view_.generation);
  checkpoints_ = std::make_unique<CheckpointWriter>(std::move(store), [this] { recorder_->write(); });
}

void Trainer::Worker::resume() {
  const std::filesystem::path folder = around_.resume_dir;
  RunFolder run = RunFolder::reopen(folder);
  NewestCheckpoint found = newest_valid(folder, settings().model);
  if (!found.checkpoint) {
    throw core::BadInput(fmt::format("{} has no checkpoint to go on from{}", folder.string(),
                                     found.skipped.empty() ? "" : ": " + found.skipped.front()));
  }
  Checkpoint& checkpoint = *found.checkpoint;
  view_.run_dir = around_.resume_dir;
  edit_settings([this](TrainingSettings& s) { s.run_dir = around_.resume_dir; });
  nlohmann::json head = read_run_head(folder);
  const std::uint64_t step = checkpoint.step;
  const std::uint64_t generation = checkpoint.generation;
  take_up(std::move(checkpoint));
  FigureTally tally;
  run.resume_at(step, generation, [&](const nlohmann::json& line) { tally.note(line); });
  const RunFigures before = tally.figures();
  if (!std::isnan(before.last_train_loss))
    view_.last[Metric::loss] = static_cast<float>(before.last_train_loss);
  if (!std::isnan(before.median_images_per_second)) view_.images_per_second = before.median_images_per_second;
  tally_ = tally;
  head["resumed"].push_back(step);
  head.erase("confusion");
  head["current"] = configuration();
  if (!head[runs::kOutside].is_object()) head[runs::kOutside] = nlohmann::json::object();
  head[runs::kOutside]["data_source"] = references(settings().run_dir)["data_source"];
  view_.generation = generation;
  recorder_ =
      std::make_unique<RunRecorder>(std::move(run), subscribe_recorder(), std::move(head), std::move(tally));
  open_checkpoints();
  for (const std::string& reason : found.skipped) log(LogLevel::warning, reason);
  mark(fmt::format("resumed at step {}", step));
  if (limit_reached()) {
    log(LogLevel::warning,
        fmt::format("the run is at its end already, with {} steps of {}: ask for more epochs "
                    "or steps to go on",
                    step, view_.steps_planned));
  }
}

/// Goes on where the checkpoint was taken.
void Trainer::Worker::take_up(Checkpoint checkpoint) {
  const OrderState& order = checkpoint.order;
  if (order.images != data_->train.count) {
    throw core::BadInput(fmt::format("the run was trained on {} images, {} has {}", order.images, data_->name,
                                     data_->train.count));
  }
  if (order.seed != settings().seed || order.shuffle != settings().shuffle) {
    throw core::BadInput(
        fmt::format("the run goes through its images with seed {}, {}: a resumed run cannot change that",
                    order.seed, order.shuffle ? "shuffled" : "in stored order"));
  }
  const nlohmann::json& training = checkpoint.training;
  view_.seconds = training.value("seconds", 0.0);
  view_.skipped_steps = training.value("skipped_steps", std::uint64_t{0});
  memory_.evaluation_step = training.value("evaluation_step", std::uint64_t{0});
  if (training.contains("plateau")) training["plateau"].get_to(memory_.plateau);
  if (training.contains("spikes")) training["spikes"].get_to(memory_.spikes);
  if (training.contains("stops")) training["stops"].get_to(memory_.stops);
  if (training.contains("best_loss") && training["best_loss"].is_number())
    memory_.best_loss = training["best_loss"];
  const bool same_views = training.value("test_mirrored", false) == settings().test_mirrored &&
                          training.value("test_shift", 0) == settings().test_shift;
  if (!same_views) forget_evaluations();
  view_.step = view_.checkpoint_step = checkpoint.step;
  view_.epoch = checkpoint.epochs;
  const bool other_rule = checkpoint.rule != settings().optimizer.rule;
  const bool other_scale =
      (checkpoint.control.growth_interval > 0) != (view_.selection.precision == core::Precision::fp16);
  if (checkpoint.head_classes > 0 && engine_->model().head_classes == 0) {
    log(LogLevel::info, "the head of the checkpoint is not used, since joint is 0");
  }
  EngineState state = engine_state(std::move(checkpoint));
  fit_head(state, engine_->state());
  if (other_rule || other_scale) {
    const EngineState fresh = engine_->state();
    if (other_rule) {
      state.rule = fresh.rule;
      state.states = fresh.states;
      state.control.updates = 0;
    }
    if (other_scale) {
      const std::uint32_t updates = state.control.updates;
      state.control = fresh.control;
      state.control.updates = updates;
    }
  }
  engine_->restore(state);
  memory_.epochs_seen = engine_->epochs_done();
  plan_steps();
}

/// What the trainer itself remembers, for the checkpoint.
nlohmann::json Trainer::Worker::training_state() const {
  return {{"seconds", view_.seconds},
          {"skipped_steps", view_.skipped_steps},
          {"evaluation_step", memory_.evaluation_step},
          {"test_mirrored", settings().test_mirrored},
          {"test_shift", settings().test_shift},
          {"plateau", memory_.plateau},
          {"spikes", memory_.spikes},
          {"stops", memory_.stops},
          {"best_loss", memory_.best_loss ? nlohmann::json(*memory_.best_loss) : nlohmann::json()}};
}

bool Trainer::Worker::checkpoint_due() const {
  return checkpoints_ && memory_.checkpoint_due && !memory_.diverged &&
         Clock::now() - last_checkpoint_ >= kEpochInterval;
}

void Trainer::Worker::write_checkpoint(bool is_best) {
  const core::InnerPhase phase(phases_, "checkpoints");
  drain();
  if (memory_.divergence_pending) return;  // these weights are not worth keeping
  publish(true);                           // the points up to here reach the recorder
  memory_.checkpoint_due = false;
  last_checkpoint_ = Clock::now();
  Checkpoint checkpoint = checkpoint_of(engine_->state(), engine_->epoch());
  memory_.written_step = checkpoint.step;
  checkpoints_->save(std::move(checkpoint), is_best);
  engine_->interrupt();
}

Checkpoint Trainer::Worker::checkpoint_of(EngineState state, double epochs) const {
  Checkpoint checkpoint;
  checkpoint.model = settings().model.name;
  checkpoint.step = state.steps;
  checkpoint.epochs = epochs;
  checkpoint.generation = view_.generation;
  checkpoint.weights = std::move(state.parameters);
  checkpoint.head_classes = engine_->model().head_classes;
  checkpoint.rule = state.rule;
  checkpoint.optimizer = named_states(state.rule, std::move(state.states));
  checkpoint.control = control_state(state.control);
  checkpoint.order = {data_->train.count,
                      settings().seed,
                      state.epochs_done,
                      state.position,
                      static_cast<std::uint32_t>(engine_->images_of_step()),
                      settings().shuffle};
  checkpoint.training = training_state();
  return checkpoint;
}

/// What has become of the checkpoints. The training goes on without, until its end.
void Trainer::Worker::note_checkpoints() {
  if (!checkpoints_) return;
  view_.checkpoint_step = checkpoints_->saved_step().value_or(view_.checkpoint_step);
  std::string error = checkpoints_->error();
  if (error == checkpoint_error_) return;
  checkpoint_error_ = std::move(error);
  if (checkpoint_error_.empty()) return;
  notice(checkpoint_error_);
  log(LogLevel::warning, checkpoint_error_);
}

void Trainer::Worker::save(const std::string& file) {
  models::save_parameters(file, engine_->model(), engine_->parameters());
  log(LogLevel::info, fmt::format("weights saved to {}", file));
}

void Trainer::Worker::save_settings() {
  Configuration c = recorded_settings();
  if (c.text("data_source") == "built in") c.set("data_source", "builtin");  // how data sets name it
  if (!around_.clip_chosen) c.erase("clip_norm");
  c.set("select", settings().select);
  const std::filesystem::path folder = settings().run_dir;
  const std::filesystem::path file =
      around_.settings_file.empty() ? folder / "training.toml" : std::filesystem::path(around_.settings_file);
  write_toml(c, device_->info(), file);
  log(LogLevel::info, fmt::format("settings saved to {}", file.string()));
}

/// The run's settings as they are now.
void Trainer::Worker::note_settings() {
  if (recorder_) recorder_->set("current", configuration());
}

/// The confusion matrix of the last evaluation, for run.json: a row for each class the images have.
void Trainer::Worker::note_confusion() {
  if (!recorder_ || !view_.evaluation || view_.evaluation->confusion.empty()) return;
  const Evaluation& evaluation = *view_.evaluation;
  nlohmann::json rows = nlohmann::json::array();
  const auto classes = static_cast<std::ptrdiff_t>(evaluation.classes);
  for (auto row = evaluation.confusion.begin(); row != evaluation.confusion.end(); row += classes) {
    rows.push_back(std::vector<std::uint32_t>(row, row + classes));
  }
  recorder_->set("confusion", {{"split", to_string(evaluation.split)}, {"truth_by_prediction", rows}});
}

/// What a run.json says beside its configuration.
nlohmann::json Trainer::Worker::description() const {
  const core::DeviceInfo& device = device_->info();
  return {{"device",
           {{"name", device.name},
            {"kind", core::to_string(device.kind)},
            {"compute_capability", device.compute_capability},
            {"multiprocessors", device.multiprocessors},
            {"memory_bytes", device.memory_bytes},
            {"driver", device.driver}}},
          {"versions", {{"warpscope", WARPSCOPE_VERSION}, {"compiler", __VERSION__}}},
          {"classes", data_->classes},
          {"class_sizes",
           {{"train", data::class_sizes(data_->train, data_->classes.size())},
            {"validation", data::class_sizes(data_->validation, data_->classes.size())},
            {"test", data::class_sizes(data_->test, data_->classes.size())}}},
          {"data_notice", files::valid_utf8(view_.data_notice)},
          {"classifies", view_.classifies}};
}

/// What the run.json in `run` says of files elsewhere.
nlohmann::json Trainer::Worker::references(const std::filesystem::path& run) const {
  data::DataOption option = data::split_option(data_->source);
  if (!option.folder.empty()) option.folder = runs::from_run(run, option.folder);
  nlohmann::json json;
  json["data_source"] = runs::to_json({option.folder.empty() ? "" : data::joined(option), data_checksum_});
  const std::string& file = settings().init_file;
  if (std::error_code error; !file.empty() && std::filesystem::is_regular_file(file, error)) {
    json["init"] = runs::to_json({runs::from_run(run, file), files::checksum_of_file(file)});
  }
  return json;
}

/// All settings as they are now, but for variants, reaction and files: those are no part of what was trained.
Configuration Trainer::Worker::recorded_settings() const {
  Configuration c = configuration_of(settings());
  for (const char* name : {"select", "on_divergence", "run_dir", "save"}) c.erase(name);
  return c;
}

/// The same as from_json() reads it, and what it turned out to mean.
nlohmann::json Trainer::Worker::configuration() const {
  nlohmann::json json = to_json(recorded_settings());
  json["data"] = data_->name;
  json["train_images"] = data_->train.count;
  json["validation_images"] = data_->validation.count;
  json["evaluated_images"] = view_.test_images;
  json["chosen"] = nlohmann::json::object();
  for (const auto& [op, variant] : view_.selection.variants) {
    json["chosen"][std::string(ops::to_string(op))] = variant;
  }
  return json;
}

}  // namespace warpscope::training
