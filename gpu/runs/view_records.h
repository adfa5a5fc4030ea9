#pragma once
// views.bin of a run folder: what views showed at earlier steps (KeptView), one record after the other, as they came:
//
//   file    kViewsMagic, whose end is the number of the form, then records
//   record  a ViewHead, then as many bytes as it says: the members of what was seen, as messages have them
//           (gpu/messages/bytes.h)
//
// A head has a checksum of its own, so that a reader finds the next record behind what is damaged, and behind a record
// that is not whole (the power was cut while it was written) there is none.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "gpu/files/file.h"
#include "gpu/messages/feed.h"

namespace warpscope::runs {

inline constexpr std::string_view kViewsMagic{"WSviews\1", 8};

/// views.bin of `folder`.
std::filesystem::path views_file(const std::filesystem::path& folder);

/// "" where the file, whose first bytes these are, can be read as far as it is whole; else why not, to stand behind its
/// name.
std::string refusal_of_views(std::string_view first_bytes);

/// Before a record's own bytes.
struct ViewHead {
  static constexpr std::size_t kBytes = 80;

  std::uint64_t generation = 0;
  std::uint64_t network = 0;
  std::uint64_t step = 0;
  training::ViewKey key;
  bool returned =
      false;  ///< it tells of training::Return: `key` has the generation `from`, and nothing follows
  std::uint64_t shape = 0;  ///< training::shape_of() what follows
  std::uint64_t length = 0;
  std::uint64_t checksum = 0;  ///< of what follows

  std::string text() const;
  /// Nothing if these bytes begin with no whole head.
  static std::optional<ViewHead> read(std::string_view bytes);
  training::Return as_return() const;
};

/// A whole record.
std::string record_of(const training::KeptView& view);
std::string record_of(const training::Return& back);

/// What became of a record that was read.
enum class ReadView : std::uint8_t {
  whole,
  damaged,
  foreign
};  ///< foreign: of another version of the program

/// What follows a head, into `view`, which stays as it is if it cannot be read.
ReadView read_view(const ViewHead& head, std::string_view body, training::KeptView& view);

/// A record and where in the file it begins.
struct ViewPlace {
  ViewHead head;
  std::int64_t at = 0;
  std::int64_t bytes() const { return static_cast<std::int64_t>(ViewHead::kBytes + head.length); }
};

/// Goes from record to record. Holds the reference.
class ViewScanner {
 public:
  ViewScanner(const files::InputFile& file, std::int64_t from) : file_(file), end_(from) {}

  /// Nothing behind the last whole record.
  std::optional<ViewPlace> next();
  /// What follows the head.
  std::string body(const ViewPlace& place) const;
  /// Behind the last record; what is there is not whole, or no record.
  std::int64_t end() const { return end_; }
  /// Bytes between records that are none.
  std::int64_t damaged() const { return damaged_; }

 private:
  std::optional<ViewPlace> at(std::int64_t offset) const;
  std::optional<ViewPlace> find_behind(std::int64_t offset) const;

  const files::InputFile& file_;
  std::int64_t end_;
  std::int64_t damaged_ = 0;
};

/// What the generations of a training have in common.
class ViewLine {
 public:
  void note(const training::Return& back) { returns_[back.generation] = back; }
  /// The last step that each generation on the way to `generation` has in common with it.
  std::map<std::uint64_t, std::uint64_t> of(std::uint64_t generation) const;
  const std::map<std::uint64_t, training::Return>& returns() const { return returns_; }

 private:
  std::map<std::uint64_t, training::Return> returns_;  ///< by generation
};

/// Whether what was seen after `step` of `generation` belongs to the line that `ViewLine::of()` tells.
bool is_on(const std::map<std::uint64_t, std::uint64_t>& line, std::uint64_t generation, std::uint64_t step);

}  // namespace warpscope::runs
