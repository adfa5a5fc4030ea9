#include "ui/panels/runs/run_listing.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"

namespace warpscope::ui {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPieceBytes = 4 << 20;

// True if the run has ended: its run.json then holds the results, and the points need not be read.
bool tells_results(const nlohmann::json& head) {
  const auto status = head.find("status"), steps = head.find("steps");
  return status != head.end() && status->is_string() && *status != "running" && steps != head.end() &&
         steps->is_number_unsigned();
}

}  // namespace

std::string problem_of(const runs::RunSummary& run) {
  if (!run.error.empty()) return run.error;
  if (run.notes.size() == 1) return run.notes.front();
  if (!run.notes.empty()) {
    return fmt::format("{} (and {} more)", run.notes.front(), run.notes.size() - 1);
  }
  if (run.steps == 0 && run.model.empty() && run.status != "running")
    return "nothing in it can be read: there is no configuration and no step";
  return {};
}

RunListing::Stamp RunListing::stamp_of(const fs::path& file) {
  std::error_code error;
  Stamp stamp;
  stamp.bytes = fs::file_size(file, error);
  if (error) return {};
  stamp.time = fs::last_write_time(file, error);
  return stamp;
}

void RunListing::look_at(const fs::path& folder, const std::stop_token& stop, Known& known) {
  if (!known.follower) known.follower = std::make_unique<runs::RunFollower>(folder);
  known.follower->poll(0);
  if (!tells_results(known.follower->run().head)) {
    while (!stop.stop_requested() && known.follower->poll(kPieceBytes).more) {
    }
  }
  known.summary = runs::summarize(known.follower->run());
  if (known.summary.status != "running") known.follower.reset();
}

std::vector<runs::RunSummary> RunListing::look(const fs::path& folder, const fs::path& leave_out,
                                               const std::stop_token& stop) {
  std::error_code error;
  std::map<fs::path, Known> now;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end && !stop.stop_requested();
       entry.increment(error)) {
    const fs::path& path = entry->path();
    std::error_code other;
    if (!runs::is_run(path) || (!leave_out.empty() && fs::equivalent(path, leave_out, other))) continue;
    Known known;
    if (const auto before = known_.find(path); before != known_.end()) known = std::move(before->second);
    const Stamp head = stamp_of(path / "run.json"), metrics = stamp_of(path / "metrics.jsonl");
    const bool same = known.head == head && known.metrics == metrics && !known.summary.name.empty();
    if (!same || known.follower) {
      known.head = head;
      known.metrics = metrics;
      try {
        look_at(path, stop, known);
      } catch (const core::Error& refusal) {
        if (!runs::is_run(path)) continue;  // it went away meanwhile
        known.summary = runs::summary_of_refused(path, refusal.what());
      }
    }
    now.emplace(path, std::move(known));
  }
  // Until the first run is written there is no folder, and that is no error.
  if (error && error != std::errc::no_such_file_or_directory) {
    known_.clear();
    throw core::BadInput(fmt::format("the folder {} cannot be read: {}", folder.string(), error.message()));
  }
  known_ = std::move(now);
  std::vector<runs::RunSummary> list;
  for (const auto& [path, known] : known_) list.push_back(known.summary);
  runs::sort_runs(list, runs::RunOrder::time);
  return list;
}

}  // namespace warpscope::ui
