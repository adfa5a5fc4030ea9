#include "gpu/training/viewed_run.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/runs/checkpoint_store.h"
#include "gpu/runs/head_snapshot.h"
#include "gpu/runs/references.h"
#include "gpu/settings/configuration.h"

namespace warpscope::training {
namespace {

constexpr auto kLookInterval = std::chrono::milliseconds(500);

/// "op=variant,..." of what was chosen, which a run's settings leave out.
std::string chosen_variants(const nlohmann::json& head) {
  const auto current = head.find("current");
  const nlohmann::json& configuration =
      current != head.end() ? *current : head.value("configuration", nlohmann::json::object());
  if (!configuration.is_object()) return "";
  const nlohmann::json chosen = configuration.value("chosen", nlohmann::json::object());
  std::string select;
  for (const auto& [op, variant] : chosen.items()) {
    if (!variant.is_string()) continue;
    select += fmt::format("{}{}={}", select.empty() ? "" : ",", op, variant.get<std::string>());
  }
  return select;
}

/// The settings of a run, of which nothing is written. Throws core::BadInput if this version does not know them.
TrainerOptions options_of(const std::filesystem::path& folder, const std::string& device,
                          const ImageExchange* shown) {
  TrainerOptions options;
  apply(resolve(read_run(folder / "run.json")), options);
  options.device = device;
  options.select = chosen_variants(runs::read_head(folder));
  options.init_file.clear();
  options.init_partly = false;
  options.save_file.clear();
  options.run_dir.clear();
  options.probe = false;
  options.known_data = runs::known_data(folder);
  options.known_data.written_down = false;  // nobody can name other data here
  options.viewed_run = folder.string();
  options.keeps_moments = false;
  options.start_paused = true;
  if (shown != nullptr) options.shown_images = shown->shape().count;
  return options;
}

/// What the run trains; nullptr if this version does not know it.
std::shared_ptr<const models::Model> network_of(const std::filesystem::path& folder) {
  try {
    return std::make_shared<const models::Model>(runs::model_in(runs::read_head(folder)));
  } catch (const core::BadInput&) {
    return nullptr;
  }
}

bool is_ready(const Snapshot& inside) {
  return inside.state == TrainerState::paused;
}

}  // namespace

ViewedRun::ViewedRun(const std::filesystem::path& folder, std::string device)
    : RunSource(folder),
      folder_(folder),
      device_(std::move(device)),
      network_at_first_(network_of(folder)),
      desks_(*this, folder) {
  look_at_folder();
  thread_ = std::jthread([this](const std::stop_token& stop) { follow(stop); });
}

ViewedRun::~ViewedRun() = default;  // the thread waits by its stop token

void ViewedRun::stop() {
  RunSource::stop();
  thread_.request_stop();
}

void ViewedRun::queue(Command command, std::uint64_t number) {
  if (!take(command)) return RunSource::queue(std::move(command), number);
  answer(number, true);
  wake_.notify_all();
}

/// False of what a run that is looked at does not do.
bool ViewedRun::take(const Command& command) {
  const std::lock_guard lock(mutex_);
  if (const auto* const observe = std::get_if<Observe>(&command)) {
    request_ = observe->request;
    asked_ = asked_ || !(request_ == ObservationRequest());
    if (trainer_) trainer_->send(command);
  } else if (const auto* const look = std::get_if<LookAt>(&command)) {
    chosen_ = look->step;
    if (chosen_ == 0 && !steps_.empty()) newest_ = steps_.back();
    if (!steps_.empty() || has_best_) problem_.clear();
    desks_.look_at(chosen_);
    if (trainer_) trainer_->send(command);
  } else if (std::holds_alternative<CheckDeterminism>(command)) {
    asked_ = true;
    if (trainer_) {
      trainer_->send(command);
    } else {
      waiting_.push_back(command);
    }
  } else {
    return false;
  }
  change();
  return true;
}

/// With the lock.
void ViewedRun::change() {
  ++changes_;
  news_ = true;
}

void ViewedRun::follow(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    look_at_folder();
    std::unique_lock lock(mutex_);
    try {
      if (trainer_) {
        follow_trainer(lock);
      } else if (asked_ && problem_.empty()) {
        revive(lock);
      }
    } catch (const std::exception& error) {
      if (!lock.owns_lock()) lock.lock();
      fail(core::sentence_of(error));
    }
    wake_.wait_for(lock, stop, kLookInterval, [this] { return news_; });
    news_ = false;
  }
}

/// Those that are of another network than the run has now.
std::vector<RefusedCheckpoint> ViewedRun::refused_of(const std::vector<CheckpointFile>& files) {
  const std::shared_ptr<const Snapshot> run = RunSource::snapshot();
  const std::shared_ptr<const models::Model> network = run->network ? run->network : network_at_first_;
  std::vector<RefusedCheckpoint> refused;
  if (!network) return refused;
  std::map<std::uint64_t, Known> before = std::exchange(known_, {});
  for (const CheckpointFile& file : files) {
    std::error_code error;
    const auto written = std::filesystem::last_write_time(file.path, error);
    if (error) continue;
    const auto found = before.find(file.step);
    const bool same = found != before.end() && found->second.written == written &&
                      (found->second.network == network || *found->second.network == *network);
    Known known{written, network, same ? found->second.why : why_other_network(file.path, *network)};
    if (!known.why.empty()) refused.push_back({file.step, known.why});
    known_.emplace(file.step, std::move(known));
  }
  std::ranges::reverse(refused);
  return refused;
}

/// Which checkpoints there are. Another one is a reason to try again what was not possible.
void ViewedRun::look_at_folder() {
  const std::vector<CheckpointFile> files = list_checkpoints(folder_);
  std::vector<std::uint64_t> steps;
  for (const CheckpointFile& file : files) steps.push_back(file.step);
  std::ranges::reverse(steps);
  std::vector<RefusedCheckpoint> refused = refused_of(files);
  std::error_code error;
  const bool best = std::filesystem::exists(checkpoint_folder(folder_) / "best.safetensors", error);
  const std::lock_guard lock(mutex_);
  if (refused_ != refused) ++changes_;
  refused_ = std::move(refused);
  if (looked_ && steps == steps_ && best == has_best_) return;
  looked_ = true;
  steps_ = std::move(steps);
  has_best_ = best;
  problem_ = steps_.empty() && !best && !trainer_ ? "the run has no checkpoint to look into" : "";
  ++changes_;
}

/// With the lock, but for what takes time.
void ViewedRun::revive(std::unique_lock<std::mutex>& lock) {
  newest_ = steps_.empty() ? 0 : steps_.back();
  network_ =
      RunSource::snapshot()->network;  // before run.json is read, so that one that changes meanwhile is seen
  lock.unlock();
  auto trainer = std::make_unique<Trainer>(options_of(folder_, device_, RunSource::images().get()));
  lock.lock();
  notices_ = 0;
  if (chosen_ > 0) trainer->send(LookAt{chosen_});
  trainer->send(Observe{request_});
  for (Command& command : std::exchange(waiting_, {})) trainer->send(std::move(command));
  trainer_ = std::move(trainer);
  ++changes_;
}

/// What it could not do is told; and it follows other networks, and newer checkpoints while somebody looks: the run may
/// be trained on the same device.
void ViewedRun::follow_trainer(std::unique_lock<std::mutex>& lock) {
  const std::shared_ptr<const Snapshot> inside = trainer_->snapshot();
  if (inside->state == TrainerState::failed) {
    fail(inside->notice);
    return let_go(lock);
  }
  if (inside->notice_id > notices_) {
    notices_ = inside->notice_id;
    answer(0, true, inside->notice);
  }
  if (!network_) network_ = RunSource::snapshot()->network;
  if (!of_run_now()) return let_go(lock);  // it is made anew the next time
  const std::uint64_t newest = steps_.empty() ? newest_ : steps_.back();
  const bool looked_at = !(request_ == ObservationRequest());
  if (newest == newest_ || chosen_ > 0 || !looked_at) return;
  newest_ = newest;
  trainer_->send(LookAt{0});
}

/// Ends the trainer, for which nobody waits but this thread.
void ViewedRun::let_go(std::unique_lock<std::mutex>& lock) {
  std::unique_ptr<Trainer> ended = std::exchange(trainer_, nullptr);
  change();
  lock.unlock();
  ended.reset();
  lock.lock();
}

/// With the lock.
void ViewedRun::fail(const std::string& why) {
  problem_ = why.empty() ? "the checkpoint cannot be looked into" : why;
  waiting_.clear();
  ++changes_;
}

/// Whether the run has the network that it had when the trainer was made.
bool ViewedRun::of_run_now() const {
  const std::shared_ptr<const models::Model> now = RunSource::snapshot()->network;
  return !now || !network_ || now == network_ || *now == *network_;
}

Revival ViewedRun::revival(const Snapshot* inside) const {
  Revival revival;
  revival.steps = steps_;
  revival.refused = refused_;
  revival.chosen = chosen_;
  revival.asked = asked_;
  revival.problem = problem_;
  revival.ready = inside != nullptr && is_ready(*inside);
  if (revival.ready) revival.step = inside->step;
  return revival;
}

std::shared_ptr<const Snapshot> ViewedRun::snapshot() const {
  std::shared_ptr<const Snapshot> run = RunSource::snapshot();
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Snapshot> inside = trainer_ ? trainer_->snapshot() : nullptr;
  if (made_ && run == of_run_ && inside == inside_ && changes_ == made_changes_) return made_;
  auto made = std::make_shared<Snapshot>(*run);
  made->revival = revival(inside.get());
  made->can.look_inside = problem_.empty();
  if (made->revival->ready) {
    made->data = inside->data;
    made->determinism = inside->determinism;
    // The folder's counts in the few images that it keeps, and these are others: none, until the checkpoint's is there.
    if (inside->classifies) made->evaluation = inside->evaluation;
  }
  of_run_ = std::move(run);
  inside_ = std::move(inside);
  made_changes_ = changes_;
  return made_ = std::move(made);
}

std::shared_ptr<ImageExchange> ViewedRun::images() const {
  {
    const std::lock_guard lock(mutex_);
    auto inside = trainer_ && is_ready(*trainer_->snapshot()) ? trainer_->images() : nullptr;
    if (inside) return inside;
  }
  return RunSource::images();
}

Observations ViewedRun::observations() const {
  const std::uint64_t network = RunSource::snapshot()->network_number;
  const std::lock_guard lock(mutex_);
  if (!trainer_ || !of_run_now()) return {};
  Observations seen = trainer_->observations();
  seen.network = network;
  return seen;
}

}  // namespace warpscope::training
