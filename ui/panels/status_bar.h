#pragma once
// The bottom row: how images reach the screen, the frame rate, memory, data, and the log.

#include <span>
#include <string>
#include <vector>

#include "gpu/messages/feed.h"
#include "ui/frame/frame.h"

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
  /// What its entries are, by the names of ui/text/terms.h.
  static std::span<const char* const> terms();
  void consume(const training::FeedItem& item);
  /// A line of the window's own.
  void log(training::LogLevel level, std::string text);
  /// A command as a command line. `of_view`: what a view looks at, which is told once until it looks at something else
  /// and does not take the place of the last line.
  void log_command(std::string line, bool of_view);
  void draw(const Frame& frame, const WindowFacts& facts);

 private:
  void append(training::LogLevel level, std::string text);
  void draw_last_line(const Frame& frame, float room);
  void draw_log(const Frame& frame);
  void copy_all() const;

  std::vector<training::LogLine> lines_;
  training::LogLine last_{training::LogLevel::info, ""};  ///< in view while the log is closed
  std::string looks_at_;                                  ///< the last command of a view
  bool scroll_to_end_ = false;
};

}  // namespace warpscope::ui
