#include "gpu/ops/cuda_cudnn_search.h"

#if WARPSCOPE_HAVE_CUDNN

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/file.h"
#include "gpu/files/paths.h"
#include "gpu/ops/cuda_cudnn_graph.h"

namespace warpscope::ops::cudnn {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kFormat = 1;  ///< another one whenever the same index means another engine
constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr double kSecondsANetwork = 1.0;
constexpr double kPauseSeconds = 2.0;  ///< without a search: what comes then is another network
constexpr double kFaster = 0.95;       ///< less is noise
constexpr double kHopeless = 2.0;      ///< times the best so far
constexpr double kLongMicroseconds = 5000.0;
constexpr int kRepeats = 4;

/// What is known, by the whole key.
class Known {
 public:
  std::optional<std::size_t> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    load();
    const auto found = ways_.find(key);
    return found == ways_.end() ? std::nullopt : std::optional(found->second);
  }

  void keep(const std::string& key, std::size_t way) {
    const std::lock_guard lock(mutex_);
    ways_[key] = way;
    if (file_.empty()) return;
    // A line in one piece: processes that add theirs at the same time do not mix them.
    std::ofstream file(file_, std::ios::app);
    file << fmt::format("{}\t{}\n", key, way) << std::flush;
  }

 private:
  void load() {
    if (loaded_) return;
    loaded_ = true;
    try {
      const fs::path folder = files::cache_dir();
      std::error_code error;
      fs::create_directories(folder, error);
      file_ = folder / "cudnn";
      const auto size = fs::file_size(file_, error);
      if (!error && size > kMostBytes) files::write_file_atomically(file_, "");
    } catch (const core::Error&) {
      file_.clear();
      return;
    }
    const auto text = files::read_small_file(file_, kMostBytes);
    if (text) read(*text);
  }

  /// Lines that are damaged are none. The first of a key counts: it is what other processes run.
  void read(std::string_view text) {
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      const auto tab = line.rfind('\t');
      if (tab == std::string_view::npos) continue;
      std::size_t way = 0;
      const char* const end = line.data() + line.size();
      const auto parsed = std::from_chars(line.data() + tab + 1, end, way);
      if (parsed.ec == std::errc() && parsed.ptr == end) ways_.emplace(line.substr(0, tab), way);
    }
  }

  std::mutex mutex_;
  bool loaded_ = false;
  fs::path file_;  ///< empty: nothing is kept
  std::map<std::string, std::size_t> ways_;
};

/// Seconds that searches may still take.
class Allowance {
 public:
  bool is_left() {
    const std::lock_guard lock(mutex_);
    const std::chrono::duration<double> pause = Clock::now() - last_;
    if (pause.count() > kPauseSeconds) left_ = kSecondsANetwork;
    last_ = Clock::now();
    return left_ > 0;
  }
  void take(double seconds) {
    const std::lock_guard lock(mutex_);
    left_ -= seconds;
    last_ = Clock::now();
  }

 private:
  std::mutex mutex_;
  Clock::time_point last_ = Clock::now();
  double left_ = kSecondsANetwork;
};

Known& known() {
  static Known all;
  return all;
}

Allowance& allowance() {
  static Allowance all;
  return all;
}

/// Times ways on a stream of its own.
class Stopwatch {
 public:
  Stopwatch(core::Device& device, const std::function<void(std::size_t, core::Stream&)>& run)
      : run_(run),
        stream_(device.make_stream()),
        begin_(device.make_event(true)),
        end_(device.make_event(true)) {}

  /// Microseconds of one run; of one that is far slower than `best` only about.
  double time(std::size_t way, double best) {
    run_(way, *stream_);  // loads its kernels
    const double once = between([&] { run_(way, *stream_); });
    if (once > kHopeless * best + kLongMicroseconds || once > kRepeats * kLongMicroseconds) return once;
    const auto graph = stream_->capture([&] {
      for (int i = 0; i < kRepeats; ++i) run_(way, *stream_);
    });
    stream_->launch(*graph);
    return between([&] { stream_->launch(*graph); }) / kRepeats;
  }

 private:
  template <class Body>
  double between(const Body& body) {
    stream_->record(*begin_);
    body();
    stream_->record(*end_);
    stream_->synchronize();
    return end_->microseconds_since(*begin_);
  }

  const std::function<void(std::size_t, core::Stream&)>& run_;
  std::unique_ptr<core::Stream> stream_;
  std::unique_ptr<core::Event> begin_;
  std::unique_ptr<core::Event> end_;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::size_t time_all(std::size_t count, core::Device& device,
                     const std::function<void(std::size_t, core::Stream&)>& run) {
  Stopwatch stopwatch(device, run);
  std::size_t chosen = 0;
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t way = 0; way < count && (way < 2 || allowance().is_left()); ++way) {
    const auto start = Clock::now();
    try {
      const double microseconds = stopwatch.time(way, best);
      if (microseconds < kFaster * best) {
        best = microseconds;
        chosen = way;
      }
    } catch (const core::Error&) {
      // An engine that says no only when it is to run; the others are asked.
    }
    allowance().take(seconds_since(start));
  }
  return chosen;
}

}  // namespace

Search::Search(core::Device& device, const std::string& key) : device_(device) {
  const core::DeviceInfo& info = device.info();
  key_ = fmt::format("{} cuDNN {} {} {} {}: {}", kFormat, version(), info.name, info.multiprocessors,
                     info.driver, key);
}

std::size_t Search::worth_making(std::size_t most) const {
  if (const auto way = known().find(key_)) return std::min(*way + 1, most);
  return allowance().is_left() ? most : 1;
}

std::size_t Search::fastest(std::size_t count, const std::function<void()>& make_room,
                            const std::function<void(std::size_t way, core::Stream& stream)>& run) const {
  if (const auto way = known().find(key_)) return *way < count ? *way : 0;
  allowance().take(seconds_since(begun_));
  std::size_t chosen = 0;
  if (count > 1) {
    try {
      make_room();
      chosen = time_all(count, device_, run);
    } catch (const core::OutOfMemory&) {
      return 0;  // where there is room another time, it is measured
    }
  }
  known().keep(key_, chosen);
  return chosen;
}

}  // namespace warpscope::ops::cudnn

#endif
