// A run that goes on from its newest checkpoint, and what a checkpoint is made of.

#include <algorithm>
#include <cmath>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/profiling/measured_store.h"
#include "gpu/runs/references.h"
#include "gpu/runs/run_figures.h"
#include "gpu/runs/run_reader.h"
#include "gpu/training/engine_checkpoint.h"
#include "gpu/training/hand_over.h"
#include "gpu/training/run_keeper.h"

namespace warpscope::training {
namespace {

constexpr std::size_t kToldAtOnce = 2000;  ///< items of the feed

/// Cuts off what the network has no head for; what a head lacks is as it begins. Another rule begins with fresh state.
void fit(EngineState& state, const EngineState& fresh) {
  const std::size_t elements = fresh.parameters.size();
  const std::size_t known = std::min(elements, state.parameters.size());
  state.parameters.resize(elements);
  for (std::size_t i = known; i < elements; ++i) state.parameters[i] = fresh.parameters[i];
  for (std::vector<float>& each : state.states) each.resize(elements);
  if (state.rule != fresh.rule) {
    state.rule = fresh.rule;
    state.states = fresh.states;
    state.control.updates = 0;
  }
  fit_loss_scale(state, fresh);
}

}  // namespace

void RunKeeper::resume(Steering& steering) {
  const std::filesystem::path folder = around_.resume_dir;
  RunFolder run = around_.resumed ? std::move(*around_.resumed) : RunFolder::reopen(folder);
  NewestCheckpoint found = to_go_on_from(folder, settings().model);
  Snapshot& view = publishing_.view;
  set_folder(around_.resume_dir);
  nlohmann::json head = runs::read_head(folder);
  if (head.empty())
    throw core::BadInput(fmt::format("{} cannot be gone on with: its run.json is damaged", folder.string()));
  if (!head["resumed"].is_null() && !head["resumed"].is_array()) {
    throw core::BadInput(
        fmt::format("{} cannot be gone on with: \"resumed\" of its run.json is no list", folder.string()));
  }
  if (goes_on_without() || is_unrecorded()) {
    keep_points({{"started", head.value("started", nlohmann::json(utc_now()))},
                 {"configuration", head.value("configuration", configuration())}});
  }
  const std::uint64_t step = found.checkpoint->step;
  view.generation = found.checkpoint->generation;
  take_up(std::move(*found.checkpoint), steering);
  tell_before(run, step);
  const RunFigures before = publishing_.tally().figures();
  if (!std::isnan(before.last_train_loss))
    view.last[Metric::loss] = static_cast<float>(before.last_train_loss);
  if (!std::isnan(before.median_images_per_second)) view.images_per_second = before.median_images_per_second;
  if (is_unrecorded()) return hold_folder(std::move(run));
  if (!around_.handed_over) tell_views();
  record_on(std::move(run), std::move(head), step);
  if (around_.handed_over) {
    if (around_.handed_over->recorded_own) own_folder_ = folder;
    return;
  }
  for (const std::string& reason : found.skipped) publishing_.log(LogLevel::warning, reason);
  if (before.steps < step) {
    publishing_.log(LogLevel::warning,
                    fmt::format("{} tells {} of the {} before: the figures of the run lack the others",
                                (folder / "metrics.jsonl").string(), files::grouped(before.steps),
                                files::counted(static_cast<std::int64_t>(step), "step")));
  }
  const std::string resumed = fmt::format("resumed at step {}", files::grouped(step));
  publishing_.mark(step, resumed, resumed);
}

/// It was handed over by a process that wrote no run.
bool RunKeeper::is_unrecorded() const {
  return around_.handed_over && !around_.handed_over->recorded;
}

/// Nothing is written here either, but a person finds what was handed over should this process end before its time.
void RunKeeper::hold_folder(RunFolder run) {
  handed_over_ = std::move(run);
  set_folder("");
  publishing_.view.checkpoint_step = 0;
  publishing_.view.generation = around_.handed_over->counted.generation;
}

/// The run's files go on behind `step`.
void RunKeeper::record_on(RunFolder run, nlohmann::json head, std::uint64_t step) {
  head["resumed"].push_back(step);
  head.erase("confusion");
  head["current"] = configuration();
  head[runs::kMeasured] = profiling::to_json(engine_.options().measured);
  if (!head[runs::kOutside].is_object()) head[runs::kOutside] = nlohmann::json::object();
  head[runs::kOutside]["data_source"] = references(settings().run_dir)["data_source"];
  std::shared_ptr<Feed> feed = publishing_.subscribe_recorder();
  feed->take();  // what was told so far is in the file
  recorder_ =
      std::make_unique<RunRecorder>(std::move(run), std::move(feed), std::move(head), publishing_.tally());
  open_checkpoints();
  go_on_with_views();
}

/// Cuts the run back to the step, and tells the curve before it, bit by bit: nobody waits for a long one. Where another
/// process has told it, it is only noted.
void RunKeeper::tell_before(RunFolder& run, std::uint64_t step) {
  std::uint64_t generation = 0;
  std::size_t told = 0;
  if (is_unrecorded()) publishing_.note(Restart{around_.handed_over->counted.generation});
  run.resume_at(step, publishing_.view.generation, [&](const nlohmann::json& line) {
    std::optional<FeedItem> item = item_of(line);
    if (!item) return;
    if (auto* const restart = std::get_if<Restart>(&*item)) restart->generation = ++generation;
    if (around_.handed_over) return publishing_.note(*item);
    publishing_.emit(std::move(*item));
    if (++told % kToldAtOnce == 0) publishing_.send();
  });
  publishing_.send();
}

void RunKeeper::look_at(std::uint64_t step, Steering& steering) {
  Checkpoint checkpoint = to_look_at(around_.viewed_run, step, settings().model);
  publishing_.view.generation = checkpoint.generation;
  take_up(std::move(checkpoint), steering);
}

/// Goes on where the checkpoint was taken.
void RunKeeper::take_up(Checkpoint checkpoint, Steering& steering) {
  const OrderState& order = checkpoint.order;
  check_order(order, *data_, settings());
  const nlohmann::json& training = checkpoint.training;
  Snapshot& view = publishing_.view;
  view.seconds = training.value("seconds", 0.0);
  view.skipped_steps = training.value("skipped_steps", std::uint64_t{0});
  view.step = view.checkpoint_step = checkpoint.step;
  view.epoch = checkpoint.epochs;
  steering.read(training, order.epoch);
  const bool same_views = training.value("test_mirrored", false) == settings().test_mirrored &&
                          training.value("test_shift", 0) == settings().test_shift;
  if (!same_views) steering.forget_evaluations();
  if (checkpoint.head_classes > 0 && engine_.model().head_classes == 0) {
    publishing_.log(LogLevel::info, "the head of the checkpoint is not used, since joint is 0");
  }
  EngineState state = engine_state(std::move(checkpoint));
  fit(state, engine_.state());
  engine_.restore(state);
}

Checkpoint RunKeeper::checkpoint_now(const Steering& steering) {
  Checkpoint checkpoint = checkpoint_without_state(settings(), steering, publishing_.view);
  checkpoint.epochs = engine_.epoch();
  checkpoint.generation = publishing_.view.generation;
  checkpoint.head_classes = engine_.model().head_classes;
  checkpoint.order.images = data_->train.count;
  take_state(checkpoint, engine_.state());
  return checkpoint;
}

}  // namespace warpscope::training
