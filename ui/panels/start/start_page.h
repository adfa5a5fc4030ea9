#pragma once
// The page on which a training is set up: data, network, weights, goal, device, precision, and the command line that
// would do the same; beside them recent trainings. It stands in the place of the panels.

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "ui/frame/frame.h"
#include "ui/interop/texture.h"
#include "ui/panels/panels.h"
#include "ui/panels/start/challenge_rows.h"
#include "ui/panels/start/folder_browser.h"
#include "ui/panels/start/start_cards.h"
#include "ui/panels/start/start_desk.h"

namespace warpscope::ui {

class StartPage {
 public:
  StartDesk& desk() { return desk_; }
  bool is_open() const { return open_; }
  /// `first`: at a first start, whose training waits for it.
  void open(const training::Snapshot& snapshot, bool first = false);
  void close() {
    open_ = false;
    resumes_ = std::exchange(first_, false);
  }
  /// True if the page of a first start was closed since the last call: its training need not wait any more.
  bool take_resume() { return std::exchange(resumes_, false); }
  /// Between frames: true if there is something new to draw.
  bool advance() {
    const bool browsed = browser_.advance();
    return (desk_.advance() || browsed) && open_;
  }
  /// In `frame`'s next window, which was placed.
  void draw(const Frame& frame, Panels& panels);
  /// The training that somebody has set up and started since the last call. The page stays until it is there.
  std::optional<StartChoices> take_start() { return std::exchange(start_, {}); }
  /// A training is being opened: none can be started meanwhile.
  void wait(bool opening) { opening_ = opening; }
  /// True if the tour was asked for since the last call.
  bool take_tour() { return std::exchange(tour_, false); }
  /// The challenge that somebody has chosen since the last call; nullptr for none.
  const ChallengeRow* take_challenge() { return std::exchange(challenge_, nullptr); }
  /// Frees the textures; before the context goes.
  void shutdown();

 private:
  void draw_title(const Frame& frame);
  void draw_form(const Frame& frame);
  void draw_beside(const Frame& frame, Panels& panels);
  void draw_challenges(const Frame& frame);
  void draw_data(const Frame& frame, StartChoices& choices);
  void draw_fetch(const Frame& frame);
  void draw_path(const Frame& frame);
  void draw_found(const Frame& frame);
  void draw_held(const Frame& frame);
  void draw_fetching(const Frame& frame);
  void draw_samples(const Frame& frame, const data::Inventory& inventory);
  void draw_goal(const Frame& frame, StartChoices& choices);
  void draw_more(const Frame& frame, StartChoices& choices);
  void draw_command(const Frame& frame);
  void draw_start(const Frame& frame);
  void start(const Frame& frame);

  StartDesk desk_;
  StartCards cards_;
  FolderBrowser browser_{{.name = "start.browse",
                          .label = "Browse",
                          .tip = "Choose a folder, a network or weights by clicks",
                          .ends = {".toml", ".safetensors"},
                          .nothing = "No folders, networks or weights in here.",
                          .take_tip = "Tells what it holds"}};
  bool open_ = false;
  bool first_ = false;
  bool resumes_ = false;
  bool opening_ = false;
  bool tour_ = false;
  std::array<char, 4096> path_{};
  std::array<char, 64> goal_{};
  std::unique_ptr<interop::TilePage> samples_;
  std::uint64_t sampled_ = 0;  ///< StartDesk::inventory_number() of `samples_`
  std::string traced_held_;
  std::optional<StartChoices> start_;
  const ChallengeRow* challenge_ = nullptr;
};

}  // namespace warpscope::ui
