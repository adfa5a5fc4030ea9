#include "gpu/runs/run_views.h"

#include <exception>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/runs/user_runs.h"

namespace warpscope::training {

void RunViews::begin(std::unique_ptr<runs::ViewFile> file) {
  const std::lock_guard writing(writing_);
  file_ = std::move(file);
  const std::lock_guard lock(mutex_);
  waiting_.clear();
  writes_ = file_ != nullptr;
}

void RunViews::take(const KeptView& view) {
  const std::lock_guard lock(mutex_);
  if (writes_) waiting_.emplace_back(view);
}

void RunViews::take(const Return& back) {
  const std::lock_guard lock(mutex_);
  if (writes_) waiting_.emplace_back(back);
}

void RunViews::write() {
  const std::lock_guard writing(writing_);
  std::vector<std::variant<KeptView, Return>> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting.swap(waiting_);
  }
  if (!file_ || waiting.empty()) return;
  try {
    if (const std::string why = runs::too_full(file_->path().parent_path()); !why.empty())
      throw core::Error(fmt::format("cannot write {}: {}", file_->path().string(), why));
    for (const auto& one : waiting) std::visit([this](const auto& what) { file_->add(what); }, one);
  } catch (const std::exception& error) {
    file_.reset();
    const std::lock_guard lock(mutex_);
    writes_ = false;
    waiting_.clear();
    warning_ = core::sentence_of(error);
  }
}

std::string RunViews::take_warning() {
  const std::lock_guard lock(mutex_);
  return std::exchange(warning_, {});
}

}  // namespace warpscope::training
