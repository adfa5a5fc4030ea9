#include "gpu/training/run_keeper.h"

#include <exception>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/data/notices.h"
#include "gpu/files/checksum.h"
#include "gpu/files/utf8.h"
#include "gpu/models/parameters.h"
#include "gpu/profiling/measured_store.h"
#include "gpu/runs/references.h"
#include "gpu/runs/run_kernels.h"
#include "gpu/runs/unsaved.h"
#include "gpu/runs/user_runs.h"

namespace warpscope::training {
namespace {

using std::chrono::milliseconds;

/// Between checkpoints, however short epochs are.
constexpr auto kEpochInterval = milliseconds(500);
constexpr auto kBestInterval = milliseconds(1000);

}  // namespace

RunKeeper::RunKeeper(Engine& engine, Publishing& publishing, const Surroundings& around,
                     std::shared_ptr<const data::DataSet> data, std::string checksum)
    : engine_(engine),
      publishing_(publishing),
      around_(around),
      data_(std::move(data)),
      data_checksum_(std::move(checksum)) {}

RunKeeper::~RunKeeper() {
  let_go();
}

void RunKeeper::begin() {
  const std::string& folder = settings().run_dir;
  const bool somebody_asks = !around_.unsaved_dir.empty() || around_.goes_on_elsewhere;
  if (goes_on_without() || (folder.empty() && somebody_asks)) {
    keep_points({{"started", utc_now()}, {"configuration", configuration()}});
  }
  if (folder.empty()) {
    if (around_.record_dir.empty() || !settings().record) return;
    try {
      record_by_itself(publishing_.subscribe_recorder(), nlohmann::json::object());
    } catch (const core::Error& error) {
      give_up(error.what());
    }
    return;
  }
  // What a run keeps in its folder would be taken for data.
  std::error_code none;  // of data without a folder
  if (std::filesystem::equivalent(data::split_option(data_->source).folder, folder, none))
    throw core::BadInput(fmt::format("the run folder {} is that of the data; choose another", folder));
  nlohmann::json described = head(folder);
  recorder_ = std::make_unique<RunRecorder>(RunFolder::create(folder), publishing_.subscribe_recorder(),
                                            std::move(described));
  open_checkpoints();
  record_views();
}

void RunKeeper::open_checkpoints() {
  note_ranks();
  if (!around_.kernels.empty())
    recorder_->set(runs::kKernels, runs::keep_kernels(settings().run_dir, around_.kernels));
  recorder_->status().watch([this] { return publishing_.snapshot(); });
  // Nothing of the curve before a checkpoint is lost with the process that goes on from it.
  CheckpointStore store(settings().run_dir, settings().model, settings().keep_checkpoints);
  store.goes_on_with(publishing_.view.generation);
  checkpoints_ = std::make_unique<CheckpointWriter>(std::move(store), [this] {
    recorder_->write();
    tell_wanted_views();
  });
}

void RunKeeper::watch() {
  if (records_by_itself() && Clock::now() >= next_look_at_disk_) {
    next_look_at_disk_ = Clock::now() + std::chrono::seconds(1);
    if (const std::string why = runs::too_full(own_folder_); !why.empty()) return give_up(why);
  }
  if (recorder_) {
    if (const std::string error = recorder_->error(); !error.empty()) {
      if (goes_on_without()) return give_up(error);
      throw core::Error(error);
    }
    if (const std::string warning = recorder_->status().take_warning(); !warning.empty()) {
      publishing_.log(LogLevel::warning, warning + "; other processes do not see how the run goes on");
    }
    if (const std::string why = recorder_->views().take_warning(); !why.empty()) {
      publishing_.tell(fmt::format("{}; what views show at earlier steps is not recorded any more", why),
                       LogLevel::info);
    }
  }
  note_checkpoints();
}

void RunKeeper::note_epoch(std::uint64_t epochs_done) {
  const auto every = static_cast<std::uint64_t>(settings().checkpoint_epochs);
  epoch_due_ = epoch_due_ || (every > 0 && epochs_done % every == 0);
}

bool RunKeeper::checkpoint_due() const {
  return checkpoints_ && epoch_due_ && Clock::now() - last_checkpoint_ >= kEpochInterval;
}

bool RunKeeper::may_write_best() const {
  return checkpoints_ && Clock::now() - last_checkpoint_ >= kBestInterval;
}

void RunKeeper::write_checkpoint(const Steering& steering, bool is_best) {
  epoch_due_ = false;
  last_checkpoint_ = Clock::now();
  Checkpoint checkpoint = checkpoint_now(steering);
  written_step_ = checkpoint.step;
  checkpoints_->save(std::move(checkpoint), is_best);
  engine_.interrupt();
}

void RunKeeper::begin_training() {
  written_step_ = kNoStep;
  epoch_due_ = false;
}

void RunKeeper::go_on() {
  if (recorder_) recorder_->set("status", "running");
}

void RunKeeper::follow(const models::Model& network) {
  if (checkpoints_) checkpoints_->follow(network);
}

void RunKeeper::flush() {
  checkpoints_->flush();  // the next one must not take its place in the queue
  note_checkpoints();
}

/// What has become of the checkpoints. The training goes on without, until its end.
void RunKeeper::note_checkpoints() {
  if (!checkpoints_) return;
  std::uint64_t& newest = publishing_.view.checkpoint_step;
  newest = checkpoints_->saved_step().value_or(newest);
  std::string error = checkpoints_->error();
  if (error == told_error_) return;
  told_error_ = std::move(error);
  if (!told_error_.empty()) publishing_.tell(told_error_);
}

void RunKeeper::save_weights(const std::string& file, const std::vector<float>& parameters) {
  models::save_parameters(file, engine_.model(), parameters);
  publishing_.log(LogLevel::info, fmt::format("weights saved to {}", file));
}

void RunKeeper::save_settings() const {
  Configuration c = recorded_settings();
  if (c.text("data_source") == "built in") c.set("data_source", "builtin");  // how data sets name it
  if (!around_.clip_chosen) c.erase("clip_norm");
  c.set("select", settings().select);
  // A person looks for a file of settings where the program was started rather than among its own.
  const std::filesystem::path folder = records_by_itself() ? "" : settings().run_dir;
  const std::filesystem::path file =
      around_.settings_file.empty() ? folder / "training.toml" : std::filesystem::path(around_.settings_file);
  write_toml(c, publishing_.view.device, file);
  publishing_.log(LogLevel::info, fmt::format("settings saved to {}", file.string()));
}

void RunKeeper::note_settings() {
  if (recorder_) recorder_->set("current", configuration());
}

void RunKeeper::note_ranks() {
  if (recorder_) recorder_->set(runs::kRanks, ranks());
}

int RunKeeper::ranks() const {
  return around_.ranks ? around_.ranks->place().size : 1;
}

void RunKeeper::note_kernels() {
  if (!recorder_ || around_.kernels.empty()) return;
  try {
    recorder_->set(runs::kKernels, runs::keep_kernels(settings().run_dir, around_.kernels));
  } catch (const core::Error& error) {
    publishing_.tell(fmt::format("the run does not keep the kernels that it ran: {}", error.what()));
  }
}

void RunKeeper::note_confusion() {
  const auto& evaluation = publishing_.view.evaluation;
  if (!recorder_ || !evaluation || evaluation->confusion.empty()) return;
  nlohmann::json rows = nlohmann::json::array();
  const auto classes = static_cast<std::ptrdiff_t>(evaluation->classes);
  for (auto row = evaluation->confusion.begin(); row != evaluation->confusion.end(); row += classes) {
    rows.push_back(std::vector<std::uint32_t>(row, row + classes));
  }
  recorder_->set("confusion", {{"split", to_string(evaluation->split)}, {"truth_by_prediction", rows}});
}

void RunKeeper::finish() {
  if (!recorder_) return;
  try {
    recorder_->finish("finished", "");
  } catch (const core::Error& error) {
    if (!goes_on_without()) throw;
    give_up(error.what());
  }
}

void RunKeeper::require_written() const {
  if (!told_error_.empty() && !goes_on_without()) throw core::Error(told_error_);
}

void RunKeeper::fail(const std::string& why) noexcept {
  if (!recorder_) return;
  try {
    recorder_->finish("failed", why);
  } catch (const std::exception&) {
    // The reason of the failure is told already; the last complete files are still there.
  }
}

void RunKeeper::keep_unsaved(Checkpoint checkpoint) {
  const std::filesystem::path path = default_run_dir(around_.unsaved_dir);
  write_whole(path, std::move(checkpoint));
  publishing_.view.kept_in = path.string();
  drop_handed_over();
  runs::keep_newest_unsaved(around_.unsaved_dir, runs::kMostUnsaved, path);
}

/// A training that nobody records as a run in a folder of its own, with the points of the present generation. Throws
/// core::Error; there is no folder then.
void RunKeeper::write_whole(const std::filesystem::path& path, Checkpoint checkpoint) {
  try {
    RunFolder folder = RunFolder::create(path);
    checkpoint.generation = 0;  // the points are those of one generation only
    CheckpointStore(path, settings().model, 1).save(checkpoint, false);
    auto points = std::make_shared<Feed>();
    points->push(publishing_.kept_points()->items());
    nlohmann::json described = head(path);
    described["current"] = described["configuration"];
    if (!around_.kernels.empty()) described[runs::kKernels] = runs::keep_kernels(path, around_.kernels);
    described.update(begun_);
    RunRecorder(std::move(folder), std::move(points), std::move(described)).finish("finished", "");
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
    throw;
  }
}

RunKeeper::Handed RunKeeper::hand_over(Checkpoint checkpoint, const std::function<void()>& written) {
  if (!recorder_) {
    if (publishing_.kept_points() == nullptr) throw core::Error("nothing is kept of its curve");
    std::filesystem::path path = around_.unsaved_dir;
    path = default_run_dir(path.empty() ? runs::unsaved_folder() : path);
    write_whole(path, std::move(checkpoint));
    drop_handed_over();
    written();
    return {path.string(), false, false};
  }
  checkpoints_->save(std::move(checkpoint), false);
  checkpoints_->flush();
  if (const std::string error = checkpoints_->error(); !error.empty()) throw core::Error(error);
  if (const std::string error = recorder_->error(); !error.empty()) throw core::Error(error);
  written();
  Handed handed{settings().run_dir, true, records_by_itself()};
  own_folder_.clear();
  checkpoints_.reset();
  recorder_.reset();  // which lets the folder go
  return handed;
}

std::string RunKeeper::handed_over_in() const {
  return handed_over_ && !recorder_ ? handed_over_->path().string() : "";
}

void RunKeeper::drop_handed_over() {
  if (!handed_over_) return;
  std::error_code ignored;
  std::filesystem::remove_all(std::exchange(handed_over_, std::nullopt)->path(), ignored);
}

/// The run.json of a run that begins in `run`.
nlohmann::json RunKeeper::head(const std::filesystem::path& run) const {
  const core::DeviceInfo& device = publishing_.view.device;
  return {{"device",
           {{"name", device.name},
            {"kind", core::to_string(device.kind)},
            {"compute_capability", device.compute_capability},
            {"multiprocessors", device.multiprocessors},
            {"memory_bytes", device.memory_bytes},
            {"driver", device.driver}}},
          {runs::kRanks, ranks()},
          {"versions", {{"warpscope", WARPSCOPE_VERSION}, {"compiler", __VERSION__}}},
          {"classes", files::legible_utf8(data_->classes)},
          {"class_sizes",
           {{"train", data::class_sizes(data_->train, data_->classes.size())},
            {"validation", data::class_sizes(data_->validation, data_->classes.size())},
            {"test", data::class_sizes(data_->test, data_->classes.size())}}},
          {"data_notice", files::valid_utf8(publishing_.view.data_notice)},
          {"classifies", publishing_.view.classifies},
          {"configuration", configuration()},
          {runs::kMeasured, profiling::to_json(engine_.options().measured)},
          {runs::kOutside, references(run)}};
}

/// What the run.json in `run` says of files elsewhere.
nlohmann::json RunKeeper::references(const std::filesystem::path& run) const {
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
Configuration RunKeeper::recorded_settings() const {
  Configuration c = configuration_of(settings());
  for (const char* name : {"select", "on_divergence", "run_dir", "record", "save"}) c.erase(name);
  return c;
}

/// The same as from_json() reads it, and what it turned out to mean.
nlohmann::json RunKeeper::configuration() const {
  const Snapshot& view = publishing_.view;
  nlohmann::json json = to_json(recorded_settings());
  json["data"] = data_->name;
  json["train_images"] = data_->train.count;
  json["validation_images"] = data_->validation.count;
  json["evaluated_images"] = view.test_images;
  json["chosen"] = nlohmann::json::object();
  for (const auto& [op, variant] : view.selection.variants) {
    json["chosen"][std::string(ops::to_string(op))] = variant;
  }
  return json;
}

}  // namespace warpscope::training
