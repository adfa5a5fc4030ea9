#include "gpu/runs/view_records.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/checksum.h"
#include "gpu/messages/bytes_of_messages.h"

namespace warpscope::runs {
namespace {

using training::KeptView;
using training::MessageHead;

constexpr std::string_view kRecordMagic("WSview\1\n", 8);
constexpr std::size_t kNumbers = 9, kKinds = std::variant_size_v<KeptView::Seen>;
constexpr std::size_t kSearched = std::size_t{1} << 16;  ///< bytes at a time
static_assert(ViewHead::kBytes == kRecordMagic.size() + kNumbers * sizeof(std::uint64_t));

template <std::size_t Place>
using SeenOf = std::remove_const_t<typename std::variant_alternative_t<Place, KeptView::Seen>::element_type>;

template <std::size_t Place>
ReadView read_as(std::uint64_t shape, std::string_view body, KeptView::Seen& seen) {
  using Object = SeenOf<Place>;
  if (shape != training::shape_of<Object>()) return ReadView::foreign;
  try {
    training::MessageReader reader;
    seen.emplace<Place>(std::make_shared<const Object>(reader.read_body<Object>(body)));
    return ReadView::whole;
  } catch (const core::BadInput&) {
    return ReadView::damaged;
  }
}

template <std::size_t... Place>
ReadView read_kind(const ViewHead& head, std::string_view body, KeptView::Seen& seen,
                   std::index_sequence<Place...> /*places*/) {
  ReadView read = ReadView::foreign;
  const auto kind = static_cast<std::size_t>(head.key.first);
  (void)((kind == Place && (read = read_as<Place>(head.shape, body, seen), true)) || ...);
  return read;
}

}  // namespace

std::filesystem::path views_file(const std::filesystem::path& folder) {
  return folder / "views.bin";
}

std::string refusal_of_views(std::string_view first_bytes) {
  if (first_bytes == kViewsMagic) return "";
  const std::string_view name = kViewsMagic.substr(0, kViewsMagic.size() - 1);
  // Anything else is a file that is damaged at its beginning: records may follow.
  return first_bytes.starts_with(name) && first_bytes.size() == kViewsMagic.size()
             ? "is of another version of warpscope"
             : "";
}

std::string ViewHead::text() const {
  const std::uint64_t kind = returned ? kKinds : static_cast<std::uint64_t>(key.first);
  std::string text(kRecordMagic);
  for (const std::uint64_t each :
       {generation, network, step, kind, static_cast<std::uint64_t>(key.second), shape, length, checksum})
    text.append(reinterpret_cast<const char*>(&each), sizeof each);
  const std::uint64_t own = files::checksum_of(text);
  return text.append(reinterpret_cast<const char*>(&own), sizeof own);
}

std::optional<ViewHead> ViewHead::read(std::string_view bytes) {
  if (bytes.size() < kBytes || !bytes.starts_with(kRecordMagic)) return std::nullopt;
  std::array<std::uint64_t, kNumbers> numbers{};
  std::memcpy(numbers.data(), bytes.data() + kRecordMagic.size(), sizeof numbers);
  if (files::checksum_of(bytes.substr(0, kBytes - sizeof(std::uint64_t))) != numbers.back())
    return std::nullopt;
  ViewHead head;
  head.generation = numbers[0];
  head.network = numbers[1];
  head.step = numbers[2];
  head.returned = numbers[3] == kKinds;
  const std::uint64_t kind = head.returned ? 0 : numbers[3];
  head.key = {static_cast<training::ViewKind>(std::min<std::uint64_t>(kind, 255)),
              static_cast<std::int64_t>(numbers[4])};
  head.shape = numbers[5];
  head.length = numbers[6];
  head.checksum = numbers[7];
  return head.length > MessageHead::kMost ? std::nullopt : std::optional(head);
}

training::Return ViewHead::as_return() const {
  return {generation, static_cast<std::uint64_t>(key.second), step};
}

std::string record_of(const KeptView& view) {
  ViewHead head;
  head.generation = view.generation;
  head.network = view.network;
  head.step = training::step_of(view.seen);
  head.key = training::key_of(view.seen);
  const std::string message = std::visit(
      [&head](const auto& one) {
        head.shape = training::shape_of<std::remove_cvref_t<decltype(*one)>>();
        return training::MessageWriter().write(*one);
      },
      view.seen);
  const std::string_view body = std::string_view(message).substr(MessageHead::kBytes);
  head.length = body.size();
  head.checksum = files::checksum_of(body);
  return head.text().append(body);
}

std::string record_of(const training::Return& back) {
  ViewHead head;
  head.generation = back.generation;
  head.step = back.step;
  head.key.second = static_cast<std::int64_t>(back.from);
  head.returned = true;
  head.checksum = files::checksum_of("");
  return head.text();
}

ReadView read_view(const ViewHead& head, std::string_view body, KeptView& view) {
  if (body.size() != head.length || files::checksum_of(body) != head.checksum) return ReadView::damaged;
  KeptView::Seen seen;
  const ReadView read = read_kind(head, body, seen, std::make_index_sequence<kKinds>());
  if (read != ReadView::whole) return read;
  if (training::key_of(seen) != head.key || training::step_of(seen) != head.step) return ReadView::damaged;
  view = {head.generation, head.network, std::move(seen)};
  return ReadView::whole;
}

std::optional<ViewPlace> ViewScanner::at(std::int64_t offset) const {
  const auto head = ViewHead::read(file_.read_up_to(offset, ViewHead::kBytes));
  if (!head) return std::nullopt;
  return ViewPlace{*head, offset};
}

/// The next head behind `offset`.
std::optional<ViewPlace> ViewScanner::find_behind(std::int64_t offset) const {
  for (std::int64_t from = offset + 1; from < file_.size();) {
    const std::string bytes = file_.read_up_to(from, kSearched);
    for (auto found = bytes.find(kRecordMagic); found != std::string::npos;
         found = bytes.find(kRecordMagic, found + 1)) {
      if (auto place = at(from + static_cast<std::int64_t>(found))) return place;
    }
    if (bytes.size() < kSearched) break;
    from += static_cast<std::int64_t>(kSearched - (kRecordMagic.size() - 1));  // one may begin at the end
  }
  return std::nullopt;
}

std::optional<ViewPlace> ViewScanner::next() {
  std::optional<ViewPlace> place = at(end_);
  if (!place) {
    place = find_behind(end_);
    if (!place) return std::nullopt;
  }
  if (place->bytes() > file_.size() - place->at) return std::nullopt;
  damaged_ += place->at - end_;
  end_ = place->at + place->bytes();
  return place;
}

std::string ViewScanner::body(const ViewPlace& place) const {
  return file_.read_up_to(place.at + static_cast<std::int64_t>(ViewHead::kBytes), place.head.length);
}

std::map<std::uint64_t, std::uint64_t> ViewLine::of(std::uint64_t generation) const {
  std::map<std::uint64_t, std::uint64_t> line;
  std::uint64_t step = std::numeric_limits<std::uint64_t>::max();
  while (line.try_emplace(generation, step).second) {
    const auto back = returns_.find(generation);
    if (back == returns_.end()) break;
    step = std::min(step, back->second.step);
    generation = back->second.from;
  }
  return line;
}

bool is_on(const std::map<std::uint64_t, std::uint64_t>& line, std::uint64_t generation, std::uint64_t step) {
  const auto found = line.find(generation);
  return found != line.end() && step <= found->second;
}

}  // namespace warpscope::runs
