// The trainer's thread: what is kept of a training that nobody records, when its window closes.

#include <algorithm>
#include <exception>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/runs/checkpoint_store.h"
#include "gpu/runs/references.h"
#include "gpu/runs/run_folder.h"
#include "gpu/runs/run_recorder.h"
#include "gpu/runs/unsaved.h"
#include "gpu/training/worker.h"

namespace warpscope::training {
namespace {

constexpr std::uint64_t kLeastSteps = 10;

}  // namespace

/// The window closes. What the training has is written, whatever its state.
void Trainer::Worker::handle_leave() {
  const bool writes = recorder_ != nullptr || !settings().save_file.empty();
  if (writes && view_.state != TrainerState::finished) {
    finish();
    if (view_.state != TrainerState::finished) finish();  // it has just diverged, and nobody looks any more
  }
  try {
    if (unsaved_) keep_unsaved();
  } catch (const std::exception& error) {
    return fail(fmt::format("the training could not be kept: {}", error.what()), false);
  }
  view_.may_close = true;
  publish(true);
}

/// For a training that diverged, or was reset a moment ago, what was before that is worth more.
void Trainer::Worker::keep_unsaved() {
  drain();
  const auto worth_it = [this](const Memory& memory, const Progress& progress) {
    return !memory.diverged && progress.step >= kLeastSteps && progress.seconds >= around_.unsaved_seconds;
  };
  if (!worth_it(memory_, view_)) {
    const auto better = std::find_if(left_.rbegin(), left_.rend(), [&](const LeftState& left) {
      return worth_it(left.memory, left.progress);
    });
    if (better == left_.rend()) return;
    return_to(better->number);
  }
  publish(true);
  const std::filesystem::path path = default_run_dir(around_.unsaved_dir);
  try {
    RunFolder folder = RunFolder::create(path);
    CheckpointStore(path, settings().model, 1).save(checkpoint_of(engine_->state(), engine_->epoch()), false);
    nlohmann::json head = description();
    head["configuration"] = configuration();
    head[runs::kOutside] = references(path);
    auto points = std::make_shared<Feed>();
    points->push(unsaved_->items());
    RunRecorder(std::move(folder), std::move(points), std::move(head)).finish("finished", "");
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
    throw;
  }
  view_.kept_in = path.string();
  runs::keep_newest_unsaved(around_.unsaved_dir, runs::kMostUnsaved);
}

}  // namespace warpscope::training
