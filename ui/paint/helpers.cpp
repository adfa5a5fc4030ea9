#include "ui/paint/helpers.h"

#include <system_error>

namespace warpscope::ui::paint {

Helpers::Helpers(unsigned threads) {
  try {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { help(); });
  } catch (const std::system_error&) {
    // As many as the system grants: the caller does what is left.
  }
}

Helpers::~Helpers() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  begun_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Helpers::take(const std::function<void(std::size_t)>& work, std::size_t count) {
  for (std::size_t i = next_++; i < count; i = next_++) work(i);
}

void Helpers::run(std::size_t count, const std::function<void(std::size_t)>& work) {
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    count_ = count;
    next_ = 0;
    ++round_;
  }
  if (count > 1) begun_.notify_all();
  take(work, count);
  std::unique_lock lock(mutex_);
  work_ = nullptr;  // who wakes only now has nothing to do
  left_.wait(lock, [&] { return helping_ == 0; });
}

void Helpers::help() {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    begun_.wait(lock, [&] { return ended_ || (work_ != nullptr && round_ != seen); });
    if (ended_) return;
    seen = round_;
    const auto& work = *work_;
    const std::size_t count = count_;
    ++helping_;
    lock.unlock();
    take(work, count);
    lock.lock();
    if (--helping_ == 0) left_.notify_one();
  }
}

}  // namespace warpscope::ui::paint
