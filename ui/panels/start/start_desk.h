#pragma once
// What the start page knows and what is chosen on it; reads disks and downloads on other threads. No drawing here.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/data/inventory.h"
#include "gpu/messages/snapshot.h"
#include "gpu/runs/recents.h"
#include "ui/jobs/background.h"
#include "ui/jobs/start_services.h"
#include "ui/panels/start/start_rows.h"

namespace warpscope::ui {

/// A recent training, with its picture where there is one.
struct RecentCard {
  runs::RecentTraining training;
  std::vector<std::uint8_t> picture = {};  ///< RGB of kCardWidth x kCardHeight; empty: there is none
  std::string data = {};                   ///< its --data; "" where it names none
};
inline constexpr int kCardWidth = 72, kCardHeight = 48;

/// Those of both folders, newest first. Not for the GUI's thread.
std::vector<RecentCard> read_cards(const std::filesystem::path& folder, const std::filesystem::path& also,
                                   std::size_t most);

/// What is there to choose from.
struct AtHand {
  std::vector<std::string> sets;  ///< published ones, by name
  std::vector<core::DeviceInfo> devices;
};

class StartDesk {
 public:
  void serve(StartServices services) { services_ = std::move(services); }
  const StartServices& services() const { return services_; }
  /// The page is opened: looks for what there is anew.
  void begin(const training::Snapshot& snapshot);
  /// Looks at recent trainings anew.
  void read_recents(const std::string& run_dir);
  /// Between frames: true if something new came.
  bool advance();

  const StartChoices& choices() const { return choices_; }
  /// What the data hold is looked at again where it has become unknown.
  void choose(StartChoices choices);
  /// Somebody's folder or file, looked at first: of a run its weights begin the training.
  void take(const std::filesystem::path& path);
  /// True while take() or the data are looked at.
  bool looking() const { return path_.busy() || look_.busy() || reading_network(); }
  /// True while the file is read that tells the network: its own, or that of the weights.
  bool reading_network() const { return network_reader_.busy(); }
  /// What the chosen data hold; nullptr while it is not known.
  const data::Inventory* inventory() const { return inventory_ ? &*inventory_ : nullptr; }
  /// Grows with each inventory.
  std::uint64_t inventory_number() const { return inventory_number_; }
  /// Why what was chosen or typed cannot be read, or was not fetched; "" for none of these.
  const std::string& error() const { return refusal_.empty() ? error_ : refusal_; }
  /// The network that is chosen, or that of the weights; the one before while it is read.
  const models::Model& network() const { return network_; }
  /// Why the training cannot be started, in a sentence; "" if it can.
  std::string why_not() const;

  void fetch(const std::string& set);
  void cancel_fetch() { fetching_.stop(); }
  bool fetches() const { return fetching_.busy(); }
  const std::string& fetched_set() const { return fetched_set_; }
  std::pair<std::int64_t, std::int64_t> fetched() const { return {*done_, *total_}; }

  const AtHand& at_hand() const { return at_hand_; }
  const std::vector<RecentCard>& recents() const { return recents_; }
  std::uint64_t recents_number() const { return recents_number_; }
  /// Data of recent trainings that are a person's own.
  std::vector<std::string> recent_folders() const;

 private:
  struct Taken {
    std::filesystem::path path;
    PathKind kind = PathKind::nothing;
    std::string data = {};  ///< of a run
  };

  void look();
  void look_for_sets();
  void use(const Taken& taken);
  void set_network();
  void use_network(Answer<models::Model> answer);
  void refuse_network(const std::string& why);

  StartServices services_;
  StartChoices choices_;
  models::Model network_ = training::standard_settings()->model;
  std::pair<std::string, std::string> told_by_;  ///< the choices of network and weights that `network_` is of
  AtHand at_hand_;
  std::optional<data::Inventory> inventory_;
  std::uint64_t inventory_number_ = 0;
  std::string error_;    ///< of the chosen data
  std::string refusal_;  ///< of what was asked for since: the choices are those before
  std::vector<RecentCard> recents_;
  std::uint64_t recents_number_ = 0;
  std::string fetched_set_;
  std::shared_ptr<std::atomic<std::int64_t>> done_ = std::make_shared<std::atomic<std::int64_t>>(0);
  std::shared_ptr<std::atomic<std::int64_t>> total_ = std::make_shared<std::atomic<std::int64_t>>(0);
  Background<AtHand> finder_;
  Background<data::Inventory> look_;
  Background<models::Model> network_reader_;
  Background<Taken> path_;
  Background<std::string> fetching_;
  Background<std::vector<RecentCard>> reader_;
};

}  // namespace warpscope::ui
