#pragma once
// Writes and reads views.bin of a run folder (view_records.h).

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gpu/runs/view_records.h"

namespace warpscope::runs {

/// Takes records to the end of the file. Where these are more than `most` bytes the file is replaced by what thins out
/// as views in memory do (ViewLanes::fit), those first that the training has left. For one thread, which is the one
/// writer.
class ViewFile {
 public:
  /// A new one in `folder`; what was there goes. Throws core::Error.
  ViewFile(const std::filesystem::path& folder, std::size_t most);
  /// Goes on after `step` of `generation`: what is of later ones goes, and what is damaged. Throws core::Error, or
  /// core::BadInput where the file is of another version; it then stays as it is.
  ViewFile(const std::filesystem::path& folder, std::size_t most, std::uint64_t generation,
           std::uint64_t step);
  ~ViewFile();
  ViewFile(const ViewFile&) = delete;
  ViewFile& operator=(const ViewFile&) = delete;

  /// Throws core::Error if it cannot be written (disk full); the file then ends with the record before.
  void add(const training::KeptView& view);
  void add(const training::Return& back);
  std::size_t bytes() const { return static_cast<std::size_t>(bytes_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  void begin();
  void go_on(std::uint64_t generation, std::uint64_t step);
  void open(int flags);
  void append(const std::string& record);
  void shrink();
  void rewrite(const std::vector<ViewPlace>& kept);

  std::filesystem::path path_;
  std::size_t most_;
  int descriptor_ = -1;
  std::int64_t bytes_ = 0;
  std::vector<ViewPlace> places_;  ///< of views, as they stand in the file
  ViewLine line_;
};

/// Reads the file of a run that may be written by another process meanwhile. For one thread.
class ViewReader {
 public:
  explicit ViewReader(const std::filesystem::path& folder) : path_(views_file(folder)) {}

  /// What has come since the last call, as far as it belongs to `generation` of the training and to that network; it is
  /// told as of that generation. For another one than before, and where the file was replaced, all there is.
  std::vector<training::KeptView> take(std::uint64_t generation, std::uint64_t network);
  /// What cannot be read, in a sentence; "" if nothing. `ended`: nobody writes to it any more.
  std::string objection(bool ended) const;

 private:
  bool look(const files::InputFile& file);

  std::filesystem::path path_;
  std::string refusal_;
  std::uint64_t file_ = 0;  ///< which one: it is another once it was replaced
  std::int64_t size_ = 0, end_ = 0;
  std::int64_t damaged_ = 0;  ///< bytes
  std::size_t damaged_views_ = 0, foreign_ = 0;
  std::vector<ViewPlace> places_;
  std::size_t taken_ = 0;  ///< of these
  ViewLine line_;
  std::uint64_t generation_ = 0, network_ = 0;
};

}  // namespace warpscope::runs
