#include "gpu/runs/run_recorder.h"

#include <chrono>
#include <cmath>
#include <ctime>
#include <exception>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/files/format.h"
#include "gpu/runs/figure_table.h"

namespace warpscope::training {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(200);
constexpr const char* kReset = R"({"step":0,"seconds":0,"marker":"reset"})"
                               "\n";

}  // namespace

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

RunRecorder::RunRecorder(RunFolder folder, std::shared_ptr<Feed> feed, nlohmann::json head,
                         FigureTally before)
    : folder_(std::move(folder)),
      status_(folder_.path()),
      feed_(std::move(feed)),
      head_(std::move(head)),
      tally_(std::move(before)) {
  head_[files::kFormat] = files::kRunFormat.number;
  head_["status"] = "running";
  head_.erase("error");
  if (!head_.contains("started")) head_["started"] = utc_now();
  folder_.write_run(head_);
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

RunRecorder::~RunRecorder() {
  try {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    write();
    views_.write();
  } catch (const std::exception&) {
    // A destructor has nobody to tell; what was written before is whole.
  }
}

void RunRecorder::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    write_points();
    lock.unlock();  // nobody has to wait for these
    status_.write(RunStatus::Clock::now());
    views_.write();
    lock.lock();
    wake_.wait_for(lock, stop, kInterval, [] { return false; });
  }
}

void RunRecorder::write() {
  const std::lock_guard lock(mutex_);
  write_points();
}

void RunRecorder::set(const std::string& key, nlohmann::json value) {
  const std::lock_guard lock(mutex_);
  head_[key] = std::move(value);
  head_changed_ = true;
}

void RunRecorder::write_points() {
  try {
    std::string lines;
    for (const FeedItem& item : feed_->take()) note(item, lines);
    if (!error_.empty()) return;
    if (!lines.empty()) folder_.append_metrics(lines);
    if (std::exchange(head_changed_, false)) folder_.write_run(head_);
  } catch (const std::exception& error) {
    error_ = core::sentence_of(error);
    failed_ = true;
  }
}

void RunRecorder::note(const Point& point, std::string& lines) {
  auto out = std::back_inserter(lines);
  const bool is_step = point.split == Split::train, is_probe = !is_step && point.is_probe();
  fmt::format_to(out, R"({{"step":{},"epoch":{},"seconds":{})", point.step, written_number(point.epoch),
                 written_number(point.seconds));
  // A line without a split is one of a step if it has a loss, else one of a test.
  if (is_probe || point.split == Split::validation)
    fmt::format_to(out, R"(,"split":"{}")", to_string(point.split));
  for (const MetricRow& row : metrics()) {
    const float value = point[row.metric];
    const bool null = row.always && (is_step || (!row.test.empty() && !is_probe));
    if (std::isnan(value) && !null) continue;
    const bool test_loss = !is_step && row.metric == Metric::loss;
    fmt::format_to(out, R"(,"{}":{})", test_loss ? "test_loss" : row.key,
                   written_number(static_cast<double>(value)));
  }
  lines += point.skipped ? ",\"skipped\":true}\n" : "}\n";
  tally_.note(point);
}

void RunRecorder::note(const FeedItem& item, std::string& lines) {
  auto out = std::back_inserter(lines);
  if (const auto* point = std::get_if<Point>(&item)) {
    note(*point, lines);
  } else if (const auto* marker = std::get_if<Marker>(&item)) {
    fmt::format_to(out,
                   R"({{"step":{},"seconds":{},"marker":{}{}}})"
                   "\n",
                   marker->step, written_number(marker->seconds), nlohmann::json(marker->text).dump(),
                   marker->anew ? R"(,"anew":true)" : "");
  } else if (std::holds_alternative<Restart>(item)) {
    lines += kReset;
    tally_.reset();
  } else if (const auto* back = std::get_if<Return>(&item)) {
    note(*back, lines);
    views_.take(*back);
  } else if (const auto* view = std::get_if<KeptView>(&item)) {
    views_.take(*view);
  }
}

/// All that came before it is in the file, from which it takes what it repeats.
void RunRecorder::note(const Return& back, std::string& lines) {
  tally_.reset();
  if (!error_.empty()) return;
  try {
    folder_.append_metrics(std::exchange(lines, {}) + kReset);
    folder_.repeat(back.from, back.step, [this](const nlohmann::json& line) { tally_.note(line); });
  } catch (const core::Error& error) {
    error_ = error.what();
    failed_ = true;
  }
}

RunFigures RunRecorder::figures() const {
  const std::lock_guard lock(mutex_);
  return tally_.figures();
}

void RunRecorder::finish(const std::string& status, const std::string& error) {
  {
    const std::lock_guard lock(mutex_);
    write_points();
  }
  views_.write();
  status_.end(status == "failed" ? TrainerState::failed : TrainerState::finished);
  const RunFigures figures = as_written(this->figures());
  const std::lock_guard lock(mutex_);
  head_["status"] = status;
  if (!error.empty()) head_["error"] = error;
  head_["steps"] = figures.steps;
  for (const Figure& figure : run_figures()) {
    const double value = figure.of(figures);
    if (figure.always || !std::isnan(value)) head_[figure.key] = value;
  }
  folder_.write_run(head_);
  if (!error_.empty()) throw core::Error(error_);
}

std::string RunRecorder::error() const {
  if (!failed_) return "";
  const std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace warpscope::training
