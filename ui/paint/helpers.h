#pragma once
// Threads that help another one with many small pieces of work.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace warpscope::ui::paint {

class Helpers {
 public:
  /// With 0 threads, or where the system has none to give, all is done by the caller.
  explicit Helpers(unsigned threads);
  ~Helpers();
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  /// Calls work(0) to work(count - 1), each once, in this thread and in those that wake in time; returns when
  /// all are done. For one thread at a time; `work` throws nothing.
  void run(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  void help();
  void take(const std::function<void(std::size_t)>& work, std::size_t count);

  std::mutex mutex_;
  std::condition_variable begun_, left_;
  const std::function<void(std::size_t)>* work_ = nullptr;  // while there is some
  std::size_t count_ = 0;
  std::uint64_t round_ = 0;
  unsigned helping_ = 0;
  bool ended_ = false;
  std::atomic<std::size_t> next_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace warpscope::ui::paint
