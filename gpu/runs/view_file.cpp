#include "gpu/runs/view_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/core/error.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/checksum.h"
#include "gpu/messages/view_lanes.h"

namespace warpscope::runs {
namespace {

constexpr auto kBegin = static_cast<std::int64_t>(kViewsMagic.size());

/// Which of those that belong to the newest one stay, so that they take no more than `most` bytes.
std::set<std::int64_t> staying(const std::vector<ViewPlace>& places, const ViewLine& line, std::size_t most) {
  const auto own = line.of(places.back().head.generation);
  training::ViewLanes<std::int64_t> lanes;
  for (const ViewPlace& place : places) {
    const ViewHead& head = place.head;
    if (head.network != places.back().head.network || !is_on(own, head.generation, head.step)) continue;
    lanes.put(head.key, head.step, static_cast<std::size_t>(place.bytes()), place.at);
  }
  lanes.fit(most);
  std::set<std::int64_t> offsets;
  for (const auto& [key, lane] : lanes.lanes()) {
    for (const auto& one : lane.history.entries()) offsets.insert(one.kept);
  }
  return offsets;
}

}  // namespace

ViewFile::ViewFile(const std::filesystem::path& folder, std::size_t most)
    : path_(views_file(folder)), most_(most) {
  begin();
}

ViewFile::ViewFile(const std::filesystem::path& folder, std::size_t most, std::uint64_t generation,
                   std::uint64_t step)
    : path_(views_file(folder)), most_(most) {
  std::error_code unknown;
  if (std::filesystem::exists(path_, unknown)) {
    go_on(generation, step);
  } else {
    begin();
  }
}

void ViewFile::begin() {
  open(O_TRUNC);
  append(std::string(kViewsMagic));
}

void ViewFile::go_on(std::uint64_t generation, std::uint64_t step) {
  std::vector<ViewPlace> kept;
  bool whole = true;
  {
    const files::InputFile file(path_);
    const std::string first = file.read_up_to(0, kViewsMagic.size());
    if (const std::string why = refusal_of_views(first); !why.empty())
      throw core::BadInput(fmt::format("{} {}", path_.string(), why));
    ViewScanner scanner(file, kBegin);
    while (const auto place = scanner.next()) {
      const ViewHead& head = place->head;
      const bool before = head.generation < generation ||
                          (head.generation == generation && (head.returned || head.step <= step));
      const bool stays = before && files::checksum_of(scanner.body(*place)) == head.checksum;
      whole = whole && stays;
      if (!stays) continue;
      if (head.returned) {
        line_.note(head.as_return());
      } else {
        kept.push_back(*place);
      }
    }
    whole = whole && first == kViewsMagic && scanner.damaged() == 0 && scanner.end() == file.size();
    bytes_ = file.size();
  }
  if (whole) {
    open(0);
    places_ = std::move(kept);
  } else {
    rewrite(kept);
  }
}

ViewFile::~ViewFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void ViewFile::open(int flags) {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0666);
  if (descriptor_ < 0)
    throw core::Error(fmt::format("cannot write {}: {}", path_.string(), std::strerror(errno)));
}

void ViewFile::add(const training::KeptView& view) {
  const std::string record = record_of(view);
  if (record.size() > most_ / 2) return;  // it would leave room for nothing else
  const std::int64_t at = bytes_;
  append(record);
  places_.push_back({*ViewHead::read(record), at});
  if (bytes() > most_) shrink();
}

void ViewFile::add(const training::Return& back) {
  append(record_of(back));
  line_.note(back);
}

void ViewFile::append(const std::string& record) {
  std::size_t done = 0;
  while (done < record.size()) {
    const ::ssize_t written = ::pwrite(descriptor_, record.data() + done, record.size() - done,
                                       bytes_ + static_cast<std::int64_t>(done));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) break;
    done += static_cast<std::size_t>(written);
  }
  if (done == record.size()) {
    bytes_ += static_cast<std::int64_t>(done);
    return;
  }
  const int error = errno;
  // Cutting needs no space. Should it fail all the same, a reader leaves out what is not whole.
  const bool cut = ::ftruncate(descriptor_, bytes_) == 0;
  throw core::Error(fmt::format("cannot write {}: {}{}", path_.string(), std::strerror(error),
                                cut ? "" : "; its last record is not whole"));
}

/// So far that it need not be done for each of the next records.
void ViewFile::shrink() {
  const std::set<std::int64_t> offsets = staying(places_, line_, most_ - most_ / 4);
  std::vector<ViewPlace> kept;
  for (const ViewPlace& place : places_) {
    if (offsets.contains(place.at)) kept.push_back(place);
  }
  rewrite(kept);
}

/// Replaces the file, whole or not at all, by these records of it.
void ViewFile::rewrite(const std::vector<ViewPlace>& kept) {
  const files::InputFile before(path_);
  files::AtomicFile file(path_);
  std::vector<ViewPlace> places;
  file.write(kViewsMagic);
  std::int64_t end = kBegin;
  for (const auto& [generation, back] : line_.returns()) {
    const std::string record = record_of(back);
    file.write(record);
    end += static_cast<std::int64_t>(record.size());
  }
  for (const ViewPlace& place : kept) {
    const auto size = static_cast<std::size_t>(place.bytes());
    const std::string record = before.read_up_to(place.at, size);
    if (record.size() != size) continue;  // it is gone
    file.write(record);
    places.push_back({place.head, end});
    end += place.bytes();
  }
  file.commit();
  open(0);
  bytes_ = end;
  places_ = std::move(places);
}

/// True if there is more, or something else, than before.
bool ViewReader::look(const files::InputFile& file) {
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0) return false;
  const auto number = static_cast<std::uint64_t>(status.st_ino);
  if (number != file_ || file.size() < size_) {
    const std::filesystem::path path = std::move(path_);
    *this = ViewReader(path.parent_path());
    file_ = number;
    end_ = kBegin;
  } else if (file.size() == size_) {
    return false;
  }
  size_ = file.size();
  if (size_ < kBegin) return false;  // it has just been made
  refusal_ = refusal_of_views(file.read_up_to(0, kViewsMagic.size()));
  if (!refusal_.empty()) return false;
  ViewScanner scanner(file, end_);
  while (const auto place = scanner.next()) {
    if (place->head.returned) {
      line_.note(place->head.as_return());
    } else {
      places_.push_back(*place);
    }
  }
  end_ = scanner.end();
  damaged_ += scanner.damaged();
  return true;
}

std::vector<training::KeptView> ViewReader::take(std::uint64_t generation, std::uint64_t network) {
  const auto file = files::InputFile::open(path_);
  if (!file) return {};
  look(*file);
  if (generation != generation_ || network != network_) taken_ = 0;
  generation_ = generation;
  network_ = network;
  std::vector<training::KeptView> views;
  if (taken_ == 0) damaged_views_ = foreign_ = 0;
  if (taken_ == places_.size()) return views;
  const auto line = line_.of(generation);
  const ViewScanner scanner(*file, 0);
  for (; taken_ < places_.size(); ++taken_) {
    const ViewPlace& place = places_[taken_];
    if (place.head.network != network || !is_on(line, place.head.generation, place.head.step)) continue;
    training::KeptView view;
    const ReadView read = read_view(place.head, scanner.body(place), view);
    if (read == ReadView::foreign) ++foreign_;
    if (read == ReadView::damaged) ++damaged_views_;
    if (read != ReadView::whole) continue;
    view.generation = generation;
    views.push_back(std::move(view));
  }
  return views;
}

std::string ViewReader::objection(bool ended) const {
  if (!refusal_.empty())
    return fmt::format("{} {}; what views showed at earlier steps is left out", path_.string(), refusal_);
  std::vector<std::string> parts;
  if (foreign_ > 0)
    parts.push_back(fmt::format("{} of another version of warpscope",
                                files::grouped(static_cast<std::int64_t>(foreign_))));
  if (damaged_ > 0 || damaged_views_ > 0) parts.emplace_back("some that are damaged");
  if (ended && end_ < size_) parts.emplace_back("a last one that is not whole");
  if (parts.empty()) return "";
  return fmt::format("{} has views of earlier steps that cannot be shown: {}; the others are", path_.string(),
                     fmt::join(parts, ", "));
}

}  // namespace warpscope::runs
