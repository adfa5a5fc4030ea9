#include "ui/panels/training/ranks_rows.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "gpu/files/utf8.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

/// A run's file may hold any numbers: parts lie within the step, and one that is no number is 0.
double within(double part, double whole) {
  return part > 0 ? std::min(part, whole) : 0;
}

bool is_drawable(const training::RankStep& step) {
  const double parts[] = {step.start, step.forward, step.backward, step.waiting, step.moving, step.update};
  const auto is_length = [](double part) { return part >= 0 && std::isfinite(part); };
  return step.step > 0 && std::ranges::all_of(parts, is_length) && std::isfinite(step.end());
}

/// All lanes are of one step, or none is.
void lay_out_lanes(RanksOfStep& ranks) {
  const training::RankStep& first = ranks.rows.front().figures->newest;
  const bool one_step = std::ranges::all_of(ranks.rows, [&](const RankRow& row) {
    return is_drawable(row.figures->newest) && row.figures->newest.step == first.step;
  });
  if (one_step) ranks.step = first.step;
  for (RankRow& row : ranks.rows) {
    const training::RankStep& newest = row.figures->newest;
    row.lane = one_step
                   ? RankLane{newest.start, 0, newest.forward, newest.backward, newest.waiting, newest.moving,
                              newest.update}
                   : RankLane{.own = row.own, .waiting = row.waiting, .moving = row.moving};
    ranks.longest = std::max(ranks.longest, row.lane.end());
    const double clock = row.figures->clock_uncertainty;
    if (one_step && std::isfinite(clock)) ranks.clocks = std::max(ranks.clocks, clock);
  }
}

void find_efficiency(RanksOfStep& ranks) {
  double images = 0, own = 0, longest = 0;
  for (const RankRow& row : ranks.rows) {
    if (!(row.own_images_per_second > 0)) return;
    images += static_cast<double>(row.figures->images);
    own += row.own_images_per_second;
    longest = std::max(longest, row.step());
  }
  ranks.efficiency = 1e6 * images / longest / own;
}

bool are_linked(const RanksOfStep& ranks) {
  for (std::size_t to = 0; to < ranks.rows.size(); ++to) {
    const std::vector<double>& links = ranks.rows[to].figures->links;
    if (links.size() != ranks.rows.size()) return false;
    for (std::size_t from = 0; from < links.size(); ++from) {
      if (from != to && !(links[from] > 0 && std::isfinite(links[from]))) return false;
    }
  }
  return true;
}

RankRow row_of(const training::RankFigures& figures) {
  RankRow row;
  row.figures = &figures;
  if (!(figures.step_microseconds > 0) || std::isinf(figures.step_microseconds)) return row;
  const double sums = within(figures.allreduce_microseconds, figures.step_microseconds);
  row.own = figures.step_microseconds - sums;
  row.waiting = within(figures.waiting_microseconds, sums);
  row.moving = sums - row.waiting;
  const double images = 1e6 * static_cast<double>(figures.images);
  row.images_per_second = images / row.step();
  if (row.own > 0) row.own_images_per_second = images / row.own;
  return row;
}

/// Finds who waits for whom, once all ranks are measured.
void find_slowest(RanksOfStep& ranks) {
  const auto least = [](const RankRow& a, const RankRow& b) { return a.waiting < b.waiting; };
  const auto [slowest, longest] = std::minmax_element(ranks.rows.begin(), ranks.rows.end(), least);
  ranks.waiters = static_cast<std::size_t>(
      std::count_if(ranks.rows.begin(), ranks.rows.end(), [](const RankRow& row) { return row.waits(); }));
  if (ranks.waiters == 0) return;
  ranks.slowest = static_cast<std::size_t>(slowest - ranks.rows.begin());
  ranks.longest_waiter = static_cast<std::size_t>(longest - ranks.rows.begin());
}

/// "3.1 ms", in the unit of the step that it is a part of; `decimals` of milliseconds.
std::string part_text(double microseconds, double step, int decimals) {
  if (step < 1e4) return fmt::format("{} \u00b5s", with_thousands(microseconds, 1));
  return fmt::format("{} ms", with_thousands(microseconds / 1e3, decimals));
}

/// What the lane shows of a step, a line; "" if the lane is of medians.
std::string newest_step_text(const RankRow& row) {
  const RankLane& lane = row.lane;
  if (!is_drawable(row.figures->newest) || lane.own > 0) return "";
  const auto text = [&](double microseconds) { return part_text(microseconds, lane.end(), 2); };
  const double beside = within(row.figures->newest.beside, lane.end());
  return fmt::format(
      "Here step {}: begun {} after the first rank; {} forward, {} backward, {} waiting, {} sums, {} "
      "update{}\n",
      with_thousands(row.figures->newest.step), text(lane.start), text(lane.forward), text(lane.backward),
      text(lane.waiting), text(lane.moving), text(lane.update),
      beside > 0 ? fmt::format("; {} more of sums ran beside the backward pass", text(beside)) : "");
}

std::string who_waits(const RanksOfStep& ranks) {
  if (ranks.waiters == 1) return fmt::format("rank {} waits", ranks.longest_waiter);
  if (ranks.waiters + 1 == ranks.rows.size()) return "the others wait up to";
  return fmt::format("{} others wait up to", ranks.waiters);
}

std::string waiting_text(const RanksOfStep& ranks) {
  if (!ranks.slowest) return "no rank waits long for another";
  const RankRow& waiter = ranks.rows[ranks.longest_waiter];
  return fmt::format("rank {} is the slowest: {} {} of {} for it", *ranks.slowest, who_waits(ranks),
                     part_text(waiter.waiting, waiter.step(), 1), part_text(waiter.step(), waiter.step(), 1));
}

}  // namespace

RanksOfStep ranks_of(const training::Snapshot& snapshot) {
  RanksOfStep ranks;
  if (snapshot.ranks.size() < 2) return ranks;
  for (const training::RankFigures& figures : snapshot.ranks) ranks.rows.push_back(row_of(figures));
  lay_out_lanes(ranks);
  ranks.linked = are_linked(ranks);
  ranks.loads = std::ranges::any_of(
      snapshot.ranks, [](const training::RankFigures& each) { return each.watts > 0 || each.megahertz > 0; });
  ranks.measured =
      std::all_of(ranks.rows.begin(), ranks.rows.end(), [](const RankRow& row) { return row.measured(); });
  if (ranks.measured) {
    find_slowest(ranks);
    find_efficiency(ranks);
  }
  return ranks;
}

std::string why_no_ranks(const training::Snapshot& snapshot) {
  if (!snapshot.awaited.empty()) return files::escaped(snapshot.awaited);
  if (snapshot.state == training::TrainerState::preparing)
    return "Which ranks make the steps is known as soon as the training is ready.";
  std::string text = "One rank makes the steps of this training. ";
  if (snapshot.most_ranks > 1) text += "The list above changes how many do. ";
  return text + "`warpscope --gpus all` starts one for each GPU, `warpscope --ranks 2` two on one device.";
}

std::string heading_of(const RanksOfStep& ranks, const training::Snapshot& snapshot) {
  if (!snapshot.awaited.empty()) return files::escaped(snapshot.awaited);
  std::string text = fmt::format("{} ranks", ranks.rows.size());
  if (!ranks.measured) return text + ", measuring: their times come with the first sampled step";
  const double speed = snapshot.images_per_second;
  if (speed > 0) text += fmt::format(", {} images/s together", with_thousands(speed, speed < 100 ? 1 : 0));
  return text + "; " + waiting_text(ranks);
}

std::string facts_of(const RanksOfStep& ranks) {
  std::string text = "Medians of sampled steps";
  if (ranks.step > 0) {
    text = fmt::format("Step {} of all ranks, clocks ", with_thousands(ranks.step));
    text += ranks.clocks > 0 ? fmt::format("within {} \u00b5s", with_thousands(std::ceil(ranks.clocks)))
                             : std::string("not compared");
  }
  if (ranks.efficiency > 0) {
    text += fmt::format("; {:.1f} % of the images/s of own work only, without sums and waiting",
                        100 * ranks.efficiency);
  }
  return text;
}

std::optional<SlowestLink> slowest_link(const RanksOfStep& ranks) {
  if (!ranks.linked) return {};
  std::optional<SlowestLink> slowest;
  for (std::size_t to = 0; to < ranks.rows.size(); ++to) {
    for (std::size_t from = 0; from < ranks.rows.size(); ++from) {
      const double rate = ranks.rows[to].figures->links[from];
      if (from != to && (!slowest || rate < slowest->gb_per_second)) slowest = {to, from, rate};
    }
  }
  return slowest;
}

std::string links_text(const RanksOfStep& ranks) {
  const std::optional<SlowestLink> slowest = slowest_link(ranks);
  if (!slowest) return "Not measured yet: the training waits while every pair of ranks exchanges some MB.";
  double fastest = 0;
  for (const RankRow& row : ranks.rows) fastest = std::max(fastest, std::ranges::max(row.figures->links));
  return fmt::format("Over {} {} to {} GB/s, slowest from rank {} to rank {}",
                     files::escaped(ranks.rows.front().figures->linked_by),
                     link_rate_text(slowest->gb_per_second), link_rate_text(fastest), slowest->from,
                     slowest->to);
}

std::string link_rate_text(double gb_per_second) {
  return with_thousands(gb_per_second, gb_per_second < 10 ? 2 : gb_per_second < 100 ? 1 : 0);
}

std::string device_text(const training::RankFigures& figures) {
  return figures.name.empty() ? figures.device : fmt::format("{} {}", figures.device, figures.name);
}

std::string tip_of(const RankRow& row, std::size_t rank) {
  const std::string head = fmt::format("rank {}, {}\n", rank, device_text(*row.figures));
  if (!row.measured()) return head + "No step of it has been sampled yet.";
  const auto text = [&row](double microseconds) { return part_text(microseconds, row.step(), 2); };
  return head + newest_step_text(row) +
         fmt::format(
             "{} a step:\n{} own work\n{} in sums over ranks, moving data\n{} in these sums, waiting "
             "for the slowest rank\nMedians of its sampled steps. A rank waits as long as its sums "
             "take longer than those of the rank that waits least.",
             text(row.step()), text(row.own), text(row.moving), text(row.waiting));
}

}  // namespace warpscope::ui
