#pragma once
// The bottom row: how images reach the screen, the frame rate, memory, data, and the log.

#include <string>
#include <vector>

#include "gpu/messages/feed.h"
#include "ui/frame.h"

namespace warpscope::ui {

/// What the window knows and the snapshot does not.
struct WindowFacts {
  std::string image_path;        ///< how images reach the screen
  int frames = 0;                ///< drawn in the last second
  double draw_milliseconds = 0;  ///< median time the GUI thread works on a frame
  std::string renderer;          ///< who draws
};

class StatusBar {
 public:
  void consume(const training::FeedItem& item);
  /// A line of the window's own.
  void log(training::LogLevel level, std::string text);
  void draw(const Frame& frame, const WindowFacts& facts);

 private:
  void draw_last_line(const Frame& frame, float room);
  void draw_log(const Frame& frame);
  void copy_all() const;

  std::vector<training::LogLine> lines_;
  bool scroll_to_end_ = false;
};

}  // namespace warpscope::ui
