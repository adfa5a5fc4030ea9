#pragma once
// What a thread finds out for the window, so that no disk or network makes a frame wait.

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "gpu/core/host_memory.h"
#include "gpu/data/sets.h"

namespace warpscope::ui {

/// What was found, or why nothing was, in a sentence.
template <class Result>
struct Answer {
  std::optional<Result> result = {};
  std::string error = {};
};

/// One question at a time; the last one counts. Its destructor tells the thread to stop, and waits for it.
template <class Result>
class Background {
 public:
  /// Asks now and then whether it is to stop; what it throws is the answer's error.
  using Work = std::function<Result(const data::Stopped&)>;

  Background() = default;
  ~Background() { stop(); }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Gives up what is under way.
  void ask(Work work) {
    stop();
    next_ = std::move(work);
    begin();
  }
  void stop() {
    next_ = nullptr;
    if (stopped_) *stopped_ = true;
  }
  /// True until the answer is taken.
  bool busy() const { return next_ || (job_.valid() && !*stopped_); }
  /// True if take() has something to look at.
  bool ready() const {
    return job_.valid() && job_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  /// Each answer once; none to what was given up.
  std::optional<Answer<Result>> take() {
    if (!ready()) return {};
    std::optional<Answer<Result>> answer = job_.get();
    if (*stopped_) answer.reset();
    begin();
    return answer;
  }

 private:
  static Answer<Result> answer_of(const Work& work, const data::Stopped& stopped) {
    try {
      return {work(stopped), {}};
    } catch (const std::exception& error) {
      return {{}, core::sentence_of(error)};
    }
  }
  void begin() {
    if (job_.valid() || !next_) return;
    stopped_ = std::make_shared<std::atomic<bool>>(false);
    const auto run = [work = std::exchange(next_, nullptr), stopped = stopped_] {
      return answer_of(work, [stopped] { return stopped->load(); });
    };
    try {
      job_ = std::async(std::launch::async, run);
    } catch (const std::system_error& error) {
      std::promise<Answer<Result>> refused;
      refused.set_value({{}, core::sentence_of(error)});
      job_ = refused.get_future();
    }
  }

  Work next_;
  std::shared_ptr<std::atomic<bool>> stopped_;
  std::future<Answer<Result>> job_;
};

}  // namespace warpscope::ui
