// warpscope fetch: downloads data sets.

#include "app/fetch/fetch.h"

#include <CLI/CLI.hpp>
#include <array>
#include <filesystem>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "app/commands.h"
#include "app/interrupt.h"
#include "gpu/data/sets.h"
#include "gpu/files/paths.h"
#include "gpu/files/streams.h"

namespace warpscope::app {
namespace {

const char* phase_text(fetch::Phase phase) {
  constexpr std::array kTexts{"downloading", "checking", "unpacking"};
  return kTexts.at(static_cast<std::size_t>(phase));
}

/// A bar on a terminal; elsewhere a line for each tenth of a phase.
class Bar {
 public:
  void show(const fetch::Progress& progress) {
    const double mib = static_cast<double>(progress.done_bytes) / 1048576.0;
    const double total = static_cast<double>(progress.total_bytes) / 1048576.0;
    const int tenth =
        progress.total_bytes > 0 ? static_cast<int>(10 * progress.done_bytes / progress.total_bytes) : 0;
    if (!terminal_ && tenth == last_tenth_ && progress.phase == last_phase_) return;
    last_tenth_ = tenth;
    last_phase_ = progress.phase;
    const std::string of =
        total > 0 ? fmt::format(" of {:.1f} MiB, {:3.0f} %", total, 100 * mib / total) : " MiB";
    files::put(fmt::format("{}{} {:.1f}{}{}", terminal_ ? "\r\x1b[2K" : "", phase_text(progress.phase), mib,
                           of, terminal_ ? "" : "\n"));
  }
  void end() const {
    if (terminal_) files::print("\n");
  }

 private:
  bool terminal_ = isatty(STDOUT_FILENO) == 1;
  int last_tenth_ = -1;
  fetch::Phase last_phase_{};
};

int download(const std::string& data_set, const std::string& directory) {
  files::answer_is_in_files();
  const fetch::Source& source = fetch::find_source(data_set);
  const std::atomic<bool>& interrupted = catch_interrupts();
  Bar bar;
  const auto folder = directory.empty() ? files::cache_dir() : std::filesystem::path(directory);
  try {
    const fetch::Callback show = [&](const fetch::Progress& progress) {
      bar.show(progress);
      return !interrupted.load();
    };
    const std::filesystem::path made = fetch::fetch_data_set(source, folder, show);
    bar.end();
    files::print("{} is in {}\n", data::find_set(data_set)->title, made.string());
  } catch (...) {
    bar.end();
    throw;
  }
  return 0;
}

}  // namespace

Run fetch(CLI::App& app) {
  struct Arguments {
    std::string name = "cifar10";
    std::string directory;
  };
  const auto a = std::make_shared<Arguments>();
  app.add_option("name", a->name, fmt::format("Data set: {}", fmt::join(fetch::names(), ", ")))
      ->capture_default_str();
  app.add_option("--data", a->directory, "Folder to unpack it into (default: the user's cache folder)");
  return [a] { return download(a->name, a->directory); };
}

}  // namespace warpscope::app
