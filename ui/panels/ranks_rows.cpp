#include "ui/panels/ranks_rows.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

/// A run's file may hold any numbers: parts lie within the step, and one that is no number is 0.
double within(double part, double whole) {
  return part > 0 ? std::min(part, whole) : 0;
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
  for (const RankRow& row : ranks.rows) ranks.longest = std::max(ranks.longest, row.step());
  ranks.measured =
      std::all_of(ranks.rows.begin(), ranks.rows.end(), [](const RankRow& row) { return row.measured(); });
  if (ranks.measured) find_slowest(ranks);
  return ranks;
}

std::string why_no_ranks(const training::Snapshot& snapshot) {
  if (snapshot.state == training::TrainerState::preparing)
    return "Which ranks make the steps is known as soon as the training is ready.";
  return "One process makes the steps of this training: `warpscope --gpus all` starts one for each GPU, "
         "`--ranks 2` starts two on one device.";
}

std::string heading_of(const RanksOfStep& ranks, const training::Snapshot& snapshot) {
  std::string text = fmt::format("{} ranks", ranks.rows.size());
  if (!ranks.measured) return text + ", measuring: their times come with the first sampled step";
  const double speed = snapshot.images_per_second;
  if (speed > 0) text += fmt::format(", {} images/s together", with_thousands(speed, speed < 100 ? 1 : 0));
  return text + "; " + waiting_text(ranks);
}

std::string device_text(const training::RankFigures& figures) {
  return figures.name.empty() ? figures.device : fmt::format("{} {}", figures.device, figures.name);
}

std::string tip_of(const RankRow& row, std::size_t rank) {
  const std::string head = fmt::format("rank {}, {}\n", rank, device_text(*row.figures));
  if (!row.measured()) return head + "No step of it has been sampled yet.";
  const auto text = [&row](double microseconds) { return part_text(microseconds, row.step(), 2); };
  return head + fmt::format(
                    "{} a step:\n{} own work\n{} in sums over ranks, moving data\n{} in these sums, waiting "
                    "for the slowest rank\nMedians of its sampled steps. A rank waits as long as its sums "
                    "take longer than those of the rank that waits least.",
                    text(row.step()), text(row.own), text(row.moving), text(row.waiting));
}

}  // namespace warpscope::ui
