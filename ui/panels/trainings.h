#pragma once
// The trainings whose curves the window shows: its own, and those that are laid over it. No drawing here.

#include <chrono>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu/messages/feed.h"
#include "gpu/messages/source.h"
#include "ui/panels/curves/loss_history.h"

namespace warpscope::ui {

/// A training in the view.
struct ShownTraining {
  explicit ShownTraining(bool is_own = false) : history(is_own) {}

  std::shared_ptr<training::Source> source;  ///< nullptr while it is opened, and if it cannot be
  std::shared_ptr<training::Feed> feed;
  LossHistory history;

  // What is laid over the window's own has these.
  std::filesystem::path folder;
  std::string name;
  int color = 0;  ///< of Palette::series
  bool visible = true;
  std::string error;  ///< why there are no curves, or what of the run is left out
  std::future<std::shared_ptr<training::Source>> opening;
  std::deque<std::vector<training::FeedItem>> waiting;  ///< told, but not in `history` yet; none is empty
  std::size_t taken = 0;                                ///< of the first of them
  bool begun = false;                                   ///< something was told

  /// True once all that was told so far is in `history`.
  bool loaded() const { return begun && waiting.empty(); }
};

using Overlays = std::span<const std::unique_ptr<ShownTraining>>;

inline constexpr int kRunColors = 8;

/// The first colour of the palette that no overlay has, those of the window's own curves last; repeats when all are
/// taken. Curves of the same colour then differ in their dashes (loss_lines.h).
int free_color(Overlays overlays);

/// Folders are opened, read and let go in other threads, for which only close() waits.
class Trainings {
 public:
  Trainings();
  Trainings(const Trainings&) = delete;
  Trainings& operator=(const Trainings&) = delete;

  /// The window's own training comes from `source`. To be called before look().
  void open(std::shared_ptr<training::Source> source);
  /// Lets all sources go, and waits for their threads and for those that open or let go.
  void close();

  /// Takes what the trainings have told since the last call, and returns what the window's own has.
  std::vector<training::FeedItem> look();
  /// True if update() has something new of the overlays to take.
  bool has_update() const { return changed_; }
  /// Once a frame: makes the curves that `choices` say until `end`. True if there is more to do.
  bool update(std::span<const CurveChoice> choices, std::chrono::steady_clock::time_point end);

  const ShownTraining& own() const { return *list_.front(); }
  Overlays overlays() const { return Overlays(list_).subspan(1); }
  /// The overlay of a run; nullptr if it is not in the view.
  ShownTraining* find(const std::filesystem::path& folder) const;
  /// Lays a run over the window's own training, or lets it be seen again.
  void show(const std::filesystem::path& folder, const std::string& name);
  /// Out of the view; it is let go with the next update(), since the plots of this frame may still show it.
  void remove(const std::filesystem::path& folder);

 private:
  std::vector<std::unique_ptr<ShownTraining>> list_;  ///< the window's own first
  std::vector<std::unique_ptr<ShownTraining>> removed_;
  std::future<void> freed_;
  bool changed_ = false;
};

}  // namespace warpscope::ui
