// warpscope fetch: downloads data sets.

#include "app/fetch/fetch.h"

#include <cstdio>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "app/commands.h"
#include "app/interrupt.h"
#include "gpu/core/error.h"
#include "gpu/files/paths.h"

namespace warpscope::app {
namespace {

const char* phase_text(data::FetchPhase phase) {
  switch (phase) {
    case data::FetchPhase::download:
      return "downloading";
    case data::FetchPhase::check:
      return "checking";
    case data::FetchPhase::unpack:
      return "unpacking";
  }
  return "";
}

/// A bar on a terminal; elsewhere a line for each tenth of a phase.
class Bar {
 public:
  void show(const data::FetchProgress& progress) {
    const double mib = static_cast<double>(progress.done_bytes) / 1048576.0;
    const double total = static_cast<double>(progress.total_bytes) / 1048576.0;
    const int tenth =
        progress.total_bytes > 0 ? static_cast<int>(10 * progress.done_bytes / progress.total_bytes) : 0;
    if (!terminal_ && tenth == last_tenth_ && progress.phase == last_phase_) return;
    last_tenth_ = tenth;
    last_phase_ = progress.phase;
    const std::string of =
        total > 0 ? fmt::format(" of {:.1f} MiB, {:3.0f}%", total, 100 * mib / total) : " MiB";
    fmt::print("{}{} {:.1f}{}{}", terminal_ ? "\r\x1b[2K" : "", phase_text(progress.phase), mib, of,
               terminal_ ? "" : "\n");
    std::fflush(stdout);
  }
  void end() const {
    if (terminal_) fmt::print("\n");
  }

 private:
  bool terminal_ = isatty(STDOUT_FILENO) == 1;
  int last_tenth_ = -1;
  data::FetchPhase last_phase_{};
};

std::filesystem::path bring(bool mnist, const std::filesystem::path& folder,
                            const data::FetchCallback& show) {
  if (mnist) return data::fetch_mnist(folder, show);
  return data::fetch_cifar10(folder, show);
}

}  // namespace

int fetch(const std::string& data_set, const std::string& directory) {
  const bool mnist = data_set == "mnist";
  if (!mnist && data_set != "cifar10") {
    throw core::BadInput(fmt::format("unknown data set '{}'; valid: cifar10, mnist", data_set));
  }
  const std::atomic<bool>& interrupted = catch_interrupts();
  Bar bar;
  const auto folder = directory.empty() ? core::cache_dir() : std::filesystem::path(directory);
  try {
    const data::FetchCallback show = [&](const data::FetchProgress& progress) {
      bar.show(progress);
      return !interrupted.load();
    };
    const std::filesystem::path made = bring(mnist, folder, show);
    bar.end();
    fmt::print("{} is in {}\n", mnist ? "MNIST" : "CIFAR-10", made.string());
  } catch (...) {
    bar.end();
    throw;
  }
  return 0;
}

}  // namespace warpscope::app
