#pragma once
// When the window is drawn.

#include <limits>

namespace warpscope::ui {

/// Decides when the next frame begins. While a person does something, and a moment longer, frames follow one
/// another at the display's rate; else there is one when there is something new, at most seven a second, or four where
/// the GPU that trains draws them; of a hidden window there are none. Times are seconds on one clock; nothing here
/// waits or asks what time it is.
class FrameSchedule {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  /// Between two frames at the display's rate. A little less than 1/60 s, so that on a monitor of 60 Hz the
  /// swap sets the pace and no frame is missed; where nothing else does, as on a virtual display, this is the
  /// pace.
  static constexpr double kFullRate = 1.0 / 62;
  /// Between two frames of which only data is new.
  static constexpr double kDataRate = 0.15;
  /// The same where the GPU that trains draws them: each costs the training 1 to 2.5 ms, since the GPU turns from
  /// computing to drawing and back.
  static constexpr double kDataRateOfTrainer = 0.25;
  /// The display's rate goes on for so long after a person did something: tool-tips come 0.35 s after the
  /// pointer.
  static constexpr double kActiveSeconds = 0.6;
  /// One more frame comes so long after the last, for figures that tell of the last second.
  static constexpr double kSettle = 1.0;

  /// A person moved, clicked, typed, scrolled, resized, or uncovered the window.
  void input(double now) { active_until_ = now + kActiveSeconds; }
  /// There is something new to show. Dear ImGui needs two frames for what is sized by its content, so another
  /// one follows.
  void content_changed() { frames_due_ = 2; }
  /// What is on the screen changes at `time` though nothing happens; kNever: it does not. Replaces what was
  /// told before. A frame comes then, but no sooner than the display's rate allows.
  void change_at(double time) { change_at_ = time; }
  /// The GPU that trains draws the frames, or it does not.
  void drawn_by_trainer(bool it_does) { data_rate_ = it_does ? kDataRateOfTrainer : kDataRate; }
  void hide(bool hidden) { hidden_ = hidden; }
  /// A frame began at `now`.
  void drawn(double now);

  /// Frames follow one another at the display's rate: after the last one another comes.
  bool is_active() const { return !hidden_ && active_until_ > last_; }
  /// When the next frame is to begin if nothing else happens; what has passed means now.
  double next() const;

 private:
  double data_rate_ = kDataRate;
  double last_ = -kNever;  // a frame began
  double active_until_ = -kNever;
  int frames_due_ = 1;  // frames still to draw; at the start, the first one
  double change_at_ = kNever;
  double settle_at_ = kNever;
  bool hidden_ = false;
};

}  // namespace warpscope::ui
