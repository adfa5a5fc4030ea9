#include "ui/panels/start/start_desk.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <iterator>
#include <system_error>
#include <tuple>

#include "gpu/core/error.h"
#include "gpu/data/picture.h"
#include "gpu/files/paths.h"
#include "gpu/files/utf8.h"
#include "ui/panels/runs/run_loader.h"

namespace warpscope::ui {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostCards = 10;

/// Its --data; "" where it names none or cannot be read.
std::string data_of_run(const fs::path& run) {
  try {
    const training::Configuration settings = training::read_run(run / "run.json");
    return settings.has("data_source") ? settings.text("data_source") : "";
  } catch (const std::exception&) {
    return "";
  }
}

RecentCard card_of(runs::RecentTraining training) {
  RecentCard card{.training = std::move(training)};
  try {
    if (!card.training.picture.empty())
      card.picture = data::read_picture(card.training.picture, {kCardHeight, kCardWidth, 3}).pixels;
  } catch (const std::exception&) {
    card.picture.clear();  // one that is damaged, or was deleted meanwhile
  }
  card.data = data_of_run(card.training.run.folder);
  return card;
}

/// One network of each kind of input, for data that the chosen one does not take.
std::vector<data::Requirements> other_requirements() {
  std::vector<data::Requirements> all;
  for (const models::Model& model : known_networks()) {
    data::Requirements one = data::requirements_of(model);
    const auto same = [&](const data::Requirements& each) {
      return each.shape == one.shape && each.takes_texts() == one.takes_texts();
    };
    if (std::none_of(all.begin(), all.end(), same)) all.push_back(std::move(one));
  }
  return all;
}

/// What is drawn, and taken where nothing is named, follows the network.
bool follows_network(const StartChoices& choices) {
  return choices.data.empty() || choices.data == "builtin";
}

bool is_newer(const runs::RecentTraining& a, const runs::RecentTraining& b) {
  const auto time = [](double started) { return std::isfinite(started) ? started : 0; };
  return time(a.run.started) > time(b.run.started);
}

}  // namespace

std::vector<RecentCard> read_cards(const fs::path& folder, const fs::path& also, std::size_t most) {
  std::vector<runs::RecentTraining> found = runs::recent_trainings(folder, most);
  std::error_code other;
  if (!also.empty() && !fs::equivalent(folder, also, other)) {
    std::vector<runs::RecentTraining> more = runs::recent_trainings(also, most);
    std::move(more.begin(), more.end(), std::back_inserter(found));
  }
  std::stable_sort(found.begin(), found.end(), is_newer);
  if (found.size() > most) found.resize(most);
  std::vector<RecentCard> cards;
  for (runs::RecentTraining& each : found) cards.push_back(card_of(std::move(each)));
  return cards;
}

void StartDesk::begin(const training::Snapshot& snapshot) {
  refusal_.clear();
  look_for_sets();
  read_recents(training::run_folder_here(snapshot));
  set_network();  // its file may be another one by now
  if (!reading_network()) look();
}

void StartDesk::look_for_sets() {
  finder_.ask([](const data::Stopped&) { return AtHand{data::sets_at_hand(), core::list_devices()}; });
}

void StartDesk::read_recents(const std::string& run_dir) {
  reader_.ask([folder = folder_of_user_runs(), also = folder_of_runs(run_dir)](const data::Stopped&) {
    return read_cards(folder, also, kMostCards);
  });
}

void StartDesk::set_network() {
  network_reader_.stop();
  if (tells_network_in_file(choices_)) {
    network_reader_.ask([choices = choices_](const data::Stopped&) { return network_of(choices); });
    return;
  }
  try {
    network_ = network_of(choices_);
    told_by_ = {choices_.network, choices_.init};
  } catch (const core::BadInput& error) {
    refuse_network(error.what());
  }
}

void StartDesk::refuse_network(const std::string& why) {
  refusal_ = files::escaped(why);
  std::tie(choices_.network, choices_.init) = told_by_;
}

void StartDesk::use_network(Answer<models::Model> answer) {
  if (answer.result) {
    network_ = std::move(*answer.result);
    told_by_ = {choices_.network, choices_.init};
  } else {
    refuse_network(answer.error);
  }
  if (follows_network(choices_) || !inventory_) look();
}

void StartDesk::choose(StartChoices choices) {
  const bool other_network = choices.network != choices_.network || choices.init != choices_.init;
  const bool other_data = choices.data != choices_.data;
  choices_ = std::move(choices);
  if (other_network || other_data) {
    error_.clear();
    refusal_.clear();
  }
  if (other_data) inventory_.reset();
  if (other_network) set_network();
  if (reading_network()) return;  // what the data hold is told for the network
  if (other_data || (other_network && (follows_network(choices_) || !inventory_))) look();
}

void StartDesk::look() {
  look_.ask([option = choices_.data, wanted = data::requirements_of(network_)](const data::Stopped& stopped) {
    return data::take_inventory(option, wanted, other_requirements(), stopped);
  });
}

void StartDesk::take(const fs::path& path) {
  path_.ask([path](const data::Stopped&) {
    Taken taken{files::absolute_path(path), kind_of(path)};
    if (taken.kind == PathKind::nothing) throw core::BadInput(tell_nothing(taken.path));
    if (taken.kind == PathKind::run) taken.data = data_of_run(taken.path);
    return taken;
  });
}

void StartDesk::use(const Taken& taken) {
  StartChoices choices = choices_;
  const std::string path = taken.path.string();
  switch (taken.kind) {
    case PathKind::run:
    case PathKind::weights:
      choices.init = path;
      choices.network.clear();  // the weights bring theirs
      if (!taken.data.empty()) choices.data = taken.data;
      break;
    case PathKind::network:
      choices.network = path;
      break;
    case PathKind::data:
    case PathKind::pictures:
      choices.data = path;
      break;
    case PathKind::nothing:
      return;
  }
  choose(std::move(choices));
}

void StartDesk::fetch(const std::string& set) {
  if (!services_.fetch || fetches()) return;
  fetched_set_ = set;
  refusal_.clear();
  *done_ = *total_ = 0;
  fetching_.ask([fetch = services_.fetch, set, done = done_, total = total_](const data::Stopped& stopped) {
    fetch(set, [&](std::int64_t bytes, std::int64_t of) {
      *done = bytes;
      *total = of;
      return !stopped();
    });
    return set;
  });
}

bool StartDesk::advance() {
  bool any = fetches();  // its bar
  if (auto answer = finder_.take(); answer && answer->result) {
    at_hand_ = std::move(*answer->result);
    any = true;
  }
  if (auto answer = path_.take()) {
    any = true;
    if (answer->result) {
      use(*answer->result);
    } else {
      refusal_ = files::escaped(answer->error);
    }
  }
  if (auto answer = network_reader_.take()) {
    any = true;
    use_network(std::move(*answer));
  }
  if (auto answer = look_.take()) {
    any = true;
    inventory_ = std::move(answer->result);
    ++inventory_number_;
    error_ = files::escaped(answer->error);
  }
  if (auto answer = fetching_.take()) {
    any = true;
    refusal_ = files::escaped(answer->error);
    look_for_sets();
    StartChoices choices = choices_;
    if (answer->result) choices.data = *answer->result;
    const bool is_there_now = answer->result && choices.data == choices_.data;
    choose(std::move(choices));
    if (is_there_now) look();
  }
  if (auto answer = reader_.take(); answer && answer->result) {
    recents_ = std::move(*answer->result);
    ++recents_number_;
    any = true;
  }
  return any;
}

std::string StartDesk::why_not() const {
  if (!services_.make) return "This window shows a run and begins no training.";
  if (reading_network()) return "the network is being read";
  if (!error_.empty()) return error_;
  if (std::string goal = goal_refusal(choices_, network_); !goal.empty()) return goal;
  return inventory_ ? data::why_not(*inventory_, data::requirements_of(network_)) : "";
}

std::vector<std::string> StartDesk::recent_folders() const {
  std::vector<std::string> folders;
  for (const RecentCard& card : recents_) {
    const bool own = !card.data.empty() && card.data.find('/') != std::string::npos;
    if (own && std::find(folders.begin(), folders.end(), card.data) == folders.end())
      folders.push_back(card.data);
  }
  return folders;
}

}  // namespace warpscope::ui
