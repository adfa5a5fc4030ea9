#include "gpu/training/training_tree.h"

#include <algorithm>
#include <limits>

namespace warpscope::training {
namespace {

constexpr std::size_t kAllChanges = std::numeric_limits<std::size_t>::max();

void append_change(std::string& text, const std::string& change) {
  if (change.empty()) return;
  if (!text.empty()) text.append("; ");
  text.append(change);
}

}  // namespace

/// Its root lies where `place` does: in `from`, or where that has not begun by then, in what it goes on from.
void TrainingTree::attach(std::uint64_t training, std::uint64_t from, Place place) {
  for (const Node* node = &nodes_[from]; node->from && place.step < node->place.step; node = &nodes_[from]) {
    from = *node->from;
    const auto& changes = nodes_[from].changes;
    place.changes = static_cast<std::size_t>(
        std::ranges::count_if(changes, [&place](const Noted& noted) { return noted.step < place.step; }));
  }
  nodes_[training] = {.from = from, .place = place};
}

void TrainingTree::begin(std::uint64_t training, std::uint64_t from, std::uint64_t step) {
  const auto& changes = nodes_[from].changes;
  const auto before =
      std::ranges::count_if(changes, [step](const Noted& noted) { return noted.step < step; });
  attach(training, from, {step, static_cast<std::size_t>(before)});
}

/// The command may have changed one that `from` goes on from.
void TrainingTree::begin_before(std::uint64_t training, std::uint64_t from, std::uint64_t step,
                                std::uint64_t command) {
  for (const Part& part : line_of(from)) {
    const auto& changes = nodes_[part.first].changes;
    const auto found = std::ranges::find(changes, command, &Noted::command);
    if (found == changes.end()) continue;
    return attach(training, part.first, {step, static_cast<std::size_t>(found - changes.begin())});
  }
  begin(training, from, step);
}

void TrainingTree::begin_behind(std::uint64_t training, std::uint64_t from, std::uint64_t step) {
  const auto& changes = nodes_[from].changes;
  const auto before =
      std::ranges::count_if(changes, [step](const Noted& noted) { return noted.step <= step; });
  attach(training, from, {step, static_cast<std::size_t>(before)});
}

void TrainingTree::note(std::uint64_t training, std::uint64_t step, std::string change,
                        std::uint64_t command) {
  nodes_[training].changes.push_back({step, std::move(change), command});
}

/// From the training itself to the first one that it goes on from.
std::vector<TrainingTree::Part> TrainingTree::line_of(std::uint64_t training) const {
  std::vector<Part> line{{training, {std::numeric_limits<std::uint64_t>::max(), kAllChanges}}};
  for (auto node = nodes_.find(training); node != nodes_.end() && node->second.from;
       node = nodes_.find(*node->second.from)) {
    line.emplace_back(*node->second.from, node->second.place);
  }
  return line;
}

std::string TrainingTree::changes_at(std::uint64_t training, std::uint64_t step, std::size_t first,
                                     std::size_t end) const {
  std::string text;
  const auto node = nodes_.find(training);
  if (node == nodes_.end()) return text;
  const auto& changes = node->second.changes;
  for (std::size_t i = first; i < std::min(end, changes.size()); ++i) {
    if (changes[i].step == step) append_change(text, changes[i].change);
  }
  return text;
}

std::optional<TrainingTree::Fork> TrainingTree::fork(std::uint64_t training, std::uint64_t other) const {
  const std::vector<Part> line = line_of(training), other_line = line_of(other);
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto shared = std::ranges::find(other_line, line[i].first, &Part::first);
    if (shared == other_line.end()) continue;
    const Place mine = line[i].second, place = std::min(mine, shared->second);
    // What it has of the shared one that the other has not, then what those noted at that step that lead to it.
    std::string changed = changes_at(line[i].first, place.step, place.changes, mine.changes);
    for (std::size_t next = i; next-- > 0 && line[next + 1].second.step == place.step;) {
      append_change(changed, changes_at(line[next].first, place.step, 0, line[next].second.changes));
    }
    return Fork{place.step, std::move(changed)};
  }
  return std::nullopt;
}

std::string TrainingTree::changed_by(std::uint64_t training, std::uint64_t command) const {
  std::string text;
  for (const Part& part : line_of(training)) {
    const auto node = nodes_.find(part.first);
    if (node == nodes_.end() || command == 0) continue;
    for (const Noted& noted : node->second.changes) {
      if (noted.command == command) append_change(text, noted.change);
    }
  }
  return text;
}

}  // namespace warpscope::training
