#include "gpu/runs/run_reader.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <sys/file.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/files/format.h"
#include "gpu/files/read_json.h"
#include "gpu/files/utf8.h"

namespace warpscope::runs {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kRunFile = "run.json";
constexpr const char* kMetricsFile = "metrics.jsonl";
constexpr const char* kLockFile = ".lock";

constexpr std::size_t kChunkBytes = 1 << 20;  // and the longest line
constexpr std::size_t kRememberedBytes = 1024;
constexpr std::size_t kMostNotes = 8;
constexpr std::size_t kMostHeadBytes = 64 << 20;

/// The object in `text`; nothing if it is no JSON object.
std::optional<json> parse_head(const std::string& text) {
  json head = files::read_json(text);
  if (!head.is_object()) return {};
  return head;
}

}  // namespace

void check_format(const fs::path& file, const json& head) {
  const std::string why = files::refusal_of_format(head, files::kRunFormat);
  if (!why.empty()) throw core::BadInput(fmt::format("{} {}", files::escaped(file.string()), why));
}

bool is_run(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / kRunFile, error) || fs::is_regular_file(folder / kMetricsFile, error);
}

std::string run_name(const fs::path& folder) {
  std::error_code error;
  fs::path absolute = fs::weakly_canonical(folder, error);
  if (error) absolute = folder;
  if (!absolute.has_filename()) absolute = absolute.parent_path();
  return files::escaped(absolute.filename().string());
}

bool is_being_written(const fs::path& folder) {
  const auto file = files::InputFile::open(folder / kLockFile);
  if (!file) return false;
  // Closing the file drops the lock.
  return ::flock(file->descriptor(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

RunFollower::RunFollower(fs::path folder) {
  run_.folder = std::move(folder);
  if (is_run(run_.folder)) {
    if (const auto head = parse_head(text_of_head().value_or("")))
      check_format(run_.folder / kRunFile, *head);
    return;
  }
  const std::string name = files::escaped(run_.folder.string());
  if (!files::is_there(run_.folder)) {
    throw core::BadInput(fmt::format("there is no folder {}; name the folder of a run", name));
  }
  if (files::is_there(run_.folder / kRunFile)) {
    throw core::BadInput(
        fmt::format("{} holds no run: its {} is not a file; name the folder of a run", name, kRunFile));
  }
  throw core::BadInput(
      fmt::format("{} holds no run: there is no {} in it; name the folder of a run", name, kRunFile));
}

RunUpdate RunFollower::poll(std::uint64_t most_bytes) {
  RunUpdate update;
  read_head(update);
  const auto file = files::InputFile::open(run_.folder / kMetricsFile);
  if (!file) return update;
  if (std::cmp_less(file->size(), offset_)) {
    update.restarted = true;
  } else {
    const std::size_t remembered = last_bytes_.size();
    const std::string before = file->read_up_to(static_cast<std::int64_t>(offset_ - remembered), remembered);
    if (before.size() < remembered) return update;  // it cannot be read now
    update.restarted = before != last_bytes_;
  }
  if (update.restarted) start_anew();
  if (std::cmp_greater(file->size(), offset_)) read_metrics(*file, most_bytes, update);
  return update;
}

/// Nothing if it cannot be read now.
std::optional<std::string> RunFollower::text_of_head() const {
  const auto file = files::InputFile::open(run_.folder / kRunFile);
  if (!file) return std::nullopt;
  return file->read_up_to(0, std::min(static_cast<std::size_t>(file->size()), kMostHeadBytes));
}

void RunFollower::read_head(RunUpdate& update) {
  std::optional<std::string> text = text_of_head();
  if (!text || text == head_text_) return;
  head_text_ = std::move(text);
  std::optional<json> head = parse_head(*head_text_);
  const std::string why = head                  ? files::refusal_of_format(*head, files::kRunFormat)
                          : head_text_->empty() ? "is damaged: it is empty"
                                                : "is damaged: it is no JSON object";
  if (!why.empty()) {
    if (run_.notes.size() < kMostNotes) {
      run_.notes.push_back(fmt::format("{} {}", files::escaped((run_.folder / kRunFile).string()), why));
    }
    return;
  }
  run_.head = std::move(*head);
  update.head_changed = true;
}

void RunFollower::start_anew() {
  offset_ = 0;
  line_ = 0;
  last_bytes_.clear();
  in_long_line_ = false;
  run_.points = {};
  run_.damaged_lines = 0;
  run_.notes.clear();
}

void RunFollower::read_metrics(const files::InputFile& file, std::uint64_t most_bytes, RunUpdate& update) {
  const std::uint64_t begin = offset_;
  while (true) {
    if (offset_ - begin >= most_bytes) {
      update.more = true;
      return;
    }
    const std::string chunk = file.read_up_to(static_cast<std::int64_t>(offset_), kChunkBytes);
    std::size_t used = chunk.rfind('\n') + 1;  // 0 if there is no newline
    if (used > 0) {
      take_lines(std::string_view(chunk).substr(0, used), update);
    } else if (chunk.size() == kChunkBytes) {
      // No line is that long. Its rest goes too, when it comes.
      if (!in_long_line_) note_damage("it is too long");
      in_long_line_ = true;
      used = chunk.size();
    } else {
      return;
    }
    offset_ += used;
    const std::size_t remembered = std::min(used, kRememberedBytes);
    last_bytes_ = chunk.substr(used - remembered, remembered);
  }
}

void RunFollower::take_lines(std::string_view text, RunUpdate& update) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (!std::exchange(in_long_line_, false)) take_line(text.substr(0, end), update);
    ++line_;
    text.remove_prefix(end + 1);
  }
}

void RunFollower::take_line(std::string_view text, RunUpdate& update) {
  const std::string objection = parse_metrics_line(text, scratch_);
  if (!objection.empty()) {
    note_damage(objection);
  } else if (run_.points.add(scratch_)) {
    update.restarted = true;
  }
}

void RunFollower::note_damage(const std::string& what) {
  ++run_.damaged_lines;
  if (run_.notes.size() >= kMostNotes) return;
  run_.notes.push_back(fmt::format("line {} of {} is left out: {}", line_ + 1,
                                   files::escaped((run_.folder / kMetricsFile).string()), what));
}

Run read_run(const fs::path& folder) {
  RunFollower follower(folder);
  follower.poll();
  return follower.run();
}

}  // namespace warpscope::runs
